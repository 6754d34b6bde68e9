// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/modifier_types.hpp>

#include <catch2/catch_all.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

TEST_CASE("a modifier is known, of the other tools, or a mistake", "[compress][modifier_types]") {
  const auto error = [](std::string_view name) {
    return error_of([&] { detail::require_modifier_type(name, "r.yaml", 3); });
  };
  for (const std::string_view name : detail::modifier_types) CHECK(error(name) == "none");
  for (const std::string_view name : detail::absent_modifier_types) {
    CHECK(error(name).starts_with("unsupported: r.yaml, line 3: " + std::string(name) + " is not available"));
  }
  CHECK(error("LegacyQuantisationModifier") ==
        "invalid_argument: r.yaml, line 3: unknown modifier \"LegacyQuantisationModifier\"; did you mean "
        "LegacyQuantizationModifier?");
}
