// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/self_attention.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/kernel/dense/dense_float.hpp>

#include "unit/model/random_model.hpp"

using namespace tulle;

namespace {

/// Causal attention of unrotated queries over all rows before, in double.
std::vector<double> attended(const Architecture& model, const std::vector<float>& rows, std::size_t row,
                             std::size_t head) {
  const std::size_t d = model.head_dim, width = model.qkv_rows(), kv = head / (model.heads / model.kv_heads);
  const float* query = rows.data() + row * width + head * d;
  std::vector<double> scores, out(d);
  double sum = 0;
  for (std::size_t past = 0; past <= row; ++past) {
    const float* key = rows.data() + past * width + model.query_rows() + kv * d;
    double score = 0;
    for (std::size_t i = 0; i < d; ++i) score += static_cast<double>(query[i]) * key[i];
    scores.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
    sum += scores.back();
  }
  for (std::size_t past = 0; past <= row; ++past) {
    const float* value = rows.data() + past * width + model.query_rows() + model.kv_rows() + kv * d;
    for (std::size_t i = 0; i < d; ++i) out[i] += scores[past] / sum * value[i];
  }
  return out;
}

}  // namespace

TEST_CASE("every row attends to its sequence's keys, after clipping", "[model][self_attention]") {
  Architecture model = describe_model(testing::llama_config(), "config.json");
  for (Rotary& rotary : model.rotary_tables) {
    std::fill(rotary.inverse_frequencies.begin(), rotary.inverse_frequencies.end(), 0.0f);  // no rotation
  }
  constexpr std::size_t count = 11;
  std::vector<float> values = testing::random_floats(count * model.qkv_rows(), 5, -2, 2);
  for (const float limit : {0.0f, 0.7f}) {
    model.qkv_clip = limit;
    ThreadPool pool(2);
    SelfAttention attention(model, pool, count);
    CHECK(attention.size_bytes() >= count * (model.qkv_rows() + model.query_rows()) * sizeof(float));
    std::copy(values.begin(), values.end(), attention.query_key_value(count).data);
    ContiguousCache<float> cache(cache_shape(model), 1, 32);
    constexpr SequenceId sequence = 0;
    REQUIRE(cache.extend(sequence, count));
    std::vector<Row> rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back({sequence, static_cast<Position>(i), 1, false});
    attention.place(rows);
    for (std::size_t i = 0; i < count; ++i) attention.find_angles(i, rows[i].position);
    attention.attend(model.layers[0], LayerWeights<DenseF32>(), rows, cache, 0);
    std::vector<float> clipped = values;
    if (limit != 0) {
      for (float& value : clipped) value = std::clamp(value, -limit, limit);
    }
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t head = 0; head < model.heads; ++head) {
        const std::vector<double> wanted = attended(model, clipped, row, head);
        for (std::size_t i = 0; i < model.head_dim; ++i) {
          CHECK(attention.attended(count)[row][head * model.head_dim + i] == Catch::Approx(wanted[i]).margin(1e-4));
        }
      }
    }
  }
}
