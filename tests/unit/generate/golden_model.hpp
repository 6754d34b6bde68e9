// SPDX-License-Identifier: Apache-2.0
/// \file What transformers makes of the golden models (tests/golden/README.md).
#pragma once

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/core/mapped_file.hpp>
#include <tulle/core/types.hpp>

namespace tulle::testing {

inline Json golden_json(const std::string& name) {
  const std::string path = TULLE_GOLDEN "/" + name;
  return parse_json(MappedFile(path).text(), path);
}

/// A float32 matrix in NumPy's format 1.0: u16 length of the header at byte 8, header, values.
inline std::vector<float> golden_floats(const std::string& name) {
  const MappedFile file(TULLE_GOLDEN "/" + name);
  const auto bytes = file.bytes();
  REQUIRE(bytes.size() > 10);
  const std::size_t begin = 10 + std::to_integer<std::size_t>(bytes[8]) + 256 * std::to_integer<std::size_t>(bytes[9]);
  REQUIRE(begin <= bytes.size());
  std::vector<float> values((bytes.size() - begin) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
  return values;
}

/// One of families.json, which also makes MODELS.md: a family's golden models in directories and in GGUF files.
struct GoldenFamily {
  std::string name;
  std::vector<std::string> directories, gguf;
};
inline std::vector<GoldenFamily> golden_families() {
  std::vector<GoldenFamily> families;
  for (const Json& entry : golden_json("families.json")) {
    GoldenFamily& family = families.emplace_back(GoldenFamily{entry.at("family"), entry.at("directories"), {}});
    for (const Json& name : entry.at("gguf")) family.gguf.push_back("gguf/" + name.get<std::string>() + ".gguf");
  }
  return families;
}

struct GoldenModel {
  /// "llama-tiny-gqa" or "gguf/q8_0.gguf".
  explicit GoldenModel(const std::string& model_name) : name(model_name) {
    const std::string stem =
        name.ends_with(".gguf") ? "models/" + name.substr(0, name.size() - 4) : "models/" + name + "/";
    facts = golden_json(stem + "golden.json");
    tokens = facts["tokens"].get<std::vector<Token>>();
    greedy = facts["greedy"].get<std::vector<Token>>();
    prompt = {tokens.begin(), tokens.begin() + facts["greedy_prompt_tokens"].get<std::ptrdiff_t>()};
    logits = golden_floats(stem + "logits.npy");
    REQUIRE(logits.size() % tokens.size() == 0);
    vocabulary = logits.size() / tokens.size();
  }

  std::string name;
  Json facts;
  std::vector<Token> tokens, prompt, greedy;
  std::vector<float> logits;  // [tokens, vocabulary]
  std::size_t vocabulary = 0;
};

inline double range_of(std::span<const float> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return static_cast<double>(*high) - *low;
}

inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - b[i]);
    if (!(difference <= largest)) largest = difference;  // also takes a NaN
  }
  return largest;
}

/// Root mean square of a - b over that of b.
inline double relative_difference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  double difference = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    squares += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / squares);
}

}  // namespace tulle::testing
