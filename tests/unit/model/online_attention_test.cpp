// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/online_attention.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("a sink takes its share of the softmax, however large the scores are", "[model][online_attention]") {
  constexpr std::size_t size = 16, count = 20;
  const auto query = testing::random_floats(size, 1, -3, 3), keys = testing::random_floats(count * size, 2),
             values = testing::random_floats(count * size, 3);
  for (const float sink : {-50.0f, 0.0f, 3.0f, 40.0f}) {
    std::vector<float> out(size);
    std::array<float, count + 8> weights{};
    OnlineAttention attention(query.data(), size, {.sink = sink}, out.data());
    for (std::size_t begin = 0; begin < count; begin += 10) {  // in two pieces
      attention.weigh(keys.data() + begin * size, nullptr, nullptr, 10, static_cast<Position>(count - 1 - begin),
                      weights.data());
      attention.add(weights.data(), values.data() + begin * size, 10);
    }
    attention.finish();
    double sum = std::exp(static_cast<double>(sink));
    std::vector<double> wanted(size);
    for (std::size_t i = 0; i < count; ++i) {
      double score = 0;
      for (std::size_t d = 0; d < size; ++d) score += static_cast<double>(query[d]) * keys[i * size + d];
      const double weight = std::exp(score / 4);
      sum += weight;
      for (std::size_t d = 0; d < size; ++d) wanted[d] += weight * values[i * size + d];
    }
    for (std::size_t d = 0; d < size; ++d) CHECK(std::fabs(out[d] - wanted[d] / sum) < 3e-6);
  }
}
