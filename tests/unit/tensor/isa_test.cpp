// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/isa.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>

#include <catch2/catch_all.hpp>

#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

TEST_CASE("every machine runs the scalar set, and the active set is one it has", "[tensor][isa]") {
  CHECK(machine_has(InstructionSet::scalar));
  CHECK(machine_has(active_instruction_set()));
  CHECK((!machine_has(InstructionSet::avx512) || machine_has(InstructionSet::avx2)));
}

TEST_CASE("the best set is the last one that the machine has", "[tensor][isa]") {
  const InstructionSet best = detail::best_instruction_set();
  CHECK(machine_has(best));
  for (const InstructionSet set : instruction_sets) CHECK((set <= best || !machine_has(set)));
}

TEST_CASE("every set has a name that finds it", "[tensor][isa]") {
  for (const InstructionSet set : instruction_sets) {
    CHECK(detail::find_instruction_set(instruction_set_name(set)) == set);
  }
  CHECK(instruction_set_name(isa::Scalar::value) == "scalar");
  CHECK(instruction_set_name(isa::Avx2::value) == "avx2");
  CHECK(instruction_set_name(isa::AvxVnni::value) == "avx_vnni");
  CHECK(instruction_set_name(isa::Avx512::value) == "avx512");
  CHECK(instruction_set_name(static_cast<InstructionSet>(99)) == "unknown");
}

TEST_CASE("a set can be forced by name; one that is unknown or not there is an error", "[tensor][isa]") {
  const testing::ActiveSet restore(active_instruction_set());
  for (const InstructionSet set : instruction_sets) {
    const std::string name(instruction_set_name(set));
    if (machine_has(set)) {
      use_instruction_set(name);
      CHECK(active_instruction_set() == set);
    } else {
      const InstructionSet before = active_instruction_set();
      CHECK_THROWS_WITH(use_instruction_set(name), "this machine has no " + name);
      CHECK(active_instruction_set() == before);
    }
  }
  for (const char* name : {"", "AVX2", "sse", "avx2 ", "active"}) {
    const InstructionSet before = active_instruction_set();
    try {
      use_instruction_set(name);
      FAIL("no error for \"" << name << '"');
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring(
                                   "known are " + std::string(instruction_set_name(instruction_sets.front()))));
    }
    CHECK(active_instruction_set() == before);
  }
}

TEST_CASE("a tag runs as itself, the active tag as the set that is active", "[tensor][isa]") {
  const auto value = [](auto tag) { return decltype(tag)::value; };
  CHECK(with_instruction_set<isa::Scalar>(value) == InstructionSet::scalar);
  CHECK(with_instruction_set<isa::Avx512>(value) == InstructionSet::avx512);
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::ActiveSet active(set);
    CHECK(with_instruction_set<isa::Active>(value) == set);
  }
}

TEST_CASE("the maker of the processor is the one that Linux names", "[tensor][isa][of_host]") {
  std::ifstream file("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
#if defined(TULLE_X86)
  if (text.find("vendor_id") != std::string::npos)
    CHECK(made_by_intel() == (text.find("GenuineIntel") != std::string::npos));
#else
  CHECK(!made_by_intel());
#endif
}
