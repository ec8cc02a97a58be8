// Parameters of the optimizer kernel, by value; shared by the GPU code and the simulated GPU's. No CUDA header.
#pragma once

namespace trainer::kernels {

struct Adam {
  float learning_rate, beta1, beta2, epsilon;
  float correction1, correction2;  // 1 - beta^step
  float clip;                      // largest norm of the whole gradient
};

}  // namespace trainer::kernels
