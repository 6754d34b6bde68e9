// SPDX-License-Identifier: Apache-2.0
/// \file AVX-VNNI for processors that lack it: the tests of its loops run on every machine with AVX2.
#pragma once

#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86) && defined(__linux__) && defined(__x86_64__)
#include <csignal>
#include <cstdint>
#include <cstring>

#include <ucontext.h>

namespace tulle::testing {

/// A 256-bit register of an interrupted thread (Intel SDM 1, 13.4: the lower half lies in the legacy area, the upper
/// one in the component of AVX, at byte 576 of the standard format that Linux gives a signal handler).
class SavedYmm {
 public:
  SavedYmm(ucontext_t& thread, unsigned index) noexcept
      : low_(reinterpret_cast<std::uint8_t*>(thread.uc_mcontext.fpregs) + 160 + 16 * index),
        high_(reinterpret_cast<std::uint8_t*>(thread.uc_mcontext.fpregs) + 576 + 16 * index) {}

  template <class Element>
  Element get(unsigned index) const noexcept {
    Element element;
    std::memcpy(&element, at<Element>(index), sizeof element);
    return element;
  }
  void set(unsigned index, std::int32_t value) noexcept { std::memcpy(at<std::int32_t>(index), &value, sizeof value); }

 private:
  template <class Element>
  std::uint8_t* at(unsigned index) const noexcept {
    constexpr unsigned in_half = 16 / sizeof(Element);
    return (index < in_half ? low_ : high_) + index % in_half * sizeof(Element);
  }
  std::uint8_t *low_, *high_;
};

/// vpdpbusd ymm, ymm, ymm (VEX.256.66.0F38.W0 50 /r): 5 bytes. Any other instruction is as illegal as it was.
inline void emulate_vpdpbusd(int signal, siginfo_t*, void* context) noexcept {
  auto& thread = *static_cast<ucontext_t*>(context);
  auto& next = thread.uc_mcontext.gregs[REG_RIP];
  const auto* code = reinterpret_cast<const std::uint8_t*>(next);
  const bool known =
      code[0] == 0xC4 && (code[1] & 0x1F) == 2 && (code[2] & 0x87) == 5 && code[3] == 0x50 && code[4] >= 0xC0;
  if (!known) {
    std::signal(signal, SIG_DFL);
    return;
  }
  const unsigned field = code[4];
  SavedYmm sums(thread, (field >> 3 & 7) | (code[1] & 0x80 ? 0 : 8));
  const SavedYmm u8(thread, ~(code[2] >> 3) & 15), s8(thread, (field & 7) | (code[1] & 0x20 ? 0 : 8));
  std::int32_t results[8];
  for (unsigned lane = 0; lane < 8; ++lane) {
    results[lane] = sums.get<std::int32_t>(lane);
    for (unsigned i = 4 * lane; i < 4 * lane + 4; ++i)
      results[lane] += int{u8.get<std::uint8_t>(i)} * s8.get<std::int8_t>(i);
  }
  for (unsigned lane = 0; lane < 8; ++lane) sums.set(lane, results[lane]);
  next += 5;
}

TULLE_TARGET_AVX2 inline bool multiplies_bytes() noexcept {
  alignas(32) std::int32_t sums[8];
  std::int8_t s8[32];
  std::uint8_t u8[32];
  for (int i = 0; i < 32; ++i) {
    s8[i] = static_cast<std::int8_t>(3 * i - 128);
    u8[i] = static_cast<std::uint8_t>(255 - i);
  }
  _mm256_store_si256(reinterpret_cast<__m256i*>(sums),
                     detail::dot_bytes(_mm256_set1_epi32(7), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(u8)),
                                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s8))));
  for (int lane = 0; lane < 8; ++lane) {
    std::int32_t expected = 7;
    for (int i = 4 * lane; i < 4 * lane + 4; ++i) expected += s8[i] * u8[i];
    if (sums[lane] != expected) return false;
  }
  return true;
}

/// Whether loops for AVX-VNNI run in this test: here, or emulated. Every test asks, as Catch2 takes the signal back
/// after each.
inline bool runs_avx_vnni() {
  if (isa::AvxVnni::available()) return true;
  if (!isa::Avx2::available()) return false;
  struct sigaction action{};
  action.sa_sigaction = emulate_vpdpbusd;
  action.sa_flags = SA_SIGINFO;
  static const bool works = sigaction(SIGILL, &action, nullptr) == 0 && multiplies_bytes();
  return works && sigaction(SIGILL, &action, nullptr) == 0;
}

}  // namespace tulle::testing
#else
namespace tulle::testing {
inline bool runs_avx_vnni() {
  return isa::AvxVnni::available();
}
}  // namespace tulle::testing
#endif
