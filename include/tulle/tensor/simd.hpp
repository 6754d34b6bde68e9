// SPDX-License-Identifier: Apache-2.0
/// \file The only include of xsimd: batches of floats for everything except the matrix products (L1).
#pragma once

#include <cstddef>

#include <xsimd/xsimd.hpp>

namespace tulle {

/// The widest batch that the compiler's flags allow. Functions that use it take it as a template parameter with this
/// default, so that two files compiled with different flags never define one symbol twice.
using DefaultBatch = xsimd::batch<float>;

}  // namespace tulle
