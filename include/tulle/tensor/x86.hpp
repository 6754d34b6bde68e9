// SPDX-License-Identifier: Apache-2.0
/// \file The only include of the x86 intrinsics, and the attributes that let one file hold several instruction sets (L1).
#pragma once

#include <tulle/tensor/isa.hpp>

#if defined(TULLE_X86)
#include <immintrin.h>

/// Function attributes. A function so marked may only be called after `machine_has` said yes.
#define TULLE_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define TULLE_TARGET_AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define TULLE_INLINE_AVX2 inline __attribute__((always_inline, target("avx2,fma,f16c")))
#define TULLE_INLINE_AVX512 \
  inline __attribute__((always_inline, target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#endif
