// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/sequence.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

using namespace tulle;

TEST_CASE("log_probability is the log softmax of the raw logits", "[generate][sequence]") {
  const std::vector<float> logits{1.0f, 2.0f, 3.0f, -1000.0f};
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  for (Token token = 0; token < 3; ++token) {
    CHECK(log_probability(logits, token) == Catch::Approx(token + 1.0 - std::log(sum)).epsilon(1e-6));
  }
  CHECK(log_probability(logits, 3) == Catch::Approx(-1000 - std::log(sum)));
}

TEST_CASE("log_probability does not overflow for large logits", "[generate][sequence]") {
  const std::vector<float> logits{3e38f, 3e38f};
  CHECK(log_probability(logits, 1) == Catch::Approx(-std::log(2.0)));
}

TEST_CASE("every finish reason has a name of its own", "[generate][sequence]") {
  std::set<std::string_view> names;
  for (const FinishReason reason : {FinishReason::none, FinishReason::stop, FinishReason::length,
                                    FinishReason::capacity, FinishReason::callback, FinishReason::cancelled}) {
    names.insert(finish_reason_name(reason));
  }
  CHECK(names.size() == 6);
  CHECK(finish_reason_name(FinishReason::length) == "length");
}
