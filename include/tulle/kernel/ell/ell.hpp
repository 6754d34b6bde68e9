// SPDX-License-Identifier: Apache-2.0
/// \file The kernels on unstructured sparse weights, with values of 8 or 4 bits (L2).
#pragma once

#include <cstddef>
#include <string_view>

#include <tulle/kernel/activations/activations_i14.hpp>
#include <tulle/kernel/ell/ell_weights.hpp>
#include <tulle/kernel/linear_kernel.hpp>

namespace tulle {

namespace detail {

template <class Isa, bool Nibbles>
struct EllKernel {
  using Weights = EllWeights;
  using Input = ActivationsI14;

  static Weights pack(const WeightSource& source, const PackOptions& options = {}) {
    return Weights::pack<Isa>(source, Nibbles, options.pool);
  }
  static void start(const Weights& weights, std::size_t inputs, Input& input) noexcept {
    input.start<Isa>(inputs, weights.columns());
  }
  static void prepare(const Weights&, MatrixView<const float> x, Input& input, RowRange range) noexcept {
    input.quantize<Isa>(x, range);
  }
  static bool shares_input(const Weights& a, const Weights& b) noexcept { return a.columns() == b.columns(); }
  static void multiply(const Weights& weights, const Input& input, MatrixView<float> y, RowRange range) noexcept {
    weights.multiply<Isa>(input, y, range);
  }
  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept { weights.unpack_row(row, out); }
};

}  // namespace detail

/// int8 values with a scale per row; codes with a scale per row are kept, others quantized.
template <class Isa>
struct BasicEllI8 : detail::EllKernel<Isa, false> {
  static constexpr std::string_view name = "ell_i8";
  static constexpr bool keeps_values(const CodeFormat& format, const PackOptions&) noexcept {
    return fits_i8_rows(format);
  }
};
using EllI8 = BasicEllI8<isa::Active>;

/// Values of 4 bits with a scale per row; codes of 4 bits with a scale per row are kept, others quantized.
template <class Isa>
struct BasicEllI4 : detail::EllKernel<Isa, true> {
  static constexpr std::string_view name = "ell_i4";
  static constexpr bool keeps_values(const CodeFormat& format, const PackOptions&) noexcept {
    return fits_i4_rows(format);
  }
};
using EllI4 = BasicEllI4<isa::Active>;

static_assert(LinearKernel<EllI8>);
static_assert(LinearKernel<EllI4>);

}  // namespace tulle
