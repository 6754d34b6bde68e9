// SPDX-License-Identifier: Apache-2.0
/// \file Facts about CPUs: one table, a row per micro-architecture (L1).
#pragma once

#include <cstring>
#include <string_view>

#include <tulle/tensor/isa.hpp>

#if defined(TULLE_X86)
#include <cpuid.h>
#endif

namespace tulle {

/// How loops complement the hardware prefetchers.
enum class Prefetching {
  none,             ///< the hardware needs no help
  varying_strides,  ///< the hardware follows a fixed stride; loops prefetch where strides differ
  every_stream,     ///< the hardware stops at the end of a page of 4 KiB; loops prefetch every stream
};

/// Memory streams: distant parts of the weights that a thread reads at the same time.
enum class Streams { one, two, four };

/// Facts about a micro-architecture on which schedules and layouts depend. The shares are of nonzero weights: up to
/// such a share sliced ELL is faster than the named alternative. Measured by bench/kernels.cpp.
struct Machine {
  std::string_view name;
  Streams streams;           ///< that a thread reads fastest, with one row of activations
  Prefetching prefetching;   ///< of weights
  bool interleaves_ell;      ///< with one row, ELL on AVX-512 or with several steps a bundle interleaves two panels
  double ell_avx512;         ///< AVX-512: ELL, else a bitmask
  double ell_avx2;           ///< AVX2 and AVX-VNNI: ELL, else a balanced layout if the matrix has its pattern
  double ell_dense_avx2;     ///< AVX2: ELL, else dense weights
  double ell_dense_avxvnni;  ///< AVX-VNNI: ELL, else dense weights
  double ell_window_48;      ///< AVX2: ELL with windows of 48 columns (fewer bytes, a third shuffle), else of 32
};

/// Intel CPUs carry out fewer byte shuffles in the time that memory takes, so ELL wins only with fewer weights. With
/// AVX-VNNI they multiply the dense weights of a prompt at twice the speed. Zen 4 reads one stream 6 to 17 % faster
/// than several. Zen 5 reads two 2 to 12 % faster than four, and on AVX2 by up to a half, as two panels need fewer
/// registers; its balanced layouts pass ELL earlier.
namespace machines {

using enum Prefetching;
using enum Streams;
// clang-format off
//                                                      streams prefetching      2 ELL  -------- largest share for ELL --------
//                                                                       panels avx512 avx2  dense dense(vnni) window 48
inline constexpr Machine zen3          {"Zen 3",         four,   varying_strides, false, 0.22,  0.32, 0.52, 0.52,       0.25};
inline constexpr Machine zen4          {"Zen 4",         one,    varying_strides, false, 0.22,  0.32, 0.52, 0.52,       0.25};
inline constexpr Machine zen5          {"Zen 5",         two,    varying_strides, false, 0.22,  0.22, 0.52, 0.52,       0.25};
inline constexpr Machine intel         {"Intel",         four,   every_stream,    true,  0.15,  0.22, 0.52, 0.52,       0.25};
inline constexpr Machine intel_avx_vnni{"Intel AVX-VNNI",four,   every_stream,    true,  0.15,  0.22, 0.52, 0.36,       0.25};
#if defined(TULLE_X86)
inline constexpr Machine unknown       {"unknown",       four,   varying_strides, false, 0.22,  0.32, 0.52, 0.52,       0.25};
#else
inline constexpr Machine unknown       {"unknown",       four,   none,            false, 0.22,  0.32, 0.52, 0.52,       0.25};
#endif
// clang-format on

}  // namespace machines

namespace detail {

/// What CPUID returns for a CPU.
struct CpuId {
  std::string_view vendor;  ///< 12 characters
  unsigned family = 0, model = 0;
};

/// Families and models: AMD's revision guides; Linux arch/x86/kernel/cpu/amd.c.
constexpr const Machine& machine_of(const CpuId& cpu, bool has_avx_vnni) noexcept {
  if (cpu.vendor == "GenuineIntel") return has_avx_vnni ? machines::intel_avx_vnni : machines::intel;
  if (cpu.vendor == "AuthenticAMD" && cpu.family == 0x19) {
    const bool is_zen4 = (cpu.model >= 0x10 && cpu.model <= 0x1F) || (cpu.model >= 0x60 && cpu.model <= 0xAF);
    return is_zen4 ? machines::zen4 : machines::zen3;
  }
  if (cpu.vendor == "AuthenticAMD" && cpu.family == 0x1A) return machines::zen5;
  return machines::unknown;
}

#if defined(TULLE_X86)
/// Queries the CPU (Intel SDM 2A, CPUID; AMD APM 3, E.3).
inline const Machine& detect_machine() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return machines::unknown;
  char vendor[12];
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &d, 4);
  std::memcpy(vendor + 8, &c, 4);
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return machines::unknown;
  const unsigned base = a >> 8 & 15;
  const unsigned family = base == 15 ? base + (a >> 20 & 255) : base;
  const unsigned model = (a >> 4 & 15) | (base == 6 || base == 15 ? a >> 12 & 0xF0 : 0);
  return machine_of({std::string_view(vendor, sizeof vendor), family, model}, isa::AvxVnni::available());
}
#endif

}  // namespace detail

/// The row of this machine. A constant elsewhere than on x86, so that programs for other CPUs carry no code for these.
#if defined(TULLE_X86)
inline const Machine this_machine = detail::detect_machine();
#else
inline constexpr Machine this_machine = machines::unknown;
#endif

}  // namespace tulle
