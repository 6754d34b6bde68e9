// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/sampling_options.hpp>

#include <cmath>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("default options are valid, greedy and change nothing", "[sampling][options]") {
  const SamplingOptions options;
  CHECK_NOTHROW(options.validate());
  CHECK(options.greedy());
}

TEST_CASE("temperature 0 is greedy also when sampling is on", "[sampling][options]") {
  SamplingOptions options;
  options.do_sample = true;
  CHECK_FALSE(options.greedy());
  options.temperature = 0;
  CHECK(options.greedy());
  CHECK_NOTHROW(options.validate());
  options.temperature = 1e-20f;
  CHECK(options.greedy());
  CHECK_NOTHROW(options.validate());
}

TEST_CASE("every option out of its range is refused by name", "[sampling][options]") {
  const auto message = [](auto change) {
    SamplingOptions options;
    change(options);
    try {
      options.validate();
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  using Catch::Matchers::StartsWith;
  CHECK_THAT(message([](auto& o) { o.temperature = -0.5f; }), StartsWith("temperature"));
  CHECK_THAT(message([](auto& o) { o.temperature = std::nanf(""); }), StartsWith("temperature"));
  CHECK_THAT(message([](auto& o) { o.top_k = -1; }), StartsWith("top_k"));
  CHECK_THAT(message([](auto& o) { o.top_p = 1.5f; }), StartsWith("top_p"));
  CHECK_THAT(message([](auto& o) { o.min_p = -1; }), StartsWith("min_p"));
  CHECK_THAT(message([](auto& o) { o.typical_p = 0; }), StartsWith("typical_p"));
  CHECK_THAT(message([](auto& o) { o.repetition_penalty = 0; }), StartsWith("repetition_penalty"));
  CHECK_THAT(message([](auto& o) { o.presence_penalty = std::nanf(""); }), StartsWith("presence_penalty"));
  CHECK_THAT(message([](auto& o) { o.frequency_penalty = std::nanf(""); }), StartsWith("frequency_penalty"));
  CHECK_THAT(message([](auto& o) { o.no_repeat_ngram = -1; }), StartsWith("no_repeat_ngram"));
  CHECK_THAT(message([](auto& o) { o.min_new_tokens = -1; }), StartsWith("min_new_tokens"));
  CHECK_THAT(message([](auto& o) { o.eos = {3, -1}; }), StartsWith("an eos token"));
}

TEST_CASE("an order is found by its name", "[sampling][options]") {
  CHECK(sampler_order("hugging_face") == SamplerOrder::hugging_face);
  CHECK(sampler_order("llama_cpp") == SamplerOrder::llama_cpp);
  CHECK_THROWS_WITH(sampler_order("random"), Catch::Matchers::ContainsSubstring("hugging_face"));
}
