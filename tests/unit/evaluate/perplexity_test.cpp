// SPDX-License-Identifier: Apache-2.0
#include <tulle/evaluate/perplexity.hpp>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <unit/format/file_builder.hpp>
#include <unit/generate/tiny_pipeline.hpp>
#include <vector>

using namespace tulle;
using Catch::Approx;
using testing::small_engine;
using testing::tiny_engine;
using Tokens = std::vector<Token>;

namespace {

Tokens some_tokens(std::size_t count, std::size_t seed) {
  Tokens tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<Token>((i * i * 7 + i * 37 + seed) % 288));
  return tokens;
}

std::vector<Tokens> three_sequences() {
  return {some_tokens(40, 1), some_tokens(24, 2), some_tokens(33, 3)};
}

/// log softmax of every row of logits [tokens, vocabulary], in double.
std::vector<std::vector<double>> log_probabilities(Engine& engine, const Tokens& tokens) {
  const std::vector<float> logits = testing::prompt_logits(engine, tokens);
  const std::size_t vocabulary = logits.size() / tokens.size();
  std::vector<std::vector<double>> rows;
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const auto values = std::span(logits).subspan(row * vocabulary, vocabulary);
    double sum = 0;
    for (const float value : values) sum += std::exp(static_cast<double>(value));
    auto& result = rows.emplace_back();
    for (const float value : values) result.push_back(static_cast<double>(value) - std::log(sum));
  }
  return rows;
}

/// Negative log-likelihoods of tokens [1, size).
std::vector<double> losses(Engine& engine, const Tokens& tokens) {
  const auto rows = log_probabilities(engine, tokens);
  std::vector<double> result;
  for (std::size_t i = 1; i < tokens.size(); ++i) result.push_back(-rows[i - 1][static_cast<std::size_t>(tokens[i])]);
  return result;
}

double sum(std::span<const double> values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

}  // namespace

TEST_CASE("perplexity is exp of the mean over all scored tokens", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  const auto sequences = three_sequences();
  double total = 0;
  for (const Tokens& each : sequences) total += sum(losses(*engine, each));
  const PerplexityResult result = evaluate_perplexity(*engine, sequences);
  CHECK(result.tokens == 39 + 23 + 32);
  CHECK(result.mean_nll.value == Approx(total / 94).epsilon(1e-7));
  CHECK(result.perplexity.value == Approx(std::exp(total / 94)).epsilon(1e-6));
  CHECK(result.perplexity.standard_error == Approx(result.perplexity.value * result.mean_nll.standard_error));
  REQUIRE(result.windows.size() == 3);
  CHECK(result.windows[1].nll == Approx(sum(losses(*engine, sequences[1]))).epsilon(1e-7));
  CHECK_FALSE(result.comparison);
  CHECK(engine->sequences().free() == engine->sequences().size());
}

TEST_CASE("the error of a perplexity comes from the spread of the windows", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  const std::vector<Tokens> sequences{some_tokens(30, 1), some_tokens(30, 2), some_tokens(30, 5)};
  std::vector<double> means;
  for (const Tokens& each : sequences) means.push_back(sum(losses(*engine, each)) / 29);
  const double mean = sum(means) / 3;
  double squares = 0;
  for (const double each : means) squares += (each - mean) * (each - mean);
  const PerplexityResult result = evaluate_perplexity(*engine, sequences);
  CHECK(result.mean_nll.standard_error == Approx(std::sqrt(squares / 2 / 3)).epsilon(1e-4));
}

TEST_CASE("neither chunk nor threads change a result", "[evaluate]") {
  const auto engine = tiny_engine("gguf/q4_0.gguf", small_engine());
  const double expected = evaluate_perplexity(*engine, three_sequences()).mean_nll.value;
  EngineOptions other = small_engine();
  other.prefill_chunk = 7;
  other.threads = 2;
  CHECK(evaluate_perplexity(*tiny_engine("gguf/q4_0.gguf", other), three_sequences()).mean_nll.value == expected);
}

TEST_CASE("context is read and not scored, and weights are kept", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  const Tokens a = some_tokens(40, 1), b = some_tokens(30, 2);
  const std::vector<double> of_a = losses(*engine, a), of_b = losses(*engine, b);
  EvaluationWindows windows;
  windows.windows = {{a, 21, 0}, {b, 1, 7}};
  const PerplexityResult result = evaluate_perplexity(*engine, windows);
  CHECK(result.tokens == 19 + 29);
  const double mean_a = sum(std::span(of_a).subspan(20)) / 19, mean_b = sum(of_b) / 29;
  CHECK(result.mean_nll.value == Approx((19 * mean_a + 7 * mean_b) / 26).epsilon(1e-7));
}

TEST_CASE("samples have a perplexity each, of which the mean is taken", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  EvaluationWindows windows = whole_windows(three_sequences());
  windows.averaging = Averaging::samples;
  double mean = 0;
  for (const Tokens& each : three_sequences()) {
    mean += std::exp(sum(losses(*engine, each)) / static_cast<double>(each.size() - 1)) / 3;
  }
  CHECK(evaluate_perplexity(*engine, windows).perplexity.value == Approx(mean).epsilon(1e-6));
}

TEST_CASE("over tokens the error is llama.cpp's", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  EvaluationWindows windows = whole_windows(three_sequences());
  windows.averaging = Averaging::tokens;
  std::vector<double> all;
  for (const Tokens& each : three_sequences()) {
    const std::vector<double> more = losses(*engine, each);
    all.insert(all.end(), more.begin(), more.end());
  }
  const double count = static_cast<double>(all.size()), mean = sum(all) / count;
  double squares = 0;
  for (const double each : all) squares += each * each;
  const double error = std::sqrt((squares / count - mean * mean) / (count - 1));
  const PerplexityResult result = evaluate_perplexity(*engine, windows);
  CHECK(result.mean_nll.standard_error == Approx(error).epsilon(1e-5));
  CHECK(result.perplexity.value == Approx(std::exp(mean)).epsilon(1e-6));
}

TEST_CASE("a model is compared with its reference row by row", "[evaluate]") {
  const auto dense = tiny_engine("gguf/f32.gguf", small_engine()),
             model = tiny_engine("gguf/q4_0.gguf", small_engine());
  double kl = 0, difference = 0, same = 0, count = 0;
  for (const Tokens& each : three_sequences()) {
    const auto p = log_probabilities(*dense, each), q = log_probabilities(*model, each);
    for (std::size_t row = 0; row + 1 < each.size(); ++row) {
      for (std::size_t i = 0; i < p[row].size(); ++i) kl += std::exp(p[row][i]) * (p[row][i] - q[row][i]);
      const auto target = static_cast<std::size_t>(each[row + 1]);
      difference += p[row][target] - q[row][target];
      same += std::max_element(p[row].begin(), p[row].end()) - p[row].begin() ==
              std::max_element(q[row].begin(), q[row].end()) - q[row].begin();
      ++count;
    }
  }
  PerplexityOptions options;
  options.reference = dense.get();
  const PerplexityResult result = evaluate_perplexity(*model, three_sequences(), options);
  REQUIRE(result.comparison);
  const Comparison& beside = result.comparison.value();
  CHECK(beside.kl.value == Approx(kl / count).epsilon(1e-4));
  CHECK(beside.kl.standard_error > 0);
  CHECK(beside.same_top.value == Approx(same / count));
  CHECK(beside.perplexity_ratio.value == Approx(std::exp(difference / count)).epsilon(1e-6));
  CHECK(beside.reference_perplexity.value ==
        Approx(evaluate_perplexity(*dense, three_sequences()).perplexity.value).epsilon(1e-9));
  CHECK(result.perplexity.value ==
        Approx(evaluate_perplexity(*model, three_sequences()).perplexity.value).epsilon(1e-9));
}

TEST_CASE("a model is as far from itself as nothing", "[evaluate]") {
  const auto model = tiny_engine("gguf/q4_0.gguf", small_engine()),
             same = tiny_engine("gguf/q4_0.gguf", small_engine());
  PerplexityOptions options;
  options.reference = same.get();
  const Comparison beside = evaluate_perplexity(*model, {some_tokens(128, 4)}, options).comparison.value();
  CHECK(beside.kl.value == 0);
  CHECK(beside.same_top.value == 1);
  CHECK(beside.perplexity_ratio.value == 1);
}

TEST_CASE("what cannot be scored is an error", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  const auto code = [&](std::vector<Tokens> sequences, const PerplexityOptions& options = {}) {
    return test::error_of([&] { (void)evaluate_perplexity(*engine, std::move(sequences), options); });
  };
  CHECK(code({}) == ErrorCode::invalid_argument);
  CHECK(code({{5}, {}}) == ErrorCode::invalid_argument);
  CHECK(code({some_tokens(200, 1)}) == ErrorCode::capacity);
  CHECK(code({{1, 400, 2}}) == ErrorCode::invalid_argument);
  PerplexityOptions options;
  options.reference = engine.get();
  CHECK(code({{1, 2}}, options) == ErrorCode::invalid_argument);
  const auto other = tiny_engine("codegen-tiny", small_engine());
  options.reference = other.get();
  CHECK(code({{1, 2}}, options) == ErrorCode::invalid_argument);
  const std::atomic<bool> cancel = true;
  options.reference = nullptr;
  options.cancel = &cancel;
  CHECK(code({{1, 2, 3}}, options) == ErrorCode::cancelled);
}

TEST_CASE("progress goes from window to window", "[evaluate]") {
  const auto engine = tiny_engine("gguf/f32.gguf", small_engine());
  std::vector<double> fractions;
  PerplexityOptions options;
  options.progress = [&](std::string_view, double fraction) { fractions.push_back(fraction); };
  (void)evaluate_perplexity(*engine, {{1, 2}, {3, 4}}, options);
  CHECK(fractions == std::vector<double>{0, 0.5});
}
