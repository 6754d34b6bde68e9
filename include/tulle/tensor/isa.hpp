// SPDX-License-Identifier: Apache-2.0
/// \file Instruction sets: tags for the types, and which one this machine runs best (L1).
///
/// One program holds the inner loops for every set (function target attributes) and chooses when it runs, so that a
/// program compiled with plain -O2 is as fast as one tuned for its machine.
#pragma once

#include <array>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <tulle/core/error.hpp>

#if defined(__x86_64__) || defined(__i386__)
#define TULLE_X86 1
#endif
#if defined(TULLE_X86) || defined(__aarch64__) || defined(__wasm_simd128__)
#define TULLE_SIMD128 1
#endif

namespace tulle {

/// In order of preference: a later one is faster where the machine has it.
enum class InstructionSet { scalar, simd128, avx2, avx_vnni, avx512 };

namespace isa {

/// Plain C++: the reference that every other set is compared with.
struct Scalar {
  static constexpr InstructionSet value = InstructionSet::scalar;
};
/// Vectors of 128 bits: SSE4.1 (Penryn and later), NEON, or WebAssembly's.
struct Simd128 {
  static constexpr InstructionSet value = InstructionSet::simd128;
  /// Whether a * b + c is rounded once, as on every other set. Where it is not, float results differ in their last bits.
#if defined(__aarch64__)
  static constexpr bool fuses = true;
#else
  static constexpr bool fuses = false;
#endif
};
/// AVX2, FMA and F16C (Haswell, Zen and later).
struct Avx2 {
  static constexpr InstructionSet value = InstructionSet::avx2;
};
/// AVX2 and the int8 dot products of AVX-VNNI (Alder Lake and later). All else is AVX2's.
struct AvxVnni : Avx2 {
  static constexpr InstructionSet value = InstructionSet::avx_vnni;
};
/// AVX-512 F, BW, DQ, VL, VNNI, VBMI and VBMI2 (Ice Lake, Zen 4 and later).
struct Avx512 {
  static constexpr InstructionSet value = InstructionSet::avx512;
};

/// Not a set of its own: whatever `active_instruction_set` says when the loop is called.
struct Active {};

/// The set whose loops `Isa` runs where dot products of int8 gain nothing.
template <class Isa>
using WithoutDots = std::conditional_t<std::is_same_v<Isa, AvxVnni>, Avx2, Isa>;

}  // namespace isa

/// Those a program can be told to run on. WebAssembly's modules are small: they hold one.
#if defined(__wasm_simd128__)
inline constexpr std::array instruction_sets{InstructionSet::simd128};
#else
inline constexpr std::array instruction_sets{InstructionSet::scalar, InstructionSet::simd128, InstructionSet::avx2,
                                             InstructionSet::avx_vnni, InstructionSet::avx512};
#endif

constexpr std::string_view instruction_set_name(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::scalar: return "scalar";
#if defined(TULLE_X86)
    case InstructionSet::simd128: return "sse4.1";
#elif defined(__aarch64__)
    case InstructionSet::simd128: return "neon";
#else
    case InstructionSet::simd128: return "simd128";
#endif
    case InstructionSet::avx2: return "avx2";
    case InstructionSet::avx_vnni: return "avx_vnni";
    case InstructionSet::avx512: return "avx512";
  }
  return "unknown";
}

/// Whether this machine (processor and operating system) runs the set.
inline bool machine_has(InstructionSet set) noexcept {
#if defined(TULLE_X86)
  switch (set) {
    case InstructionSet::scalar: return true;
    case InstructionSet::simd128: return __builtin_cpu_supports("sse4.1");
    case InstructionSet::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    case InstructionSet::avx_vnni: return machine_has(InstructionSet::avx2) && __builtin_cpu_supports("avxvnni");
    case InstructionSet::avx512:
      return machine_has(InstructionSet::avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") &&
             __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
  }
  return false;
#elif defined(TULLE_SIMD128)
  return set == InstructionSet::scalar || set == InstructionSet::simd128;
#else
  return set == InstructionSet::scalar;
#endif
}

namespace detail {

inline InstructionSet best_instruction_set() noexcept {
  InstructionSet best = instruction_sets.front();
  for (const InstructionSet set : instruction_sets) {
    if (machine_has(set)) best = set;
  }
  return best;
}

inline std::optional<InstructionSet> find_instruction_set(std::string_view name) noexcept {
  for (const InstructionSet set : instruction_sets) {
    if (instruction_set_name(set) == name) return set;
  }
  return std::nullopt;
}

inline std::atomic<InstructionSet>& active_slot() noexcept {
  static std::atomic<InstructionSet> slot = [] {
    const InstructionSet best = best_instruction_set();
    const char* wanted = std::getenv("TULLE_ISA");
    if (wanted == nullptr) return best;
    const auto set = find_instruction_set(wanted);
    return set && machine_has(*set) ? *set : best;  // use_instruction_set() reports a wrong name
  }();
  return slot;
}

}  // namespace detail

/// The set that kernels run on: the machine's best, or the one that TULLE_ISA or `use_instruction_set` asked for.
inline InstructionSet active_instruction_set() noexcept {
  return detail::active_slot().load(std::memory_order_relaxed);
}

/// Forces a set by name ("avx2") for the whole process; call it before a model is loaded.
/// Errors: invalid_argument for an unknown name, unsupported when this machine lacks the set.
inline void use_instruction_set(std::string_view name) {
  const auto set = detail::find_instruction_set(name);
  if (!set) {
    std::string known;
    for (const InstructionSet each : instruction_sets)
      known += (known.empty() ? "" : ", ") + std::string(instruction_set_name(each));
    fail(ErrorCode::invalid_argument, "unknown instruction set \"", name, "\"; known are ", known);
  }
  if (!machine_has(*set)) fail(ErrorCode::unsupported, "this machine has no ", name);
  detail::active_slot().store(*set, std::memory_order_relaxed);
}

/// Calls `run` with the tag `Isa`, or with the active set's tag for `isa::Active`. `run` must be callable with every tag.
template <class Isa, class Run>
decltype(auto) with_instruction_set(Run&& run) {
  if constexpr (!std::is_same_v<Isa, isa::Active>) {
    return run(Isa{});
  } else if constexpr (instruction_sets.size() == 1) {
    return run(isa::Simd128{});
  } else {
    switch (active_instruction_set()) {
#if defined(TULLE_X86)
      case InstructionSet::avx512: return run(isa::Avx512{});
      case InstructionSet::avx_vnni: return run(isa::AvxVnni{});
      case InstructionSet::avx2: return run(isa::Avx2{});
#endif
#if defined(TULLE_SIMD128)
      case InstructionSet::simd128: return run(isa::Simd128{});
#endif
      default: break;
    }
    return run(isa::Scalar{});
  }
}

/// Whether Intel made this processor: its shuffles and blends of bytes take longer than those of others.
inline bool made_by_intel() noexcept {
#if defined(TULLE_X86)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

namespace detail {

/// The same address, of which the compiler knows nothing: what lies there is loaded again, not kept in registers that other
/// values need more.
template <class T>
inline const T* load_again(const T* address) noexcept {
#if defined(__GNUC__)
  __asm__ volatile("" : "+r"(address));
#endif
  return address;
}

}  // namespace detail

}  // namespace tulle
