// The sum of a graph of operations: one kernel with a cost, and its arithmetic where it is a convolution in float32.
//
// Built when an operation graph is finalised, on the program's threads; read when its plan is executed. No CUDA.
#ifndef SIMGPU_CUDNN_OPERATION_GRAPH_H
#define SIMGPU_CUDNN_OPERATION_GRAPH_H

#include <optional>

#include "convolution.h"
#include "descriptors.h"

namespace simgpu::cudnn {

struct OperationGraph {
  simgpu_cost cost{};
  int64_t largest_tensor = 0;  // elements; decides the number of thread blocks
  bool only_convolution = false;
  // In float32 and alone. Its pointers are those of the tensors with these ids.
  std::optional<Convolution> convolution;
  int64_t x_id = 0, w_id = 0, y_id = 0;
};

// Checks the operations of `descriptor` and sums up their cost:
//   convolution  cost_of(Convolution)
//   matmul       2 operations for each element of the result and the inner dimension
//   attention    as its matmuls, where it is one operation: two forward, five backward
//   others       1 operation for each element of their largest tensor
//   bytes        each tensor that is neither virtual nor passed by value, once
// A status of the kind NOT_SUPPORTED for an operation that is none of those in descriptors.cpp.
Status build(const Content& descriptor, OperationGraph* graph);

}  // namespace simgpu::cudnn

#endif
