// SPDX-License-Identifier: Apache-2.0
// concept: LinearKernel
// A kernel whose multiply may throw is none: the token loop calls it.
#include <tulle/kernel/int8/dense_i8.hpp>

struct Own : tulle::DenseI8 {
#ifdef TULLE_BAD
  static void multiply(const Weights&, const Input&, tulle::MatrixView<float>, tulle::RowRange) {}
#endif
};

template <tulle::LinearKernel Kernel>
struct Layer {
  typename Kernel::Weights weights;
};

std::size_t rows(const Layer<Own>& layer) {
  return layer.weights.rows();
}
