// Preloaded into a training: a thread that ends the process by exit() as soon as the file $EXIT_WHEN is there.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void* watch(void* file) {
  while (access(file, F_OK) != 0) usleep(10000);
  exit(0);
}

__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  char* const file = getenv("EXIT_WHEN");
  if (file != NULL) pthread_create(&thread, NULL, watch, file);
}
