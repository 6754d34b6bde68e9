// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/attention_codes.hpp>

#include <algorithm>
#include <array>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <tulle/core/checked.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"
#include "unit/model/attention_elements.hpp"

using namespace tulle;
using detail::lane_multiple;
using testing::random_floats;

namespace {

constexpr std::size_t queries = detail::queries_at_once;

template <class Isa>
std::vector<std::int16_t> codes_of(const std::vector<float>& x, const float* factors, float& scale) {
  std::vector<std::int16_t> codes(x.size());
  scale = detail::to_codes(Isa{}, x.data(), factors, x.size(), codes.data());
  return codes;
}

/// Codes of 16 bits, the largest ones too.
std::vector<std::int16_t> random_codes(std::size_t count, std::uint32_t seed) {
  std::vector<std::int16_t> codes(count);
  const auto values = random_floats(count, seed);
  std::transform(values.begin(), values.end(), codes.begin(),
                 [](float value) { return static_cast<std::int16_t>(std::lround(value * 32767)); });
  std::fill_n(codes.begin(), count / 4, std::int16_t{32767});
  return codes;
}

}  // namespace

#if defined(TULLE_X86)

TEMPLATE_LIST_TEST_CASE("floats become codes of 16 bits, the same on every set", "[model][attention_codes]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  for (const std::size_t count : {16, 48, 64, 256}) {
    for (const float size : {0.0f, 1e-38f, 1e-30f, 1.0f, 1e30f}) {
      auto x = random_floats(count, 50);
      for (float& value : x) value *= size;
      const auto factors = random_floats(count, 51);
      for (const float* by : {static_cast<const float*>(nullptr), factors.data()}) {
        CAPTURE(count, size, by != nullptr);
        float scale = 0, wanted_scale = 0;
        const auto codes = codes_of<TestType>(x, by, scale);
        CHECK(codes == codes_of<isa::Scalar>(x, by, wanted_scale));
        CHECK(scale == wanted_scale);
        float largest = 0;
        for (std::size_t i = 0; i < count; ++i) {
          const float value = by == nullptr ? x[i] : x[i] * by[i];
          largest = std::max(largest, std::fabs(value));
          CHECK(std::fabs(static_cast<float>(codes[i]) * scale - value) <= std::max(0.51f * scale, 1e-33f));
        }
        CHECK(std::fabs(scale * 32767 - largest) <= 1e-6f * largest + 1e-40f);
      }
    }
    auto broken = random_floats(count, 52);
    for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      broken[count - 1] = value;
      float scale = 0;
      CHECK(codes_of<TestType>(broken, nullptr, scale) == std::vector<std::int16_t>(count));
      CHECK(std::isnan(scale));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("products of queries and keys, and of weights and values, are exact on every set",
                        "[model][attention_codes]", testing::InstructionSets) {
  testing::require_machine<TestType>();
  for (const std::size_t size : {1, 8, 16, 30, 48, 64, 80, 112, 256}) {
    for (const std::size_t count : {1, 2, 7, 8, 17, 33, 63, 64}) {
      auto rows = testing::elements<std::int8_t>(count * size, 53);  // keys, and values
      for (std::size_t i = 0; i < rows.size(); i += 5) rows[i] = 127;
      const std::size_t stride = round_up(size, lane_multiple), keys_padded = round_up(count, lane_multiple);
      auto query = random_codes(queries * stride, 54);
      for (std::size_t q = 0; q < queries; ++q) std::fill_n(&query[q * stride] + size, stride - size, std::int16_t{0});
      auto weights = random_codes(queries * attention_tile, 55);
      for (std::size_t q = 0; q < queries; ++q) {
        std::fill_n(&weights[q * attention_tile] + count, attention_tile - count, std::int16_t{0});
      }
      const std::vector<float> scales{0.5f, 1e-4f, 3, 0};
      std::vector<std::int16_t> keys(round_up(size, 2) * attention_tile), values(round_up(count, 2) * size);
      detail::pair_keys(TestType{}, rows.data(), count, size, keys.data());
      detail::pair_values(TestType{}, rows.data(), count, size, values.data());
      for (std::size_t number = 1; number <= queries; ++number) {
        CAPTURE(size, count, number);
        std::vector<float> scores(queries * keys_padded);
        float* outs[queries];
        for (std::size_t q = 0; q < queries; ++q) outs[q] = &scores[q * keys_padded];
        const detail::PairLanes lanes{keys.data(), (size + 1) / 2, keys_padded, attention_tile};
        detail::multiply_pairs(TestType{}, {query.data(), stride}, number, lanes, outs, {});
        auto out = random_floats(queries * size, 56);
        const auto before = out;
        for (std::size_t q = 0; q < queries; ++q) outs[q] = &out[q * size];
        const std::size_t whole = size / lane_multiple * lane_multiple;
        detail::multiply_pairs(TestType{}, {weights.data(), attention_tile, scales.data()}, number,
                               {values.data(), (count + 1) / 2, whole, size}, outs, {});
        bool exact = true, added = true;
        for (std::size_t q = 0; q < number; ++q) {
          for (std::size_t i = 0; i < count; ++i) {
            std::int64_t sum = 0;
            for (std::size_t d = 0; d < size; ++d) sum += std::int64_t{query[q * stride + d]} * rows[i * size + d];
            exact = exact && scores[q * keys_padded + i] == static_cast<float>(sum);
          }
          for (std::size_t d = 0; d < whole; ++d) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < count; ++i) {
              sum += std::int64_t{weights[q * attention_tile + i]} * rows[i * size + d];
            }
            const double product = static_cast<double>(scales[q]) * static_cast<float>(sum);
            const double error = out[q * size + d] - (product + before[q * size + d]);
            added = added && std::fabs(error) <= 2e-7 * (std::fabs(product) + 2);
          }
        }
        CHECK(exact);
        CHECK(added);
        CHECK(std::equal(out.data() + number * size, out.data() + out.size(), before.data() + number * size));
      }
    }
  }
}

#endif
