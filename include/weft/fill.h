/* The fill-job ABI of Weft, version 2. Jobs of version 1, which export weft_fill_job_v1(), are run as before.
 *
 * A fill job is a shared object that exports one function, weft_fill_job_v2(). Weft loads it into the training process,
 * gives it a memory reservation with a hard cap, captures ONE unit of its work as a CUDA graph, cuts that into short
 * slices and launches those in pipeline bubbles. examples/fill has a small one and how to build and try it.
 *
 * Weft's steps with a job, in order, for each device at its first communicator:
 * 1. A process of its own, weft-fill-probe, loads the job and does all that follows up to end_unit() of unit 0, in a
 *    context and a reservation of its own. When a call fails, a kernel crashes, the first unit is wrong, or it takes
 *    more than 30 s, the job is refused: Weft observes only. Once for all ranks of a node with the same job, arguments,
 *    options and model of GPU. A training waits 5 s for it and goes on beside it. A job that allocates device memory
 *    of its own is created and destroyed twice in that process.
 * 2. The training process loads it, gets its table and calls init(), on a thread of Weft's that the training waits for:
 *    a few seconds and four times as long as steps 2 to 5 took in the trial. A job that is not ready then is given up.
 * 3. record_unit() twice: once to warm up (modules are loaded), once under capture. Must enqueue the same work both
 *    times.
 * 4. The recorded work is timed on the idle GPU: each node alone, then each slice, 1 + 5 passes each, for each of three
 *    lengths of slices. With the warm-up it has run up to 25 times (in the trial 9) before any begin_unit(). Then
 * device and pinned memory of the reservation are put back to what they were after init(); what the job keeps elsewhere
 * on the host is not.
 * 5. restore(), when there is saved progress.
 * 6. In bubbles: begin_unit(0), the slices of the unit in order, end_unit(0), begin_unit(1) and so on. Between two
 *    slices any time may pass. A slice is at most WEFT_SLICE long; a longer kernel is a slice of its own, and runs only
 *    where the bubble is expected to outlast it. From unit 1 on a wrong result is counted and reported, no
 *    more.
 * 7. When the last communicator of the device is destroyed: save(), destroy(). In a process that ends without that, or
 *    whose GPU does not become idle, neither is called. Before that save() is called from time to time between two
 *    units, and the job goes on.
 *
 * A job may have variants: sets of arguments, of which one runs at a time. Each is a weft_fill_job of its own, for
 * which all of these steps hold, begin_unit(0) included. When one takes over from another while the training runs,
 * save() and destroy() of the old one are called, then init() of the new one and, with what save() gave, its restore().
 * A job whose units depend on their number has to keep in that state how far it has got. So it is with a job that rests
 * for a while because the training needs its memory (WEFT_HEADROOM): save(), then the memory goes, destroy(), and later
 * init() and restore().
 *
 * A job may read records and write a result for each, and may read weights: all from files that its user names, none of
 * which it opens. In init() it says which tensors a unit takes and gives; Weft has memory for them in the reservation,
 * copies records in before a unit and results out behind it, in bubbles like everything else, and writes each result
 * into the results file, once. A unit for which no records are there is not begun. The order of records is not that of
 * the file, a record may be computed again after a crash, and only one result of it counts: a result may depend on the
 * record and on nothing else. See docs/records.md.
 *
 * C99, no CUDA header: streams and device pointers are passed as the opaque driver-API types they are.
 * Threads: the functions of one weft_fill_job are called from one thread at a time, not always the same one, never from
 * inside a bubble except begin_unit and end_unit, which run between the slices of two units and must be short (under
 * 1 ms). Those two of one job may run while another function of another job does, which may be of the same file.
 * begin_unit, end_unit and save() run while the training does. They must not free memory of CUDA, load code or launch a
 * kernel for the first time: next to a receive that waits for its end, and holds up all launches of the training.
 * Errors: 0 is success; any other value ends the job for the run, with the text last given to host->fail(). Other jobs
 * go on; where there is none, filling ends.
 * Ownership: what allocate() and allocate_host() return belongs to the host. Pinned memory stays valid until destroy()
 * has returned. Device memory may be released earlier, after save(), when the training needs it: from then on only
 * destroy() is called, and must not touch device memory. Memory of between_bubbles_on_host() may leave and come back
 * between any two units.
 * Device memory from elsewhere (cudaMalloc, the workspace of a library) is not capped and never given back to the
 * training. A job whose destroy() frees more than 64 MiB of it in the trial is refused; what it leaves allocated then,
 * or takes later, is not noticed. */
#ifndef WEFT_FILL_H
#define WEFT_FILL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_FILL_ABI_VERSION 2u
#define WEFT_FILL_MOST_DIMENSIONS 8

typedef struct weft_fill_job weft_fill_job;   /* the job's own state, opaque to Weft */
typedef struct weft_fill_host weft_fill_host; /* what Weft offers to the job */
typedef void* weft_stream;                    /* a CUstream / cudaStream_t */

enum weft_fill_type {
  WEFT_UINT8 = 1,
  WEFT_INT8 = 2,
  WEFT_UINT16 = 3,
  WEFT_INT16 = 4,
  WEFT_UINT32 = 5,
  WEFT_INT32 = 6,
  WEFT_UINT64 = 7,
  WEFT_INT64 = 8,
  WEFT_FLOAT16 = 9,
  WEFT_BFLOAT16 = 10,
  WEFT_FLOAT32 = 11,
  WEFT_FLOAT64 = 12
};

/* An array, of one record or, as a parameter, of the weights. The last dimension is the densest. */
typedef struct weft_fill_tensor {
  const char* name;    /* in the file, at most 127 bytes; in files whose arrays have no names: any */
  uint32_t type;       /* a weft_fill_type */
  uint32_t dimensions; /* of one record: without that of the records; 0: one number */
  uint64_t shape[WEFT_FILL_MOST_DIMENSIONS];
  uint32_t variable; /* 1: a record has shape[0] or less of the first dimension, and a length of its own that says how
                        much; what is behind that is zero in inputs and left out of results. Not of parameters */
  uint32_t between_bubbles_on_host; /* 1, of a parameter: as memory of that function of weft_fill_host. A Weft of version
                                       2 that does not have it ignores this. Else 0 */
} weft_fill_tensor;

/* The records of a unit that has ended, in pinned memory: inputs as they were read, outputs as they will be written.
 * Tensors are in the order in which they were declared, records one behind the other. Lengths are NULL for a tensor
 * that is not of variable length. */
typedef struct weft_fill_records {
  size_t struct_size;
  uint32_t count;    /* at least 1; less than a unit takes at the end of the file */
  uint32_t reserved; /* 0 */
  const uint64_t* numbers;
  const void* const* inputs;
  const void* const* outputs;
  const uint32_t* const* input_lengths;
  const uint32_t* const* output_lengths;
} weft_fill_records;

struct weft_fill_host {
  size_t struct_size;   /* sizeof(weft_fill_host) of the Weft that calls; fields past it do not exist */
  uint32_t abi_version; /* WEFT_FILL_ABI_VERSION of the Weft that calls */
  int32_t device;       /* CUDA device ordinal; its primary context is current in every call */
  uint32_t max_blocks;  /* a kernel with no more thread blocks leaves the SMs that are kept free to NCCL by itself; a
                           unit with larger ones is confined by Weft, or refused: see record_unit */
  uint32_t reserved;    /* 0 */
  uint64_t memory_cap;  /* bytes of the reservation */
  void* context;        /* to be passed back to the functions below */
  /* Device memory out of the reservation, 256-byte aligned, zeroed; 0 when it does not fit (never more than the cap).
   * To be called in init() only. */
  uint64_t (*allocate)(void* context, uint64_t bytes);
  /* Pinned host memory that the device can read and write at the same address; NULL when there is none.
   * To be called in init() only. */
  void* (*allocate_host)(void* context, uint64_t bytes);
  void (*log)(void* context, const char* message);  /* one line into Weft's log at level info */
  void (*fail)(void* context, const char* message); /* why the call that is about to return non-zero failed */

  /* From here on of version 2, and to be called in init() only. Where one of them fails, init() has to, too; Weft knows
   * why, and says so. They return device memory of the reservation. */

  /* 1 and the type and shape of what the user's file has under this name; 0 where it has nothing like it. An input is
   * described as one record, and as variable where the records of the file differ in length. */
  int (*describe_parameter)(void* context, const char* name, weft_fill_tensor* found);
  int (*describe_input)(void* context, const char* name, weft_fill_tensor* found);
  /* Device memory with that tensor of the weights, which must have this type and shape; 0 on failure. */
  uint64_t (*parameter)(void* context, const weft_fill_tensor* tensor);
  /* How many records a unit takes, 1 to 1048576; before inputs and outputs. 0: taken. *count: device memory with a
   * uint32_t, how many there are in this unit. Of those behind them inputs are zero. `count` may be NULL. */
  int (*records)(void* context, uint32_t per_unit, uint64_t* count);
  /* Device memory with so many records of an input, or for so many results; 0 on failure. *lengths, of a tensor of
   * variable length: device memory with a uint32_t for each, which the unit has to write for an output; else NULL may
   * be passed. At least one output is needed. */
  uint64_t (*input)(void* context, const weft_fill_tensor* tensor, uint64_t* lengths);
  uint64_t (*output)(void* context, const weft_fill_tensor* tensor, uint64_t* lengths);
  /* For a unit whose length is not known before, such as a text that ends where it ends: what record_unit() enqueues is
   * one pass, which is run again, for the same unit, as long as it leaves another value than 0 in this word. At most
   * `most` times; a unit that is not over then ends the job, and its records go to another one. The word is pinned memory
   * that the device reads and writes, and 0 before the first pass of a unit.
   * Each pass has to take as long as any other, whatever it works on: it is timed once, on inputs that are zero. Behind
   * a pass nothing of the job runs until Weft has looked, so a pass should be several slices long. A whole unit has to
   * fit the trial; one that is interrupted for good is lost with all its passes. NULL on failure, also where it was
   * called before. Not there (struct_size) in the first Weft of version 2. */
  uint32_t* (*passes)(void* context, uint32_t most);
  /* As allocate(), of memory that may leave the device between two units, while the training is short of memory: its
   * content is kept in pinned memory of the host, and is back at the same address before the next unit. The work of
   * units finds it always there. Of the job's functions only init(), record_unit() and restore() may read or write it;
   * begin_unit(), end_unit(), check(), save() and destroy() must not. For what is large and not needed in each bubble:
   * to bring it back takes time of a bubble, which is not long enough for that each time. The host pins as much memory
   * for it; where it has too little, this is allocate(). To be called in init() only, with the same sizes each time
   * that it gets the same arguments. Not there (struct_size) in the first Weft of version 2. */
  uint64_t (*between_bubbles_on_host)(void* context, uint64_t bytes);
};

typedef struct weft_fill_functions {
  size_t struct_size;   /* sizeof(weft_fill_functions) of the header that the job was built with */
  uint32_t abi_version; /* WEFT_FILL_ABI_VERSION of that header */
  uint32_t reserved;    /* 0 */
  const char* name;     /* one word, for traces */
  /* Allocates everything the job will ever need. args: the text after the first ':' of WEFT_FILL, "" when there is
   * none. Work that it starts on the GPU has to be over when it returns, which the trial checks: on a stream of its
   * own, waited for by a synchronisation of that stream. One of the device would wait for the training's work. */
  int (*init)(const weft_fill_host* host, const char* args, weft_fill_job** job);
  /* Enqueues one unit, or one pass through it, onto the stream: kernels, memory copies and sets, and graphs of those (cuGraphLaunch); no
   * synchronisation, allocation or host function. Called twice, see above. All of it is run one behind the other, in an
   * order that keeps the dependencies; records of events are left out.
   * Kernels of more than max_blocks blocks are moved into a green context that lacks the SMs that are kept free, where
   * the driver has one (12.4) and they are of a library (the runtime's, or cuLibraryLoadData), not of a module
   * (cuModuleLoad). Else the unit is refused if one of them takes longer than a slice. See WEFT_CONFINE. */
  int (*record_unit)(weft_fill_job* job, weft_stream stream);
  /* Before the first slice of unit number `unit`: put its inputs where the recorded work reads them (pinned memory). */
  int (*begin_unit)(weft_fill_job* job, uint64_t unit);
  /* After the last slice of it has finished: look at the results. *correct: 1 checked and right, 0 checked and wrong,
   * -1 not checked. A wrong first unit refuses the job in its trial; a later one is counted and reported. */
  int (*end_unit)(weft_fill_job* job, uint64_t unit, int* correct);
  /* Progress as bytes, for a later run, when WEFT_CHECKPOINT names a place for it, and in this one for another variant
   * of the job and after a rest. Both may be NULL: the job then starts from its beginning in each run, each variant and
   * after each rest. The numbers of units begin at 0 each time, in any case.
   * save: returns the size needed and writes at most `capacity` bytes to `buffer` (NULL: only the size); 0: nothing to
   * keep. Called from time to time between two units, after which the job goes on (WEFT_CHECKPOINT_EVERY); at the end of
   * the run or of the variant, before destroy(); and when the reservation is about to be given back. Where it fails, the
   * variant is not replaced: the job goes on and is asked again later; but one that is to rest is not run again in this
   * run. Nothing of the job runs then; a unit that has
   * begun and not ended never will: it does not count. Receives of the training may
   * be running: nothing in it may wait for the device or use the default stream.
   * restore: 0 when taken. Called once, after init() and the trial runs of the unit, before the first begin_unit(). The
   * bytes may be those of another variant of the job; one that refuses them is not run. */
  uint64_t (*save)(weft_fill_job* job, void* buffer, uint64_t capacity);
  int (*restore)(weft_fill_job* job, const void* buffer, uint64_t bytes);
  void (*destroy)(weft_fill_job* job);

  /* Of version 2. Of a job that reads records, in the place of begin_unit and end_unit, which are not called and may be
   * NULL then. After the results of a unit are on the host: looks at them, in under 1 ms. *correct as in end_unit; the
   * results of a unit that is wrong are not written, and its records are given to a later one. NULL: not checked. */
  int (*check)(weft_fill_job* job, const weft_fill_records* records, int* correct);
} weft_fill_functions;

/* The one symbol a fill job exports. Returns a static table; never NULL. */
const weft_fill_functions* weft_fill_job_v2(void);

#ifdef __cplusplus
}
#endif
#endif
