// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/x86.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

#if defined(TULLE_X86)
namespace {

TULLE_INLINE_AVX2 __m256 load_avx2(const float* from) noexcept {
  return _mm256_loadu_ps(from);
}
TULLE_TARGET_AVX2 void double_avx2(float* values) noexcept {
  _mm256_storeu_ps(values, _mm256_fmadd_ps(load_avx2(values), _mm256_set1_ps(2), _mm256_setzero_ps()));
}

TULLE_INLINE_AVX512 __m512 load_avx512(const float* from) noexcept {
  return _mm512_loadu_ps(from);
}
TULLE_TARGET_AVX512 void double_avx512(float* values) noexcept {
  _mm512_storeu_ps(values, _mm512_mul_ps(load_avx512(values), _mm512_set1_ps(2)));
}

}  // namespace

TEST_CASE("functions of a set run from a program that was compiled without it", "[tensor][x86]") {
  float values[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  float factor = 1;
  if (isa::Avx2::available()) {
    double_avx2(values);
    double_avx2(values + 8);
    factor *= 2;
  }
  if (isa::Avx512::available()) {
    double_avx512(values);
    factor *= 2;
  }
  for (int i = 0; i < 16; ++i) CHECK(values[i] == factor * static_cast<float>(i + 1));
}
#else
TEST_CASE("other processors see no intrinsics", "[tensor][x86]") {
  CHECK_FALSE(isa::Avx2::available());
  CHECK_FALSE(with_instruction_set<isa::Active>([]<class Isa>(Isa) { return Isa::runs_avx2; }));
}
#endif
