// Command line of the trainer: what is trained, how it is cut into stages and in which order the stages work.
// Read once at start by every rank and by the launcher.
#pragma once

#include <string>
#include <vector>

namespace trainer {

enum class ScheduleKind { gpipe, one_f_one_b, interleaved };

// How a stage waits for what it receives; the ways that frameworks have.
enum class WaitKind {
  event,           // a stream of its own for communication, the compute stream waits for its events (PyTorch)
  in_stream,       // receives on the compute stream itself (plain NCCL programs)
  host,            // the host synchronises the device after each receive
  event_and_host,  // the compute stream waits for events, and then the host for the device (Megatron-LM)
};

enum class Precision {
  float32,
  bf16,  // operands of matrix products; everything else is float
};

// The kind of the ranks of the other stages.
enum class Peers {
  real,   // they compute
  sleep,  // they sleep for as long as computing would take: one GPU shows the true bubbles of one stage
};

struct Options {
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  WaitKind wait = WaitKind::event;
  int microbatches = 8;
  int iterations = 40;
  int chunks = 2;  // model chunks per rank, interleaved schedule only
  int layers_per_chunk = 1;
  int hidden = 64;
  int heads = 4;
  int sequence = 32;
  int batch = 4;  // sequences in one microbatch
  Precision precision = Precision::float32;
  Peers peers = Peers::real;
  int stage = 0;                   // the rank that computes while its peers sleep
  std::vector<double> stage_time;  // milliseconds of a forward and of a backward that peers sleep; empty: as measured
  float learning_rate = 3e-3F;
  unsigned seed = 1;
  int launch = 0;         // start that many ranks on this machine; 0: this process is one rank
  std::string text;       // file whose characters are learned
  bool annotate = false;  // tell Weft where the training is (weft/annotate.h)
  std::string report;     // directory for rank<r>.json; "": none
  std::string save;       // file for the weights after the last iteration; "": none
};

// Parses argv. Prints the help text, or one line about what is wrong, and ends the process with exit code 0, or 2.
Options parse_command_line(int argc, char** argv);

}  // namespace trainer
