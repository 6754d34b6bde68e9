// SPDX-License-Identifier: Apache-2.0
/// \file Reads tests/golden/sampling.json: what transformers' logits processors give. Made by make_sampling.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/json.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle::golden {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

struct Case {
  std::string name;           // row, history and options, for messages
  std::vector<float> logits;  // before
  std::vector<float> scores;  // after
  std::vector<Token> history;
  std::size_t prompt_length = 0;
  Json options;
  Token token = -1;  // of greedy cases

  SamplingContext context() const {
    SamplingContext result;
    result.history = history;
    result.prompt_length = prompt_length;
    return result;
  }

  /// Whether `option` is all there is beside do_sample = true.
  bool only(const std::string& option) const {
    return options.at("do_sample") == true && options.size() == 2 && options.contains(option);
  }
};

inline std::vector<float> row(const Json& numbers) {
  std::vector<float> result;
  for (const Json& number : numbers) result.push_back(number.is_null() ? minus_infinity : number.get<float>());
  return result;
}

inline const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::ifstream file(TULLE_GOLDEN "/sampling.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Json json = parse_json(text, "sampling.json");
    std::vector<Case> result;
    for (const Json& entry : json.at("cases")) {
      const Json& history = json.at("histories").at(entry.at("history").get<std::string>());
      Case one;
      for (const char* key : {"row", "history", "options"}) one.name += entry.at(key).dump() + " ";
      one.logits = row(json.at("rows").at(entry.at("row").get<std::string>()));
      one.scores = row(entry.at("scores"));
      one.history = history.at("tokens").get<std::vector<Token>>();
      one.prompt_length = history.at("prompt_length").get<std::size_t>();
      one.options = entry.at("options");
      one.token = entry.value("token", Token{-1});
      result.push_back(std::move(one));
    }
    return result;
  }();
  return all;
}

/// The same bans, and scores within 1e-6 of their size.
inline void check_scores(const std::vector<float>& actual, const std::vector<float>& expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t id = 0; id < actual.size(); ++id) {
    INFO("token " << id << ": " << actual[id] << ", transformers " << expected[id]);
    REQUIRE((actual[id] == minus_infinity) == (expected[id] == minus_infinity));
    if (expected[id] != minus_infinity) {
      REQUIRE(std::abs(actual[id] - expected[id]) <= 1e-6f * std::max(1.0f, std::abs(expected[id])));
    }
  }
}

/// Runs `make(value)` on every case that sets only `option`.
template <class Value, class Make>
void check_transform(const std::string& option, Make make) {
  std::size_t count = 0;
  for (const Case& one : cases()) {
    if (!one.only(option)) continue;
    INFO(one.name);
    std::vector<float> logits = one.logits;
    make(one.options.at(option).get<Value>()).apply(logits, one.context());
    check_scores(logits, one.scores);
    ++count;
  }
  CHECK(count >= 8);
}

/// The ids that are not banned.
inline std::set<Token> kept(const std::vector<float>& logits) {
  std::set<Token> ids;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] != minus_infinity) ids.insert(static_cast<Token>(id));
  }
  return ids;
}

/// What a transform without history makes of a row.
template <class Transform>
std::vector<float> applied(const Transform& transform, std::vector<float> logits, const SamplingContext& context = {}) {
  transform.apply(logits, context);
  return logits;
}

}  // namespace tulle::golden
