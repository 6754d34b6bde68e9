// SPDX-License-Identifier: Apache-2.0
/// \file The kernels that the library tulle::compiled holds: `AnyKernel`, and the loops of every kernel for every
/// instruction set; any_kernel.hpp includes it where that is linked (L2).
#pragma once

#include <tulle/kernel/any_kernel.hpp>

namespace tulle {

// A loop's signature, for a type of weights and a set. `Template` is `extern template` to declare it, `template` to
// compile it.
#define TULLE_LOOP(Template, Set, Activations, ...) \
  Template void __VA_ARGS__::multiply_on<Set>(const Activations&, MatrixView<float>, RowRange) const noexcept;

// The loops for one instruction set.
#define TULLE_LOOPS(Template, Set)                                                                           \
  TULLE_LOOP(Template, Set, ActivationsI14, EllWeights)                                                      \
  TULLE_LOOP(Template, Set, ActivationsI8, DenseI4Weights)                                                   \
  TULLE_LOOP(Template, Set, ActivationsI8, I8Weights<detail::DenseBlocks>)                                   \
  TULLE_LOOP(Template, Set, ActivationsI8, I8Weights<detail::BitmaskBlocks>)                                 \
  TULLE_LOOP(Template, Set, ActivationsI8, I8Weights<detail::BalancedBlocks<detail::TwoOfFour, 8>>)          \
  TULLE_LOOP(Template, Set, ActivationsI8, I8Weights<detail::BalancedBlocks<detail::FourOfSixteen, 8>>)      \
  TULLE_LOOP(Template, Set, ActivationsI8, I8Weights<detail::BalancedBlocks<detail::EightOfSixteen, 8>>)     \
  TULLE_LOOP(Template, Set, ActivationsI8, I8Weights<detail::BalancedBlocks<detail::EightOfSixteenGap4, 8>>) \
  TULLE_LOOP(Template, Set, ActivationsI8, I8Weights<detail::BalancedBlocks<detail::TwoOfFour, 4>>)          \
  TULLE_LOOP(Template, Set, ActivationsI8, I8Weights<detail::BalancedBlocks<detail::FourOfSixteen, 4>>)      \
  TULLE_LOOP(Template, Set, ActivationsI8, I8Weights<detail::BalancedBlocks<detail::EightOfSixteenGap4, 4>>)

// Those of floats, for the sets that differ there (`isa::WithoutDots`).
#define TULLE_FLOAT_LOOPS(Template, Set)                             \
  TULLE_LOOP(Template, Set, ActivationsF32, DenseFloatPanels<float>) \
  TULLE_LOOP(Template, Set, ActivationsF32, DenseFloatPanels<Half>)  \
  TULLE_LOOP(Template, Set, ActivationsF32, DenseFloatPanels<BFloat16>)

extern template struct BasicAnyKernel<BuiltInKernels>;

#if defined(TULLE_X86)
TULLE_LOOPS(extern template, isa::Avx512)
TULLE_FLOAT_LOOPS(extern template, isa::Avx512)
TULLE_LOOPS(extern template, isa::AvxVnni)
TULLE_LOOPS(extern template, isa::Avx2)
TULLE_FLOAT_LOOPS(extern template, isa::Avx2)
#endif
#if defined(TULLE_SIMD128)
TULLE_LOOPS(extern template, isa::Simd128)
TULLE_FLOAT_LOOPS(extern template, isa::Simd128)
#endif
#if !defined(__wasm_simd128__)
TULLE_LOOPS(extern template, isa::Scalar)
TULLE_FLOAT_LOOPS(extern template, isa::Scalar)
#endif

}  // namespace tulle
