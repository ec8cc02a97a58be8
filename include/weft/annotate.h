/* Annotations: a training names to Weft what cannot be seen from its calls of CUDA and NCCL. Nothing has to be linked:
 * without Weft each call does nothing, in some nanoseconds. docs/annotate.md says what becomes of them.
 *
 *   weft_set_stage(2, -1);
 *   for (int64_t i = 0; i < iterations; ++i) {
 *     weft_begin_iteration(i);
 *     for (int64_t m = 0; m < microbatches; ++m) {
 *       weft_begin_microbatch(m);
 *       ...                          the calls that launch and communicate for it
 *       weft_end_microbatch(m);
 *     }
 *     weft_end_iteration(i);
 *   }
 *
 * C99 and C++, no CUDA header. Threads: any, at any time, also before CUDA is there, after fork() and next to other
 * annotations; a call takes no lock, allocates nothing and never fails. An annotation counts for everything that any
 * thread issues on its device afterwards. One thread at a time says iterations, microbatches or bubbles of one device,
 * and what it has begun it ends itself; anything else contradicts itself, and contradictions are counted, named once and
 * not believed.
 * Devices: an annotation is of the device of the thread's current CUDA context, and of all devices of the process where
 * it has none; weft_say() takes a device.
 *
 * Each source file that includes this looks Weft up once, by dlsym() in the global scope, where a preloaded library is.
 * So it may be in a program, in a library that is loaded with RTLD_LOCAL, or in a static program, which Weft is never
 * in. */
#ifndef WEFT_ANNOTATE_H
#define WEFT_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum weft_saying {
  WEFT_BEGIN_ITERATION = 1,
  WEFT_END_ITERATION = 2,
  WEFT_SET_STAGE = 3,
  WEFT_BEGIN_MICROBATCH = 4,
  WEFT_END_MICROBATCH = 5,
  WEFT_BEGIN_BUBBLE = 6,
  WEFT_END_BUBBLE = 7
};

/* For `device` of weft_say(): that of the thread's current context. Else a CUDA ordinal. */
#define WEFT_CURRENT_DEVICE (-1)

/* Of the function that the preloaded library exports for this, weft_say_v1(). */
typedef void (*weft_say_function)(uint32_t what, int32_t device, int64_t number, int64_t part);

static inline void weft_say_nothing(uint32_t what, int32_t device, int64_t number, int64_t part) {
  (void)what;
  (void)device;
  (void)number;
  (void)part;
}

#if defined(__GNUC__) && defined(__linux__) && defined(__ELF__)
/* dlsym() and dlerror(), where the program has them. A weakref adds no need of its own, so a static program links as
 * before, and a function pointer is what dlsym() returns here. */
static weft_say_function weft_look_up(void* handle, const char* name) __attribute__((weakref("dlsym")));
static char* weft_forget_error(void) __attribute__((weakref("dlerror")));

static inline weft_say_function weft_find(void) {
  static weft_say_function known = NULL;
  weft_say_function say = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (say != NULL) return say;
  if (weft_look_up != NULL) say = weft_look_up(NULL, "weft_say_v1"); /* NULL: RTLD_DEFAULT */
  if (say == NULL) {
    say = weft_say_nothing;
    if (weft_forget_error != NULL) weft_forget_error();
  }
  __atomic_store_n(&known, say, __ATOMIC_RELAXED);
  return say;
}
#else
static inline weft_say_function weft_find(void) {
  return weft_say_nothing;
}
#endif

/* 1: Weft is preloaded (it may be switched off by WEFT=off); 0: it is not. */
static inline int weft_is_preloaded(void) {
  return weft_find() != weft_say_nothing;
}

/* All annotations, with a device. number: of the iteration, stage or microbatch, from 0; a bubble has none (0). part:
 * the chunk of the stage, -1: none; with the others 0. */
static inline void weft_say(enum weft_saying what, int32_t device, int64_t number, int64_t part) {
  weft_find()(what, device, number, part);
}

/* An iteration begins and ends: everything between two optimizer steps. Numbers rise by a fixed step, and the ranks of
 * a job give one iteration the same number; where they do not, each rank counts for itself. An evaluation in between is
 * no iteration. */
static inline void weft_begin_iteration(int64_t number) {
  weft_say(WEFT_BEGIN_ITERATION, WEFT_CURRENT_DEVICE, number, 0);
}
static inline void weft_end_iteration(int64_t number) {
  weft_say(WEFT_END_ITERATION, WEFT_CURRENT_DEVICE, number, 0);
}

/* The pipeline stage that this process or device runs from here on, and which chunk of the model where it has several
 * (-1: it has not). May be said before CUDA is there, and again for each chunk. */
static inline void weft_set_stage(int32_t stage, int32_t chunk) {
  weft_say(WEFT_SET_STAGE, WEFT_CURRENT_DEVICE, stage, chunk);
}

/* Launches and communication from here on are for this microbatch. Of two that overlap the later one counts. */
static inline void weft_begin_microbatch(int64_t number) {
  weft_say(WEFT_BEGIN_MICROBATCH, WEFT_CURRENT_DEVICE, number, 0);
}
static inline void weft_end_microbatch(int64_t number) {
  weft_say(WEFT_END_MICROBATCH, WEFT_CURRENT_DEVICE, number, 0);
}

/* The schedule has nothing to compute on this device until the end of the bubble: nothing will be launched. Weft takes
 * it for a bubble while nothing that it sees contradicts that, and may fill it as it does other bubbles. It ends before
 * its iteration does. */
static inline void weft_begin_bubble(void) {
  weft_say(WEFT_BEGIN_BUBBLE, WEFT_CURRENT_DEVICE, 0, 0);
}
static inline void weft_end_bubble(void) {
  weft_say(WEFT_END_BUBBLE, WEFT_CURRENT_DEVICE, 0, 0);
}

#ifdef __cplusplus
}
#endif
#endif
