// SPDX-License-Identifier: Apache-2.0
/// \file The only include of the x86 intrinsics, and the attributes that let one file hold several instruction sets (L1).
#pragma once

#include <tulle/tensor/isa.hpp>

#if defined(TULLE_X86)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 sees its own _mm512_undefined_ps() as a mistake
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif

/// Function attributes. A function so marked may only be called after `machine_has` said yes.
#define TULLE_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define TULLE_TARGET_AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512vbmi2")))
#define TULLE_INLINE_AVX2 inline __attribute__((always_inline, target("avx2,fma,f16c")))
#define TULLE_INLINE_AVX512 \
  inline __attribute__((always_inline, target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512vbmi2")))
#endif
