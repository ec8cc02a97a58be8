// How fill work of a rank has its GPU beside the pieces of the training.
//
// Part of the world's options. Plain values, pure. Rates are parts of the speed that kernel or piece has on the idle
// GPU, and more than 0.
#pragma once

#include <cstdint>

namespace weft::pipeline {

struct Sharing {
  // alone: whoever fills says from when until when it has the GPU to itself, see World::take_gpu().
  // behind: kernels of a stream of lower priority. One begins where no piece runs or waits, and its blocks are not
  // taken away: a piece that comes waits until they retire. beside: kernels of another process under MPS. They run on
  // whether a piece runs or not, and both are slower together.
  enum class Kind : std::uint8_t { alone, behind, beside } kind = Kind::alone;
  double piece_rate = 1;         // beside: of a piece while a kernel runs
  double kernel_rate = 1;        // beside: of a kernel while a piece runs
  double kernel_alone_rate = 1;  // beside: of a kernel while none does
};

}  // namespace weft::pipeline
