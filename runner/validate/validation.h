// WEFT_VALIDATE: takes CUPTI's activity records while the training runs and writes them, made compact, into a truth
// file beside the traces. Nothing is compared here; `weft validate` does that afterwards.
//
// The core calls it on threads of the main job inside its services, at quiet times. All of CUPTI is called on one
// thread of its own, "weft-validate", except for the two buffer callbacks (buffers.h) and the id of the fill stream.
// Whatever goes wrong ends validation, not the run: state() says so. CUPTI stays subscribed until the process ends,
// because disabling kernel records could deadlock before CUDA 13.0 Update 1 (release notes of CUPTI).
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "runner/options/options.h"
#include "runner/options/variables.h"
#include "trace/record.h"

struct CUctx_st;
struct CUstream_st;

namespace weft {

class Validation {
 public:
  // `mark_own_thread`: of the shim, may be nullptr. Does nothing yet. Once a device was opened it stays for the rest of
  // the process, because CUPTI may call at any time.
  Validation(const Options& options, const Variables& environment, void (*mark_own_thread)());
  ~Validation();
  Validation(const Validation&) = delete;
  Validation& operator=(const Validation&) = delete;

  // The first device of the process starts the records and waits until they run, or 10 s. `directory`: of the traces.
  // With the device's context current.
  void device_opened(const TraceHeader& header, const std::string& directory, CUctx_st* context);
  // Work of this stream is fill, not training.
  void fill_begins(CUctx_st* context, CUstream_st* stream);
  // The last device ends the file: waits for that for 2 s at most.
  void device_closed(int device);

  // One sentence for the start line and the end lines; "" where validation is not wanted.
  std::string state() const;

 private:
  class Implementation;
  mutable std::mutex mutex_;  // of the members below; the validation's thread never takes it
  std::set<int> devices_;
  const std::unique_ptr<Implementation> implementation_;  // nullptr: not wanted
};

}  // namespace weft
