// SPDX-License-Identifier: Apache-2.0
/// \file Dense int8 weights (L2).
#pragma once

#include <tulle/kernel/int8/dense_blocks.hpp>
#include <tulle/kernel/int8/i8_weights.hpp>

namespace tulle {

template <class Isa>
using BasicDenseI8 = I8Kernel<detail::DenseBlocks, Isa>;
using DenseI8 = BasicDenseI8<isa::Active>;

static_assert(LinearKernel<DenseI8>);

}  // namespace tulle
