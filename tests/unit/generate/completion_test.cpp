// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/completion.hpp>

#include <catch2/catch_all.hpp>
#include <stdexcept>
#include <string>
#include <tulle/format/tokenizer_files.hpp>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;
using testing::tiny_tokenizer;

namespace {

std::vector<Token> tokens() {
  return tiny_tokenizer()->encode("the answer");
}

void accept_all(Completion& completion, FinishReason reason = FinishReason::length) {
  const auto ids = tokens();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    completion.accept({0, ids[i], i + 1 == ids.size() ? reason : FinishReason::none, -0.5f});
  }
}

std::string read(Completion& completion) {
  std::string text;
  while (completion.has_piece()) text += completion.take().text;
  return text;
}

}  // namespace

TEST_CASE("the pieces of a completion are the text of its tokens", "[generate][completion]") {
  GenerationOptions options;
  options.log_probabilities = true;
  Completion completion(*tiny_tokenizer(), 3, 5, options);
  CHECK_FALSE(completion.begun());
  CHECK_FALSE(completion.has_piece());
  accept_all(completion);
  CHECK(completion.finished());
  CHECK(completion.tokens() == tokens().size());
  completion.accept({0, 5, FinishReason::none, 0});  // too late
  const std::string text = read(completion);
  CHECK(text == tiny_tokenizer()->decode(tokens(), true));
  const GeneratedText result = completion.take_result();
  CHECK(result.text == text);
  CHECK(result.tokens == tokens());
  CHECK(result.log_probabilities == std::vector<float>(tokens().size(), -0.5f));
  CHECK(result.finish_reason == FinishReason::length);
  CHECK(result.prompt_tokens == 5);
}

TEST_CASE("the text goes on where the prompt ends, or stands alone", "[generate][completion]") {
  const auto tokenizer = load_tokenizer(TULLE_GOLDEN "/tokenizers/spm-bpe");  // a word of it brings its space along
  const std::vector<Token> ids = tokenizer->encode("hello the");
  const auto text_of = [&](bool continues, const GenerationOptions& options) {
    Completion completion(*tokenizer, 0, 5, options, continues);
    for (const Token id : ids) completion.accept({0, id, FinishReason::none, 0});
    return read(completion);
  };
  GenerationOptions options;
  CHECK(text_of(true, options) == " hello the");
  CHECK(text_of(false, options) == "hello the");
  options.begins_text = true;
  CHECK(text_of(true, options) == "hello the");
}

TEST_CASE("a completion ends before a stop string", "[generate][completion]") {
  GenerationOptions options;
  options.stop = {"answ"};
  Completion completion(*tiny_tokenizer(), 0, 5, options);
  accept_all(completion);
  CHECK(read(completion) == tiny_tokenizer()->decode(tokens(), true).substr(0, 4));
  CHECK(completion.take_result().finish_reason == FinishReason::stop);
  options.stop = {""};
  CHECK(test::error_of([&] { Completion(*tiny_tokenizer(), 0, 5, options); }) == ErrorCode::invalid_argument);
}

TEST_CASE("a completion that is finished early holds what was read", "[generate][completion]") {
  GenerationOptions options;
  options.return_logits = true;
  Completion completion(*tiny_tokenizer(), 0, 2, options);
  const std::vector<float> row{1, 2, 3};
  completion.observe(0, row);
  completion.observe(1, row);
  completion.accept({0, 5, FinishReason::none, 0});
  completion.observe(1, row);  // a second time
  for (Position position = 2; position < 5; ++position) {
    completion.observe(position, row);
    completion.accept({0, 6, FinishReason::none, 0});
  }
  (void)completion.take();
  (void)completion.take();
  completion.finish(FinishReason::callback);
  CHECK_FALSE(completion.has_piece());
  CHECK(completion.tokens() == 2);
  const GeneratedText result = completion.take_result();
  CHECK(result.tokens == std::vector<Token>{5, 6});
  CHECK(result.finish_reason == FinishReason::callback);
  CHECK(result.logits.rows == 3);
}

TEST_CASE("what goes wrong while a completion is filled is thrown when it is read", "[generate][completion]") {
  GenerationOptions options;
  options.observe_logits = [](std::size_t number, Position, std::span<const float>) {
    if (number == 1) throw std::runtime_error("enough");
  };
  Completion completion(*tiny_tokenizer(), 1, 2, options);
  completion.accept({0, 5, FinishReason::none, 0});
  completion.observe(2, std::vector<float>{1, 2});
  CHECK(completion.finished());
  CHECK(completion.take().token == 5);
  CHECK(completion.has_piece());
  CHECK_THROWS_AS(completion.take(), std::runtime_error);
  CHECK_FALSE(completion.has_piece());
}
