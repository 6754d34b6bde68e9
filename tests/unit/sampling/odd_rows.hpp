// SPDX-License-Identifier: Apache-2.0
/// \file Rows of logits of many sizes and shapes, likely and unlikely ones, for comparing with a plain reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tulle/core/rng.hpp>

#include "unit/sampling/special_floats.hpp"

struct OddRow {
  std::string name;
  std::vector<float> logits;
};

/// The sum of 12 uniform numbers has about a normal distribution.
inline std::vector<float> random_row(std::size_t size, float scale) {
  std::vector<float> row(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    double sum = -6;
    for (std::uint32_t j = 0; j < 12; ++j) sum += tulle::uniform(size, j, i);
    row[i] = static_cast<float>(sum) * scale;
  }
  return row;
}

inline std::vector<OddRow> odd_rows() {
  std::vector<OddRow> rows;
  for (const std::size_t size : {1u, 2u, 63u, 64u, 65u, 1000u, 3001u, 7000u}) {
    const auto add = [&](const char* name, std::vector<float> logits) {
      rows.push_back({name + (" " + std::to_string(size)), std::move(logits)});
    };
    const std::vector<float> random = random_row(size, 3);
    const auto changed = [&](auto change) {
      std::vector<float> row = random;
      for (std::size_t i = 0; i < size; ++i) change(row[i], i);
      return row;
    };
    for (const float scale : {0.01f, 0.3f, 1.0f, 30.0f, 1e30f}) {
      add("random", changed([scale](float& logit, std::size_t) { logit *= scale; }));
    }
    std::vector<float> sorted = random;
    std::sort(sorted.begin(), sorted.end());
    add("ascending", sorted);
    std::reverse(sorted.begin(), sorted.end());
    add("descending", sorted);
    add("equal", std::vector<float>(size, -1.5f));
    add("zeros of both signs", changed([](float& logit, std::size_t i) { logit = i % 2 == 0 ? 0.0f : -0.0f; }));
    add("ties", changed([](float& logit, std::size_t) { logit = std::round(logit * 2) / 2; }));
    add("two values", changed([](float& logit, std::size_t i) { logit = i % 3 == 0 ? 2.0f : 1.0f; }));
    add("next to each other",
        changed([](float& logit, std::size_t i) { logit = 1 + static_cast<float>(i % 5) * 0x1p-23f; }));
    add("smaller than normal", changed([](float& logit, std::size_t) { logit *= 1e-40f; }));
    add("far from 0", changed([](float& logit, std::size_t) { logit += 1e6f; }));
    add("mostly banned", changed([](float& logit, std::size_t i) {
          if (i % 97 != 0) logit = -inf;
        }));
    add("some not numbers", changed([](float& logit, std::size_t i) {
          if (i % 10 == 1) logit = not_a_number;
        }));
    add("some infinite", changed([](float& logit, std::size_t i) {
          if (i % 50 == 1) logit = inf;
        }));
    add("the largest finite ones", changed([](float& logit, std::size_t i) { logit = i % 2 == 0 ? 3e38f : -3e38f; }));
    add("all banned", std::vector<float>(size, -inf));
    add("no numbers", std::vector<float>(size, not_a_number));
  }
  return rows;
}

/// The same floats, -0 and 0 apart, any NaN equal to any other.
inline bool same_floats(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  });
}
