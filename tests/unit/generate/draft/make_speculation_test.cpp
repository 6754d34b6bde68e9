// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/make_speculation.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <string>
#include <string_view>

#include <tulle/generate/text_generation.hpp>

#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string path = TULLE_GOLDEN "/models/gguf/f32.gguf";

TextGeneration pipeline_with(const std::string& drafter) {
  TextGenerationOptions options;
  options.engine = testing::small_engine();
  options.draft = {drafter, " the answer in 12 1212 and one two three", {5, false}};
  return TextGeneration(path, options);
}

}  // namespace

TEST_CASE("every named drafter leaves the text as it is", "[generate][draft]") {
  GenerationOptions options;
  options.max_new_tokens = 24;
  options.force_max_tokens = true;
  options.sampling.do_sample = true;
  TextGeneration plain = pipeline_with("");
  CHECK(plain.engine().speculation() == nullptr);
  const auto wanted = plain("one two one two", options).generations[0];
  for (const std::string& drafter :
       {std::string("ngram"), std::string("prediction"), std::string("self:i8"), std::string("self:i4"),
        std::string("self:dense_f32"), std::string("self:8:16_gap4_i4"), std::string("self:2:4_i8"), path,
        std::string("ngram+self:i4"), "ngram+" + path, path + "+self:i8"}) {
    CAPTURE(drafter);
    TextGeneration pipeline = pipeline_with(drafter);
    const auto found = pipeline("one two one two", options).generations[0];
    CHECK(found.tokens == wanted.tokens);
    const SpeculationFigures& figures = pipeline.engine().speculation()->figures();
    if (drafter == "self:dense_f32" || drafter == path) {
      CHECK(figures.acceptance() == 1);  // the same model
    } else if (drafter == "self:i8") {
      CHECK(figures.acceptance() > 0.7);
    }
    CHECK(pipeline.engine().speculation()->figures().tokens == 24);
  }
}

TEST_CASE("a drafter that cannot be made is an error with its reason", "[generate][draft]") {
  CHECK_THROWS_WITH(pipeline_with("self:i5"), ContainsSubstring("unknown kernel \"i5\""));
  CHECK_THROWS_WITH(pipeline_with("/nowhere"), ContainsSubstring("/nowhere"));
  CHECK_THROWS_WITH(pipeline_with(TULLE_GOLDEN "/models/codegen-tiny"), ContainsSubstring("holds no tokenizer"));
  for (const char* stack : {"ngram+", "+self:i4", "ngram+prediction", "ngram+ngram", "prediction+self:i4"}) {
    CHECK_THROWS_WITH(pipeline_with(stack), ContainsSubstring("is no name: A+B"));
  }
}
