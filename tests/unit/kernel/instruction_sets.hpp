// SPDX-License-Identifier: Apache-2.0
/// \file The instruction sets that a test runs on.
#pragma once

#include <string>
#include <type_traits>

#include <catch2/catch_all.hpp>

#include <tulle/tensor/isa.hpp>

#include "unit/kernel/vnni_emulator.hpp"

namespace tulle::testing {

/// For TEMPLATE_LIST_TEST_CASE: every set that this build holds.
using InstructionSets = isa::All;

/// The set whose bits `Isa` must give: its own where it rounds a * b + c twice.
template <class Isa>
struct ReferenceOf {
  using type = isa::Scalar;
};
template <>
struct ReferenceOf<isa::Simd128> {
  using type = std::conditional_t<isa::Simd128::fuses, isa::Scalar, isa::Simd128>;
};
template <class Isa>
using ReferenceSet = typename ReferenceOf<Isa>::type;

/// Ends the test as skipped, with the set's name, where the machine lacks it.
template <class Isa>
void require_native_machine() {
  if (!Isa::available()) SKIP("this machine has no " << Isa::name);
}

/// The same, but AVX-VNNI may be emulated, 10000 times as slowly.
template <class Isa>
void require_machine() {
  if (!std::is_same_v<Isa, isa::AvxVnni> || !runs_avx_vnni()) require_native_machine<Isa>();
}

/// Forces the active set while it lives.
class ActiveSet {
 public:
  explicit ActiveSet(InstructionSet set) { use_instruction_set(instruction_set_name(set)); }
  ~ActiveSet() { use_instruction_set(instruction_set_name(before_)); }
  ActiveSet(const ActiveSet&) = delete;
  ActiveSet& operator=(const ActiveSet&) = delete;

 private:
  InstructionSet before_ = active_instruction_set();
};

}  // namespace tulle::testing
