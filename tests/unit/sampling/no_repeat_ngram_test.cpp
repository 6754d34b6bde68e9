// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/no_repeat_ngram.hpp>

#include <catch2/catch_all.hpp>

#include "unit/sampling/golden.hpp"

using namespace tulle;
using tulle::golden::applied;
using tulle::golden::kept;

namespace {

std::set<Token> left(int n, const std::vector<Token>& history) {
  SamplingContext context;
  context.history = history;
  return kept(applied(NoRepeatNgram(n), std::vector<float>(5, 0.0f), context));
}

}  // namespace

TEST_CASE("no-repeat-ngram gives the scores of transformers", "[sampling][no_repeat_ngram]") {
  golden::check_transform<int>("no_repeat_ngram", [](int value) { return NoRepeatNgram(value); });
}

TEST_CASE("no-repeat-ngram bans what followed the last tokens before", "[sampling][no_repeat_ngram]") {
  CHECK(left(2, {1, 2, 3, 1}) == std::set<Token>{0, 1, 3, 4});
  CHECK(left(2, {1, 2, 1, 3, 1}) == std::set<Token>{0, 1, 4});
  CHECK(left(3, {1, 2, 3, 4, 1, 2}) == std::set<Token>{0, 1, 2, 4});
  CHECK(left(2, {1, 1}) == std::set<Token>{0, 2, 3, 4});
  CHECK(left(1, {1, 3}) == std::set<Token>{0, 2, 4});
}

TEST_CASE("no-repeat-ngram bans nothing before there is an n-gram or when off", "[sampling][no_repeat_ngram]") {
  CHECK(left(3, {1, 1}).size() == 5);
  CHECK(left(1, {}).size() == 5);
  CHECK(left(4, {}).size() == 5);
  CHECK(left(0, {1, 1, 1}).size() == 5);
}

TEST_CASE("no-repeat-ngram passes over ids outside the vocabulary", "[sampling][no_repeat_ngram]") {
  CHECK(left(2, {1, 77, 1, -3, 1}).size() == 5);
}

TEST_CASE("no-repeat-ngram refuses a negative length", "[sampling][no_repeat_ngram]") {
  CHECK_THROWS_AS(NoRepeatNgram(-2), Error);
}
