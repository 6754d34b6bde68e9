// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/weight_source.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <numeric>
#include <vector>

#include "unit/tensor/memory_rows.hpp"

using namespace tulle;
using testing::MemoryRows;

namespace {

constexpr CodeFormat codes_with_minimums{.bits = 4, .has_minimums = true};

/// Row r holds r + begin in all of its columns.
std::shared_ptr<const WeightSource> numbered(std::size_t rows, float begin, CodeFormat format = {}) {
  std::vector<float> values(rows * 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / 3;
    values[i] = begin + static_cast<float>(row);
  }
  return std::make_shared<const MemoryRows>(3, values, format);
}

/// What every row of a source holds, all rows decoded at once.
std::vector<float> numbers_of(const WeightSource& source) {
  std::vector<std::uint32_t> rows(source.rows());
  std::iota(rows.begin(), rows.end(), 0u);
  constexpr std::size_t stride = 5;
  std::vector<float> values(rows.size() * stride, -1.0f), numbers;
  source.decode(rows, {values.data(), rows.size(), 3, stride});
  for (std::size_t row = 0; row < rows.size(); ++row) {
    numbers.push_back(values[row * stride]);
    CHECK(values[row * stride + 2] == numbers.back());
    CHECK(values[row * stride + 3] == -1);  // nothing behind the columns
  }
  return numbers;
}

}  // namespace

TEST_CASE("a panel is up to 16 consecutive rows", "[tensor][weight_source]") {
  const PanelRows whole(16, 40), last(32, 40);
  CHECK(whole.size() == 16);
  CHECK(last.size() == 8);
  CHECK(std::span<const std::uint32_t>(whole).front() == 16);
  CHECK(std::span<const std::uint32_t>(last).back() == 39);
}

TEST_CASE("groups of columns", "[tensor][weight_source]") {
  CHECK(CodeFormat{}.groups(100) == 1);
  CHECK(CodeFormat{.bits = 8, .group = 32}.groups(100) == 4);
}

TEST_CASE("rows in another order, of values and of codes", "[tensor][weight_source]") {
  const auto source = numbered(40, 0, codes_with_minimums);
  CHECK(in_order(source, {}) == source);
  const RowOrder backwards{1, {{{1, 0}, {20, 2}, {1, 0}}}};  // the odd ones
  const auto ordered = in_order(source, backwards);
  REQUIRE(ordered->rows() == 20);
  CHECK(ordered->columns() == 3);
  CHECK(ordered->code_format() == codes_with_minimums);
  const std::vector<float> numbers = numbers_of(*ordered);
  for (std::size_t row = 0; row < 20; ++row) CHECK(numbers[row] == static_cast<float>(2 * row + 1));
  CHECK(numbers_of(*ordered->copied()) == numbers);
  float decoded[3];
  ordered->decode_row(7, decoded);
  CHECK(decoded[1] == 15);

  const std::vector<std::uint32_t> rows{19, 0, 3};
  std::int8_t codes[9];
  float scales[3], minimums[3];
  ordered->codes(rows, {codes, 3, 3}, scales, minimums);
  CHECK((codes[0] == 39 && codes[3] == 1 && codes[8] == 7));
  CHECK((scales[0] == 40 && scales[1] == 2 && minimums[2] == -8));
}

TEST_CASE("several sources stacked, of values and of codes", "[tensor][weight_source]") {
  const auto a = numbered(5, 0, codes_with_minimums), b = numbered(30, 100, codes_with_minimums);
  const StackedRows both({a, b, numbered(1, 50, codes_with_minimums)});
  REQUIRE(both.rows() == 36);
  CHECK(both.columns() == 3);
  CHECK(both.code_format() == codes_with_minimums);
  CHECK(both.size_bytes() == 36 * 3 * sizeof(float));
  const std::vector<float> numbers = numbers_of(both);
  CHECK((numbers[4] == 4 && numbers[5] == 100 && numbers[34] == 129 && numbers[35] == 50));
  CHECK(numbers_of(*both.copied()) == numbers);
  CHECK(both.bytes().empty());  // they are not in one place
  CHECK(both.over(std::as_bytes(std::span(numbers))) == nullptr);

  const std::vector<std::uint32_t> rows{34, 4, 5};
  std::int8_t codes[9];
  float scales[3], minimums[3];
  both.codes(rows, {codes, 3, 3}, scales, minimums);
  CHECK((codes[3] == 4 && codes[6] == 100));
  CHECK((scales[0] == 30 && scales[1] == 5 && minimums[2] == -1));
}

TEST_CASE("sources without a format in common stack as floats", "[tensor][weight_source]") {
  const StackedRows mixed({numbered(2, 0, codes_with_minimums), numbered(2, 5)});
  CHECK(mixed.code_format() == CodeFormat{});
  CHECK(numbers_of(mixed) == std::vector<float>{0, 1, 5, 6});
}
