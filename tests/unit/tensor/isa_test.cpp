// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/isa.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <catch2/catch_all.hpp>

#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

namespace {

/// Runs `check` while TULLE_ISA is `value`, as a process that starts with it reads it.
#if !defined(__EMSCRIPTEN__) && !defined(_WIN32)
template <class Check>
void with_variable(const char* value, Check&& check) {
  const char* before = std::getenv("TULLE_ISA");
  const std::optional<std::string> kept = before == nullptr ? std::nullopt : std::optional<std::string>(before);
  setenv("TULLE_ISA", value, 1);
  check();
  kept ? setenv("TULLE_ISA", kept->c_str(), 1) : unsetenv("TULLE_ISA");
}
#endif

}  // namespace

TEST_CASE("the active set is one that the machine has", "[tensor][isa]") {
  CHECK(machine_has(active_instruction_set()));
  CHECK(isa::Scalar::available());
  CHECK((!isa::Avx512::available() || isa::Avx2::available()));
  CHECK((!isa::AvxVnni::available() || isa::Avx2::available()));
}

TEST_CASE("the best set is the last one that the machine has", "[tensor][isa]") {
  const InstructionSet best = detail::best_instruction_set();
  CHECK(machine_has(best));
  const auto after = std::ranges::find(instruction_sets, best) + 1;
  CHECK(std::none_of(after, instruction_sets.end(), [](InstructionSet set) { return machine_has(set); }));
}

TEST_CASE("every set has a name that finds it", "[tensor][isa]") {
  for (const InstructionSet set : instruction_sets) {
    if (machine_has(set)) CHECK(detail::find_instruction_set(instruction_set_name(set)) == set);
  }
  CHECK(isa::Scalar::name == "scalar");
  CHECK(isa::Avx2::name == "avx2");
  CHECK(isa::AvxVnni::name == "avx_vnni");
  CHECK(isa::Avx512::name == "avx512");
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
      CHECK_THROWS_WITH(use_instruction_set(name),
                        Catch::Matchers::StartsWith("this machine has no " + name + "; it has "));
      CHECK(active_instruction_set() == before);
    }
  }
  const std::string best(instruction_set_name(detail::best_instruction_set()));
  for (const char* name : {"", "AVX2", "sse", "avx2 ", "active"}) {
    const InstructionSet before = active_instruction_set();
    try {
      use_instruction_set(name);
      FAIL("no error for \"" << name << '"');
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("; this machine has "));
      CHECK_THAT(error.what(), Catch::Matchers::EndsWith(best));
    }
    CHECK(active_instruction_set() == before);
  }
}

#if !defined(__EMSCRIPTEN__) && !defined(_WIN32)
TEST_CASE("TULLE_ISA chooses the set when the process starts", "[tensor][isa]") {
  const InstructionSet plainest = instruction_sets.front();
  with_variable(std::string(instruction_set_name(plainest)).c_str(), [&] {
    const detail::ActiveChoice choice;
    CHECK(choice.set == plainest);
    CHECK_FALSE(choice.variable_is_wrong);
  });
  with_variable("", [] {
    const detail::ActiveChoice choice;
    CHECK(choice.set == detail::best_instruction_set());
    CHECK_FALSE(choice.variable_is_wrong);
  });
}

TEST_CASE("a misspelt TULLE_ISA is an error that lists the sets of the machine, until a set is chosen",
          "[tensor][isa]") {
  CHECK_NOTHROW(check_instruction_set());
  with_variable("avx3", [] {
    CHECK(detail::ActiveChoice().variable_is_wrong);
    detail::active_choice().variable_is_wrong = true;
    CHECK_THROWS_WITH(check_instruction_set(),
                      Catch::Matchers::StartsWith("TULLE_ISA: unknown instruction set \"avx3\"; this machine has "));
    use_instruction_set(instruction_set_name(active_instruction_set()));
    CHECK_NOTHROW(check_instruction_set());
  });
}
#endif

TEST_CASE("while weights hold a set, it cannot be changed", "[tensor][isa]") {
  if (isa::All::size == 1) SKIP("this build has one instruction set");
  const testing::ActiveSet restore(active_instruction_set());
  use_instruction_set("scalar");
  const std::string other(instruction_set_name(instruction_sets[1]));
  if (!machine_has(instruction_sets[1])) SKIP("this machine has one instruction set");
  {
    const InstructionSetHold hold;
    const InstructionSetHold copy(hold);
    CHECK_NOTHROW(use_instruction_set("scalar"));
    try {
      use_instruction_set(other);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::state);
      CHECK_THAT(error.what(), Catch::Matchers::StartsWith("a model is loaded for scalar; choose"));
    }
    CHECK(instruction_set_name(active_instruction_set()) == "scalar");
  }
  CHECK_NOTHROW(use_instruction_set(other));
}

TEST_CASE("a tag runs as itself, the active tag as the set that is active", "[tensor][isa]") {
  const auto name = [](auto tag) { return decltype(tag)::name; };
  CHECK(with_instruction_set<isa::Scalar>(name) == "scalar");
  CHECK(with_instruction_set<isa::Avx512>(name) == "avx512");
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::ActiveSet active(set);
    CHECK(with_instruction_set<isa::Active>(name) == instruction_set_name(set));
  }
}
