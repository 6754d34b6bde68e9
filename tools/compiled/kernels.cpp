// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/any_kernel.hpp>

namespace tulle {

#if defined(TULLE_SIMD128)
TULLE_LOOPS(template, isa::Simd128)
TULLE_FLOAT_LOOPS(template, isa::Simd128)
#endif
#if !defined(__wasm_simd128__)
TULLE_LOOPS(template, isa::Scalar)
TULLE_FLOAT_LOOPS(template, isa::Scalar)
#endif

}  // namespace tulle
