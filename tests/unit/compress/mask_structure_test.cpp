// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/mask_structure.hpp>

#include <optional>
#include <string>

#include <catch2/catch_all.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

using Kind = SparsityStructure::Kind;

SparsityStructure parsed(std::string_view text) {
  return parse_mask_structure(text, "here");
}

/// Structure and sparsity of "N:M" with a sparsity beside it.
std::string joined(std::string_view text, std::optional<double> sparsity, MaskCount count) {
  PruningPlan plan;
  set_sparsity(plan, parsed(text), sparsity, count, "here");
  return mask_structure_text(plan.structure) + " " + detail::number_text(plan.sparsity);
}

}  // namespace

TEST_CASE("structures are read and written", "[compress][mask_structure]") {
  CHECK(parsed("0:0") == SparsityStructure{});
  CHECK(parsed("unstructured") == SparsityStructure{});
  CHECK(parsed("") == SparsityStructure{});
  CHECK(parsed("row") == SparsityStructure{Kind::row, 0, 0, 0});
  CHECK(parsed("2:4") == SparsityStructure{Kind::balanced, 2, 4, 0});
  CHECK(parsed("8:16-gap4") == SparsityStructure{Kind::balanced, 8, 16, 4});
  for (const char* text : {"0:0", "row", "2:4", "8:16", "4:16", "8:16-gap4"}) {
    CHECK(mask_structure_text(parsed(text)) == text);
  }
}

TEST_CASE("other texts are no structures", "[compress][mask_structure]") {
  for (const char* text : {"2", "2:", ":4", "4:4", "5:4", "0:4", "2:4x", "2:4-gap", "2:4-gap0", "-2:4", "a:b", "2:65",
                           "99999999999999999999:4", "2 :4", "rows"}) {
    INFO(text);
    CHECK(error_of([&] { parsed(text); }).starts_with("invalid_argument: here: "));
  }
  CHECK(error_of([] { parsed("8:16-gap5"); }).starts_with("unsupported: here: \"8:16-gap5\""));
  CHECK(error_of([] { parsed("2:4-gap2"); }).starts_with("unsupported: "));
}

TEST_CASE("the sparsity says what N of N:M counts", "[compress][mask_structure]") {
  CHECK(joined("2:4", 0.5, MaskCount::as_sparsity_says) == "2:4 0.5");
  CHECK(joined("1:4", 0.25, MaskCount::as_sparsity_says) == "3:4 0.25");
  CHECK(joined("1:4", 0.75, MaskCount::as_sparsity_says) == "1:4 0.75");
  CHECK(joined("1:4", std::nullopt, MaskCount::as_sparsity_says) == "1:4 0.75");
  CHECK(joined("4:16", 0.75, MaskCount::kept) == "4:16 0.75");
  CHECK(joined("8:16-gap4", std::nullopt, MaskCount::kept) == "8:16-gap4 0.5");
  CHECK(joined("1:3", 0.667, MaskCount::kept) == "1:3 0.6666666666666667");
  CHECK(joined("", 0.6, MaskCount::kept) == "0:0 0.6");
}

TEST_CASE("a sparsity that contradicts the structure is an error", "[compress][mask_structure]") {
  CHECK(
      error_of([] { joined("1:4", 0.25, MaskCount::kept); }) ==
      "invalid_argument: here: a sparsity of 0.25 contradicts 1:4, which is a sparsity of 0.75; leave one of them out");
  CHECK(error_of([] { joined("2:4", 0.6, MaskCount::as_sparsity_says); }).starts_with("invalid_argument: here: "));
  CHECK(error_of([] { joined("row", std::nullopt, MaskCount::kept); }) ==
        "invalid_argument: here: the sparsity is missing, the share of zeros from 0 to 1");
}
