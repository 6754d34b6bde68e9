// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/attention_block.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tulle/model/attention_loop.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"
#include "unit/model/attention_elements.hpp"

using namespace tulle;
using testing::random_floats;

namespace {

constexpr std::size_t queries = detail::queries_at_once;
using Weights = std::array<detail::PieceWeights, queries>;

using Cases = testing::EveryElement<testing::InstructionSets>::type;

}  // namespace

TEMPLATE_LIST_TEST_CASE("several queries by a block of keys and values have the bits of one after the other",
                        "[model][attention_block]", Cases) {
  using Isa = typename TestType::first_type;
  using Element = typename TestType::second_type;
  testing::require_machine<Isa>();
  if constexpr (detail::score_lanes<Isa> != 0) {
    constexpr std::size_t lanes = detail::score_lanes<Isa>;
    for (const std::size_t size : {8, 40, 64, 80, 176, 256}) {
      const auto query = random_floats(queries * size, 42);
      std::vector<float> ordered(query.size());
      for (std::size_t d = 0; d < size; ++d) {
        const std::size_t place = d % lanes * (size / lanes) + d / lanes;
        for (std::size_t q = 0; q < queries; ++q) ordered[place * queries + q] = query[q * size + d];
      }
      for (const std::size_t count : {1, 3, 8, 15, 17, 33, 63, 64}) {
        CAPTURE(size, count);
        const auto rows = testing::elements<Element>(count * size, 41);  // keys, and values
        std::vector<float> columns(size * attention_tile);
        detail::keys_to_columns(Isa{}, rows.data(), count, size, columns.data());
        Weights together{}, apart{};
        detail::score_block(Isa{}, ordered.data(), columns.data(), count, size, together[0].data());
        auto out = random_floats(queries * size, 43);
        auto wanted = out;
        float* outs[queries];
        std::vector<float> values(rows.size());
        detail::to_floats(Isa{}, rows.data(), rows.size(), values.data());
        bool same = true;
        for (std::size_t q = 0; q < queries; ++q) {
          outs[q] = out.data() + q * size;
          detail::score_keys(Isa{}, query.data() + q * size, rows.data(), count, size, apart[q].data());
          for (std::size_t i = 0; i < count; ++i) same = same && together[q][i] == apart[q][i];
          detail::add_values(Isa{}, apart[q].data(), rows.data(), count, size, wanted.data() + q * size);
        }
        CHECK(same);
        detail::add_block(Isa{}, together[0].data(), values.data(), count, size, outs);
        CHECK(out == wanted);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("exponentials of several queries have the bits of one after the other",
                        "[model][attention_block]", testing::InstructionSets) {
  testing::require_machine<TestType>();
  Weights together{};
  for (std::size_t q = 0; q < queries; ++q) {
    const auto scores = random_floats(attention_tile, static_cast<std::uint32_t>(44 + q), -90, 4);
    std::copy(scores.begin(), scores.end(), together[q].begin());
  }
  together[1][5] = std::numeric_limits<float>::quiet_NaN();
  Weights apart = together;
  const std::array<float, queries> maximums{4, 5, 6.5f, 4.25f};
  std::array<float, queries> sums{};
  detail::exponentials_block(TestType{}, together[0].data(), maximums.data(), sums.data());
  for (std::size_t q = 0; q < queries; ++q) {
    const float sum = detail::exponentials(TestType{}, apart[q].data(), attention_tile, maximums[q]);
    CHECK((sum == sums[q] || q == 1));
    for (std::size_t i = 0; i < attention_tile; ++i) CHECK((together[q][i] == apart[q][i] || (q == 1 && i == 5)));
  }
  CHECK(std::isnan(sums[1]));
}
