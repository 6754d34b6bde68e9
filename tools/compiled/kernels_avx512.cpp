// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/any_kernel.hpp>

#if defined(TULLE_X86)
namespace tulle {

TULLE_LOOPS(template, isa::Avx512)
TULLE_FLOAT_LOOPS(template, isa::Avx512)

}  // namespace tulle
#endif
