// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/text_generation.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;
using test::error_of;
using testing::small_engine;
using testing::tiny_pipeline;

namespace {

GenerationOptions at_most(std::size_t tokens) {
  GenerationOptions options;
  options.max_new_tokens = tokens;
  options.force_max_tokens = true;
  return options;
}

}  // namespace

TEST_CASE("one prompt is continued with text", "[generate][text_generation]") {
  const auto pipeline = tiny_pipeline(small_engine());
  const TextGenerationOutput output = (*pipeline)("the answer", at_most(12));
  REQUIRE(output.generations.size() == 1);
  CHECK(output.prompts == std::vector<std::string>{"the answer"});
  const GeneratedText& result = output.generations[0];
  CHECK(result.tokens.size() == 12);
  CHECK(result.text == pipeline->tokenizer().decode(result.tokens, true));
  CHECK(result.prompt_tokens == pipeline->tokenizer().encode("the answer").size());
  CHECK(output.timings.generated_tokens == 12);
}

TEST_CASE("many prompts give what each gives alone", "[generate][text_generation]") {
  const auto pipeline = tiny_pipeline(small_engine());
  const std::vector<std::string> prompts{"the answer", "in", "12 1212 and", "one", "two", "three"};
  const auto together = (*pipeline)(prompts, at_most(9));
  REQUIRE(together.generations.size() == 6);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    CHECK(together.generations[i].text == (*pipeline)(prompts[i], at_most(9)).generations[0].text);
  }
}

TEST_CASE("a drawn text depends on its prompt and seed, equal prompts differ", "[generate][text_generation]") {
  const auto pipeline = tiny_pipeline(small_engine());
  GenerationOptions options = at_most(9);
  options.sampling.do_sample = true;
  options.sampling.temperature = 1.5f;
  options.seed = 7;
  const auto texts = [&](const std::vector<std::string>& prompts, std::size_t copies) {
    options.num_return_sequences = copies;
    std::vector<std::string> all;
    for (const GeneratedText& each : (*pipeline)(prompts, options).generations) all.push_back(each.text);
    return all;
  };
  const std::string one = texts({"one"}, 1)[0], two = texts({"two"}, 1)[0];
  CHECK(texts({"two", "one"}, 1) == std::vector<std::string>{two, one});
  const auto copies = texts({"two", "one"}, 2);
  CHECK((copies[0] == two && copies[2] == one && copies[1] != two && copies[3] != one));
  const auto equal = texts({"one", "two", "one"}, 1);
  CHECK((equal[0] == one && equal[1] == two && equal[2] == copies[3]));
}

TEST_CASE("a stream gives the pieces of the same text", "[generate][text_generation]") {
  const auto pipeline = tiny_pipeline(small_engine());
  const auto wanted = (*pipeline)("the answer", at_most(20)).generations[0];
  TextStream stream = pipeline->stream("the answer", at_most(20));
  std::string text;
  std::vector<Token> tokens;
  FinishReason reason = FinishReason::none;
  for (const TextPiece& piece : stream) {
    text += piece.text;
    tokens.push_back(piece.token);
    CHECK(reason == FinishReason::none);
    reason = piece.finish_reason;
  }
  CHECK(text == wanted.text);
  CHECK(tokens == wanted.tokens);
  CHECK(reason == FinishReason::length);
  CHECK(stream.timings().generated_tokens == 20);
  CHECK(stream.results()[0].text == wanted.text);
}

TEST_CASE("a stream that is left early frees the pipeline", "[generate][text_generation]") {
  EngineOptions one = small_engine();
  one.max_sequences = 1;
  const auto pipeline = tiny_pipeline(one);
  {
    TextStream stream = pipeline->stream("the answer", at_most(50));
    for (const TextPiece& piece : stream) {
      if (piece.token >= 0) break;
    }
  }
  CHECK_FALSE(pipeline->engine().running());
  CHECK((*pipeline)("the answer", at_most(3)).generations[0].tokens.size() == 3);
}

TEST_CASE("a stream can be moved while it runs", "[generate][text_generation]") {
  const auto pipeline = tiny_pipeline(small_engine());
  const auto wanted = (*pipeline)("the", at_most(6)).generations[0].text;
  TextStream stream = pipeline->stream("the", at_most(6));
  std::string text = stream.next()->text;
  TextStream moved = std::move(stream);
  while (const auto piece = moved.next()) text += piece->text;
  CHECK(text == wanted);
}

TEST_CASE("a chat is rendered by the model's own template", "[generate][text_generation]") {
  const auto pipeline = tiny_pipeline(small_engine());
  REQUIRE(pipeline->has_chat_template());
  const std::vector<ChatMessage> messages{{"user", "hello"}};
  CHECK(pipeline->apply_chat_template(messages) == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n");
  CHECK(pipeline->apply_chat_template(messages, false) == "<|im_start|>user\nhello<|im_end|>\n");
  Session session = pipeline->session();
  GenerationOptions options = at_most(5);
  options.add_special_tokens = false;
  CHECK(session.generate(pipeline->apply_chat_template(messages), options).tokens.size() == 5);
  const auto without = testing::pipeline_of(testing::tiny_model("gguf/f32.gguf", "dense_f32"), "", small_engine());
  CHECK_FALSE(without->has_chat_template());
  CHECK(error_of([&] { (void)without->apply_chat_template(messages); }) == ErrorCode::unsupported);
}

TEST_CASE("a pipeline is loaded from a path, with an error for a wrong kernel or place",
          "[generate][text_generation]") {
  const std::string path = TULLE_GOLDEN "/models/gguf/q4_0.gguf";
  const auto pipeline = testing::pipeline_from(path, "auto", small_engine());
  CHECK((*pipeline)("the", at_most(3)).generations[0].tokens.size() == 3);
  CHECK(error_of([&] { (void)testing::pipeline_from(path, "dense_i5", small_engine()); }) ==
        ErrorCode::invalid_argument);
  CHECK(error_of([&] { (void)testing::pipeline_from("no/such/model", "auto", small_engine()); }) ==
        ErrorCode::not_found);
}

TEST_CASE("an empty prompt is an error, and so is one longer than the context", "[generate][text_generation]") {
  const auto pipeline = tiny_pipeline(small_engine());
  CHECK(error_of([&] { (void)(*pipeline)("", at_most(3)); }) == ErrorCode::invalid_argument);
  std::string longer;
  for (int i = 0; i < 200; ++i) longer += " x";
  CHECK(error_of([&] { (void)(*pipeline)(longer, at_most(3)); }) == ErrorCode::capacity);
  CHECK((*pipeline)("the", at_most(3)).generations[0].tokens.size() == 3);
}

TEST_CASE("text that is no UTF-8 is continued like the replacement character", "[generate][text_generation]") {
  const auto pipeline = tiny_pipeline(small_engine());
  CHECK((*pipeline)("a\xFF", at_most(5)).generations[0].text ==
        (*pipeline)("a\xEF\xBF\xBD", at_most(5)).generations[0].text);
}

TEST_CASE("no token beyond the tokenizer's vocabulary is generated", "[generate][text_generation]") {
  // The model has 320 rows, the tokenizer 288 tokens: the rest is padding.
  const auto pipeline = testing::pipeline_of(testing::tiny_model("codegen-tiny"), "", small_engine());
  GenerationOptions options = at_most(100);
  options.sampling.do_sample = true;
  options.sampling.temperature = 5;
  for (options.seed = 0; options.seed < 3; ++options.seed) {
    const auto output = (*pipeline)("the", options);
    for (const Token token : output.generations[0].tokens) CHECK(token < 288);
  }
}
