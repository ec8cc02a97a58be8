// annotate.h in a program, or with -DLIBRARY in a library that is loaded with RTLD_LOCAL. Compiled as C99 and as C++.
//   annotate_program absent|present [LIBRARY]
// absent, present: whether Weft is preloaded. Every annotation is said, also in a child and by several threads, and a
// dlerror() of the program's own stays what it was meant to be.
#include "weft/annotate.h"

#ifdef LIBRARY
int say_all(void);
#else
static
#endif
int say_all(void) {
  weft_set_stage(1, 0);
  weft_begin_iteration(1);
  weft_begin_microbatch(1);
  weft_end_microbatch(1);
  weft_begin_bubble();
  weft_end_bubble();
  weft_end_iteration(1);
  weft_say(WEFT_BEGIN_ITERATION, 3, -7, 0);
  return weft_is_preloaded();
}

#ifndef LIBRARY
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifndef STATIC
#include <dlfcn.h>
#endif

static void* say_in_a_thread(void* answer) {
  *(int*)answer = say_all();
  return NULL;
}

static int say_in_a_child(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) _exit(say_all());
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int fails(const char* what) {
  fprintf(stderr, "annotate: %s\n", what);
  return 1;
}

int main(int count, char** arguments) {
  pthread_t threads[4];
  int answers[4] = {-1, -1, -1, -1};
  const int present = count > 1 && strcmp(arguments[1], "present") == 0;
  for (int i = 0; i < 4; ++i)
    if (pthread_create(&threads[i], NULL, say_in_a_thread, &answers[i]) != 0) return 2;
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; ++i)
    if (answers[i] != present) return fails("a thread");
  if (say_all() != present) return fails("the program");
  if (say_in_a_child() != present) return fails("a child");
#ifndef STATIC
  if (dlerror() != NULL) return fails("an error is left over");
  if (count > 2) {
    void* library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
    void* found = library == NULL ? NULL : dlsym(library, "say_all");
    int (*say)(void) = NULL;
    memcpy(&say, &found, sizeof say);
    if (say == NULL || say() != present) return fails("a library");
  }
#endif
  return 0;
}
#endif
