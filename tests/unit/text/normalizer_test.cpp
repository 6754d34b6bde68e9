// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/normalizer.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle;

namespace {

std::string normalized(std::vector<NormalizerStep> steps, std::string text) {
  Regex::Scratch scratch;
  return Normalizer(std::move(steps)).apply(std::move(text), scratch);
}

}  // namespace

TEST_CASE("steps are applied in order", "[text][normalizer]") {
  std::vector<NormalizerStep> steps;
  steps.emplace_back(PrependStep{" "});
  steps.emplace_back(ReplaceStep{Regex::literal(" ", "test"), "\u2581"});
  CHECK(normalized(steps, "a b") == "\u2581a\u2581b");
  CHECK(normalized(steps, "") == "");
  CHECK(normalized({}, "a b") == "a b");
  CHECK(normalized({ComposeStep{}}, "e\u0301") == "\u00E9");
}

TEST_CASE("a replacement covers all matches, empty ones too", "[text][normalizer]") {
  CHECK(normalized({ReplaceStep{Regex(" {2,}", "test"), "_"}}, "a  b c   ") == "a_b c_");
  CHECK(normalized({ReplaceStep{Regex("x*", "test"), "-"}}, "ab") == "-a-b-");
  CHECK(normalized({ReplaceStep{Regex(" *", "test"), "-"}}, "a b") == "-a-b-");  // none right behind another
  CHECK(normalized({ReplaceStep{Regex("b", "test"), ""}}, "abba") == "aa");
}
