// SPDX-License-Identifier: Apache-2.0
/// \file Instruction sets: one list of them, and which one the program runs on (L1).
///
/// One program holds the inner loops for every set (function target attributes) and chooses when it runs, so that a
/// program compiled with plain -O2 is as fast as one tuned for its machine.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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

/// The instruction sets as tags for the types of loops. `available()`: whether the CPU and the operating system run the
/// set. A new set is one struct and one entry of `isa::All`.
namespace isa {

/// Plain C++: the reference that every other set is compared with.
struct Scalar {
  static constexpr std::string_view name = "scalar";
  static constexpr bool runs_avx2 = false;  ///< whether code for AVX2 runs wherever this set does
  static bool available() noexcept { return true; }
};

/// Vectors of 128 bits: SSE4.1 (Penryn and later), NEON, or WebAssembly's.
struct Simd128 {
#if defined(TULLE_X86)
  static constexpr std::string_view name = "sse4.1";
  static bool available() noexcept { return __builtin_cpu_supports("sse4.1"); }
#else
#if defined(__aarch64__)
  static constexpr std::string_view name = "neon";
#else
  static constexpr std::string_view name = "simd128";
#endif
#if defined(TULLE_SIMD128)
  static bool available() noexcept { return true; }
#else
  static bool available() noexcept { return false; }
#endif
#endif
  static constexpr bool runs_avx2 = false;
  /// Whether a * b + c is rounded once, as on every other set. Where it is not, float results differ in their last
  /// bits.
#if defined(__aarch64__)
  static constexpr bool fuses = true;
#else
  static constexpr bool fuses = false;
#endif
};

/// AVX2, FMA and F16C (Haswell, Zen and later).
struct Avx2 {
  static constexpr std::string_view name = "avx2";
  static constexpr bool runs_avx2 = true;
  static bool available() noexcept {
#if defined(TULLE_X86)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#else
    return false;
#endif
  }
};

/// AVX2 and the int8 dot products of AVX-VNNI (Alder Lake, Zen 5 and later). Everything else is AVX2's.
struct AvxVnni : Avx2 {
  static constexpr std::string_view name = "avx_vnni";
  static bool available() noexcept {
#if defined(TULLE_X86)
    return Avx2::available() && __builtin_cpu_supports("avxvnni");
#else
    return false;
#endif
  }
};

/// AVX-512 F, BW, DQ, VL, VNNI, VBMI and VBMI2 (Ice Lake, Zen 4 and later).
struct Avx512 {
  static constexpr std::string_view name = "avx512";
  static constexpr bool runs_avx2 = true;
  static bool available() noexcept {
#if defined(TULLE_X86)
    return Avx2::available() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2");
#else
    return false;
#endif
  }
};

/// Not a set of its own: whatever `active_instruction_set` returns when the loop is called.
struct Active {};

/// The set whose loops `Isa` runs where dot products of int8 gain nothing.
template <class Isa>
using WithoutDots = std::conditional_t<std::is_same_v<Isa, AvxVnni>, Avx2, Isa>;

template <class... Sets>
struct List {
  static constexpr std::size_t size = sizeof...(Sets);
  static constexpr std::array<std::string_view, size> names{Sets::name...};
  static constexpr std::array<bool (*)() noexcept, size> available{&Sets::available...};

  template <class Isa>
  static constexpr std::size_t index_of() noexcept {
    static_assert((std::is_same_v<Isa, Sets> || ...), "this build has no loops for the set");
    std::size_t index = 0;
    (void)((std::is_same_v<Isa, Sets> || (++index, false)) || ...);
    return index;
  }
};

/// What this build holds loops for, the fastest first. WebAssembly's modules are small: they hold one.
#if defined(TULLE_X86)
using All = List<Avx512, AvxVnni, Avx2, Simd128, Scalar>;
#elif defined(__wasm_simd128__)
using All = List<Simd128>;
#elif defined(TULLE_SIMD128)
using All = List<Simd128, Scalar>;
#else
using All = List<Scalar>;
#endif

}  // namespace isa

/// One of `isa::All` as a value: its index in the list.
enum class InstructionSet : std::uint8_t {};

template <class Isa>
inline constexpr InstructionSet set_of = static_cast<InstructionSet>(isa::All::index_of<Isa>());

/// All of them, the plainest first.
inline constexpr std::array instruction_sets = [] {
  std::array<InstructionSet, isa::All::size> sets{};
  for (std::size_t i = 0; i < sets.size(); ++i) sets[i] = static_cast<InstructionSet>(sets.size() - 1 - i);
  return sets;
}();

constexpr std::string_view instruction_set_name(InstructionSet set) noexcept {
  return isa::All::names[static_cast<std::size_t>(set)];
}

/// Whether this machine (CPU and operating system) runs the set.
inline bool machine_has(InstructionSet set) noexcept {
  return isa::All::available[static_cast<std::size_t>(set)]();
}

namespace detail {

inline InstructionSet best_instruction_set() noexcept {
  std::size_t index = 0;
  while (index + 1 < isa::All::size && !isa::All::available[index]()) ++index;
  return static_cast<InstructionSet>(index);
}

/// Errors: invalid_argument for an unknown name, unsupported when this machine lacks the set.
inline InstructionSet find_instruction_set(std::string_view name) {
  std::string available;
  bool is_known = false;
  for (const InstructionSet set : instruction_sets) {
    is_known = is_known || instruction_set_name(set) == name;
    if (!machine_has(set)) continue;
    if (instruction_set_name(set) == name) return set;
    available += (available.empty() ? "" : ", ") + std::string(instruction_set_name(set));
  }
  if (is_known) fail(ErrorCode::unsupported, "this machine has no ", name, "; it has ", available);
  fail(ErrorCode::invalid_argument, "unknown instruction set \"", name, "\"; this machine has ", available);
}

/// The instruction set of the process.
struct ActiveChoice {
  std::atomic<InstructionSet> set{best_instruction_set()};
  std::atomic<bool> variable_is_wrong{
      false};                         ///< TULLE_ISA names no set of this machine; nothing else was chosen since
  std::atomic<std::size_t> holds{0};  ///< see `InstructionSetHold`

  static const char* variable() noexcept {
    const char* name = std::getenv("TULLE_ISA");
    return name != nullptr && *name == '\0' ? nullptr : name;
  }

  ActiveChoice() noexcept {
    const char* wanted = variable();
    if (wanted == nullptr) return;
    variable_is_wrong = true;
    for (const InstructionSet each : instruction_sets) {
      if (instruction_set_name(each) != wanted || !machine_has(each)) continue;
      set = each;
      variable_is_wrong = false;
    }
  }
};

inline ActiveChoice& active_choice() noexcept {
  static ActiveChoice choice;
  return choice;
}

}  // namespace detail

/// The set that kernels run on: the machine's best, or the one that TULLE_ISA or `use_instruction_set` names.
inline InstructionSet active_instruction_set() noexcept {
  return detail::active_choice().set.load(std::memory_order_relaxed);
}

/// Called before weights are packed. Errors: invalid_argument or unsupported where TULLE_ISA names no set of this
/// machine, unless `use_instruction_set` was called since.
inline void check_instruction_set() {
  if (!detail::active_choice().variable_is_wrong) return;
  try {
    const char* variable = detail::ActiveChoice::variable();
    (void)detail::find_instruction_set(variable == nullptr ? "" : variable);
  } catch (const Error& error) {
    fail(error.code(), "TULLE_ISA: ", error.what());
  }
}

/// Forces a set by name ("avx2") for the whole process; call it before a model is loaded.
/// Errors: invalid_argument for an unknown name, unsupported when this machine lacks the set, state while weights exist
/// whose layout was chosen for another set.
inline void use_instruction_set(std::string_view name) {
  const InstructionSet set = detail::find_instruction_set(name);
  detail::ActiveChoice& choice = detail::active_choice();
  if (set != active_instruction_set() && choice.holds.load(std::memory_order_acquire) != 0) {
    fail(ErrorCode::state, "a model is loaded for ", instruction_set_name(active_instruction_set()),
         "; choose the instruction set ", name, " before loading, or free the model first");
  }
  choice.set.store(set, std::memory_order_relaxed);
  choice.variable_is_wrong = false;
}

/// A member of weights whose layout was chosen for the active set: while one lives, that set cannot be changed.
class InstructionSetHold {
 public:
  InstructionSetHold() noexcept { detail::active_choice().holds.fetch_add(1, std::memory_order_relaxed); }
  InstructionSetHold(const InstructionSetHold&) noexcept : InstructionSetHold() {}
  InstructionSetHold& operator=(const InstructionSetHold&) noexcept { return *this; }
  ~InstructionSetHold() { detail::active_choice().holds.fetch_sub(1, std::memory_order_release); }
};

namespace detail {

template <class First, class... Rest, class Run>
decltype(auto) with_set_of(isa::List<First, Rest...>, [[maybe_unused]] InstructionSet set, Run& run) {
  if constexpr (sizeof...(Rest) > 0) {
    if (set != set_of<First>) return with_set_of(isa::List<Rest...>{}, set, run);
  }
  return run(First{});
}

}  // namespace detail

/// Calls `run` with the tag `Isa`, or with the active set's tag for `isa::Active`. `run` must be callable with every
/// tag.
template <class Isa, class Run>
decltype(auto) with_instruction_set(Run&& run) {
  if constexpr (!std::is_same_v<Isa, isa::Active>) {
    return run(Isa{});
  } else if constexpr (isa::All::size == 1) {
    return detail::with_set_of(isa::All{}, instruction_sets.front(), run);
  } else {
    return detail::with_set_of(isa::All{}, active_instruction_set(), run);
  }
}

namespace detail {

/// The same address, hidden from the compiler: what lies there is loaded again and not kept in a register.
template <class T>
inline const T* load_again(const T* address) noexcept {
#if defined(__GNUC__)
  __asm__ volatile("" : "+r"(address));
#endif
  return address;
}

}  // namespace detail

}  // namespace tulle
