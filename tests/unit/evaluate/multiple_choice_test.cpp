// SPDX-License-Identifier: Apache-2.0
#include <tulle/evaluate/multiple_choice.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include <tulle/format/tokenizer_files.hpp>
#include <unit/format/file_builder.hpp>
#include <unit/generate/tiny_pipeline.hpp>

using namespace tulle;
using Catch::Approx;
using testing::small_engine;
using testing::tiny_engine;
using testing::tiny_tokenizer;
using Tokens = std::vector<Token>;

namespace {

/// The log-likelihood of tokens [first, size), out of the logits of all of them.
double log_likelihood(Engine& engine, const Tokens& tokens, std::size_t first) {
  const std::vector<float> logits = testing::prompt_logits(engine, tokens);
  const std::size_t vocabulary = logits.size() / tokens.size();
  double sum = 0;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    sum -= negative_log_likelihood(std::span(logits).subspan((i - 1) * vocabulary, vocabulary), tokens[i]);
  }
  return sum;
}

}  // namespace

TEST_CASE("a choice is scored by its own tokens behind the context", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  const auto tokenizer = tiny_tokenizer();
  const std::vector<ChoiceQuestion> questions{{"The quick brown", {"fox", "dog and cat", "\xC3\xA9t\xC3\xA9"}, 0},
                                              {"One and", {"two", "three"}, 1}};
  const MultipleChoiceResult result = evaluate_multiple_choice(*engine, *tokenizer, questions);
  REQUIRE(result.questions.size() == 2);
  std::size_t right = 0, right_per_letter = 0;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const ChoiceResult& actual = result.questions[i];
    const std::size_t first = tokenizer->encode(questions[i].context).size();
    std::vector<double> sums, per_letter;
    for (const std::string& choice : questions[i].choices) {
      sums.push_back(log_likelihood(*engine, tokenizer->encode(questions[i].context + " " + choice), first));
      const double letters = choice == "\xC3\xA9t\xC3\xA9" ? 3.0 : static_cast<double>(choice.size());
      per_letter.push_back(sums.back() / letters);
    }
    REQUIRE(actual.log_likelihoods.size() == sums.size());
    for (std::size_t j = 0; j < sums.size(); ++j) CHECK(actual.log_likelihoods[j] == Approx(sums[j]).epsilon(1e-9));
    const auto best = [](const std::vector<double>& v) {
      return static_cast<std::size_t>(std::max_element(v.begin(), v.end()) - v.begin());
    };
    CHECK(actual.chosen == best(sums));
    CHECK(actual.chosen_per_letter == best(per_letter));
    right += best(sums) == questions[i].answer;
    right_per_letter += best(per_letter) == questions[i].answer;
  }
  CHECK(result.accuracy.value == Approx(static_cast<double>(right) / 2));
  CHECK(result.accuracy_per_letter.value == Approx(static_cast<double>(right_per_letter) / 2));
  CHECK(engine->sequences().free() == engine->sequences().size());
}

TEST_CASE("white space between context and choice is there once", "[evaluate]") {
  const auto tokenizer = tiny_tokenizer();
  const Tokens expected = detail::choice_tokens(*tokenizer, "One and", "two").tokens;
  CHECK(expected == tokenizer->encode("One and two"));
  CHECK(detail::choice_tokens(*tokenizer, "One and ", "two").tokens == expected);
  CHECK(detail::choice_tokens(*tokenizer, "One and", " two").tokens == expected);
  CHECK(detail::choice_tokens(*tokenizer, "One and\n", "two").tokens == tokenizer->encode("One and\ntwo"));
  CHECK(detail::choice_tokens(*tokenizer, "One and ", "two").first_target == tokenizer->encode("One and").size());
}

TEST_CASE("BOS stands before a context where the tokenizer puts it, and where there is no context", "[evaluate]") {
  const auto llama = load_tokenizer(TULLE_GOLDEN "/tokenizers/llama2-style");
  const detail::ChoiceTokens with_bos = detail::choice_tokens(*llama, "One and", "two");
  CHECK(with_bos.tokens.front() == llama->encode("", {.add_special_tokens = true}).at(0));
  CHECK(with_bos.first_target == 1 + llama->encode("One and").size());
  const auto tokenizer = tiny_tokenizer();
  const detail::ChoiceTokens alone = detail::choice_tokens(*tokenizer, "", "two");
  CHECK(alone.first_target == 1);
  CHECK(alone.tokens.size() == 1 + tokenizer->encode("two").size());
}

TEST_CASE("a choice without tokens and a question that is too long are errors", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  const auto tokenizer = tiny_tokenizer();
  const auto code = [&](ChoiceQuestion question, const MultipleChoiceOptions& options = {}) {
    return test::error_of(
        [&] { (void)evaluate_multiple_choice(*engine, *tokenizer, std::span(&question, 1), options); });
  };
  CHECK(code({"One", {"two", ""}, 0}) == ErrorCode::invalid_argument);
  CHECK(code({std::string(2000, 'x'), {"two", "three"}, 0}) == ErrorCode::capacity);
  const std::atomic<bool> cancel = true;
  MultipleChoiceOptions options;
  options.cancel = &cancel;
  CHECK(code({"One and", {"two", "three"}, 0}, options) == ErrorCode::cancelled);
}
