// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/row_store.hpp>

#include <array>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

const CacheShape shape(2, {2, 3});

/// Rows that lie in one block.
template <class Element>
KeyValueSpan<Element> span_of(const RowStore<Element>& store, std::size_t layer, std::size_t row, Position begin,
                              std::size_t count) {
  KeyValueSpan<Element> only;
  store.for_each_span(layer, row, begin, count, [&](const KeyValueSpan<Element>& span) { only = span; });
  CHECK(only.count == count);
  return only;
}

}  // namespace

TEST_CASE("rows of one head follow each other, keys apart from values", "[cache][row_store]") {
  RowStore<float> store(shape, 4);
  const std::array<float, 6> key = {1, 2, 3, 4, 5, 6};
  const std::array<float, 6> value = {7, 8, 9, 10, 11, 12};
  for (std::size_t row = 0; row < 4; ++row) store.write(1, row, key.data(), value.data());

  const KeyValueSpan<float> span = span_of(store, 1, 1, 100, 2);
  CHECK(span.begin == 100);
  CHECK(span.count == 2);
  CHECK(span.head_stride == 12);
  CHECK(span.key_scales == nullptr);
  CHECK(span.value_scales == nullptr);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(span.keys[i] == key[i % 3]);
    CHECK(span.keys[span.head_stride + i] == key[3 + i % 3]);
    CHECK(span.values[i] == value[i % 3]);
    CHECK(span.values[span.head_stride + i] == value[3 + i % 3]);
  }
}

TEST_CASE("int8 rows of each head have their own scale", "[cache][row_store]") {
  RowStore<std::int8_t> store(shape, 4);
  const std::array<float, 6> key = {127, 0, 1, 0, 254, 2};
  const std::array<float, 6> value = {0, 0, 0, -508, 4, 0};
  store.write(0, 3, key.data(), value.data());
  const KeyValueSpan<std::int8_t> span = span_of(store, 0, 3, 0, 1);
  CHECK(span.key_scales[0] == 1);
  CHECK(span.key_scales[span.scale_stride] == 2);
  CHECK(span.value_scales[0] == 0);
  CHECK(span.value_scales[span.scale_stride] == 4);
  CHECK(span.values[span.head_stride] == -127);
  CHECK(span.values[span.head_stride + 1] == 1);
}

TEST_CASE("copied rows are equal in every layer and head", "[cache][row_store]") {
  RowStore<std::int8_t> from(shape, 4);
  RowStore<std::int8_t> to(shape, 9);
  const std::array<float, 6> key = {1, 2, 3, 4, 5, 6};
  const std::array<float, 6> value = {7, 8, 9, 10, 11, 12};
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t row = 1; row < 3; ++row) from.write(layer, row, key.data(), value.data());
  }
  to.copy(from, 1, 7, 2);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const KeyValueSpan<std::int8_t> source = span_of(from, layer, 1, 0, 2);
    const KeyValueSpan<std::int8_t> copy = span_of(to, layer, 7, 0, 2);
    for (std::size_t head = 0; head < 2; ++head) {
      for (std::size_t i = 0; i < 6; ++i) {
        CHECK(copy.keys[head * copy.head_stride + i] == source.keys[head * source.head_stride + i]);
        CHECK(copy.values[head * copy.head_stride + i] == source.values[head * source.head_stride + i]);
      }
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK(copy.key_scales[head * copy.scale_stride + i] == source.key_scales[head * source.scale_stride + i]);
        CHECK(copy.value_scales[head * copy.scale_stride + i] == source.value_scales[head * source.scale_stride + i]);
      }
    }
  }
}

TEST_CASE("rows of several blocks are visited in order, and copied across the ends of blocks", "[cache][row_store]") {
  constexpr std::size_t block = RowStore<float>::block_rows, rows = 2 * block + 5;
  const CacheShape mixed({{2, 1}, {1, 1}});
  const std::vector<std::size_t> of_layers{rows, block / 2};
  RowStore<std::int8_t> from(mixed, of_layers), to(mixed, of_layers);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::array<float, 2> key = {static_cast<float>(row), -1}, value = {1, static_cast<float>(row)};
    from.write(0, row, key.data(), value.data());
    if (row < of_layers[1]) from.write(1, row, value.data(), key.data());
  }
  to.copy_layer(0, from, 1, 8, rows - 8);
  std::vector<std::size_t> counts;
  to.for_each_span(0, 8, 3, rows - 8, [&](const KeyValueSpan<std::int8_t>& span) {
    for (std::size_t i = 0; i < span.count; ++i) {
      const auto row = static_cast<float>(span.begin - 2 + i);
      CHECK(span.key_scales[i] == row / 127.0f);
      CHECK(span.value_scales[span.scale_stride + i] == row / 127.0f);
      CHECK(span.keys[span.head_stride + i] == -127);
    }
    counts.push_back(span.count);
  });
  CHECK(counts == std::vector<std::size_t>{block - 8, block, 5});
  from.for_each_span(1, 0, 0, of_layers[1], [&](const KeyValueSpan<std::int8_t>& span) {
    CHECK(span.value_scales[span.count - 1] == static_cast<float>(of_layers[1] - 1) / 127.0f);
  });
}

TEST_CASE("layers of a store have heads, sizes and rows of their own", "[cache][row_store]") {
  const CacheShape mixed({{1, 2}, {3, 5}, {2, 1}});
  RowStore<std::int8_t> store(mixed, std::vector<std::size_t>{4, 2, 3});
  CHECK(store.size_bytes() == 2 * (4 * (2 + 4) + 3 * 2 * (5 + 4) + 2 * 3 * (1 + 4)));
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const std::vector<float> row(mixed.layers[layer].row_elements(), static_cast<float>(layer + 1));
    for (std::size_t at = 0; at < std::vector<std::size_t>{4, 2, 3}[layer]; ++at) {
      store.write(layer, at, row.data(), row.data());
    }
  }
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const auto& [kv_heads, head_dim, window] = mixed.layers[layer];
    const KeyValueSpan<std::int8_t> span = span_of(store, layer, 1, 1, 1);
    for (std::size_t head = 0; head < kv_heads; ++head) {
      CHECK(span.key_scales[head * span.scale_stride] == static_cast<float>(layer + 1) / 127.0f);
      CHECK(span.values[head * span.head_stride + head_dim - 1] == 127);
    }
  }
}

TEST_CASE("the bytes of a store are known before it is made", "[cache][row_store]") {
  CHECK(RowStore<float>::checked_bytes(shape, 10) == 2 * 2 * 2 * 3 * 10 * 4);
  CHECK(RowStore<Half>::checked_bytes(shape, 10) == 2 * 2 * 2 * 3 * 10 * 2);
  CHECK(RowStore<std::int8_t>::checked_bytes(shape, 10) == 2 * 2 * 2 * 10 * (3 + 4));
  CHECK(RowStore<std::int8_t>(shape, 10).size_bytes() == RowStore<std::int8_t>::checked_bytes(shape, 10));
  CHECK(RowStore<float>().empty());
  CHECK_FALSE(RowStore<float>(shape, 1).empty());
}

TEST_CASE("a store of nothing or of more than can be counted is refused", "[cache][row_store]") {
  constexpr std::size_t large = 0xFFFFFFFF;
  const auto refused = [](const CacheShape& asked, std::size_t rows) {
    try {
      RowStore<float>::checked_bytes(asked, rows);
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  CHECK(refused(CacheShape(0, {2, 3}), 4));
  CHECK(refused(CacheShape(2, {0, 3}), 4));
  CHECK(refused(CacheShape(2, {2, 0}), 4));
  CHECK(refused(CacheShape(2, {2, 3}), 0));
  CHECK(refused(CacheShape(1, {large, large}), 1));
  CHECK(refused(CacheShape(3, {large, large}), large));
  CHECK(refused(CacheShape(1, {large + 1, 1}), 1));
  CHECK(refused(CacheShape(1, {1, 1}), large) == (sizeof(std::size_t) == 4));      // 4 bytes each
  CHECK(refused(CacheShape(1, {std::size_t{1} << 30, std::size_t{1} << 30}), 1));  // more bytes than can be counted
  constexpr std::size_t third = std::size_t{1} << (sizeof(std::size_t) == 8 ? 29 : 13);  // a layer fits, many do not
  CHECK_FALSE(refused(CacheShape(1, {third, third}), 1));
  CHECK(refused(CacheShape(8, {third, third}), 1));
}
