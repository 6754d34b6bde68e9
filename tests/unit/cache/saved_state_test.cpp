// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/saved_state.hpp>

#include <array>

#include <tulle/cache/contiguous.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

const CacheShape shape(1, {2, 2});

std::vector<std::byte> state_of(SavedStateHeader header, std::size_t payload) {
  std::vector<std::byte> bytes(sizeof(header) + payload);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

}  // namespace

TEST_CASE("a saved state has exactly these bytes", "[cache][saved_state]") {
  ContiguousCache<std::int8_t> cache(shape, 1, 8);
  REQUIRE(cache.extend(0, 2));
  const std::array<float, 4> first_key = {127, 1, 2, 254};
  const std::array<float, 4> first_value = {-127, 3, 0, 0};
  const std::array<float, 4> second_key = {5, 127, 127, 6};
  const std::array<float, 4> second_value = {7, 127, 127, 8};
  cache.append(0, 0, 0, first_key.data(), first_value.data());
  cache.append(0, 0, 1, second_key.data(), second_value.data());
  std::vector<std::byte> saved;
  cache.save(0, saved);

  const std::vector<int> expected = {
      't', 'u', 'l', 'l', 'e', '.', 'k', 'v', 1, 0, 0,   0,  2, 0, 0, 0,  // version, element
      1,   0,   0,   0,   2,   0,   0,   0,   2, 0, 0,   0,               // layers, heads, elements a head
      0,   0,   0,   0,   0,   0,   0,   0,   2, 0, 0,   0,               // prefix, begin, length
      127, 1,   5,   127, 0,   0,   128, 63,  0, 0, 128, 63,              // keys of head 0, their scales 1 and 1
      1,   127, 127, 6,   0,   0,   0,   64,  0, 0, 128, 63,              // keys of head 1, 2 and 1
      129, 3,   7,   127, 0,   0,   128, 63,  0, 0, 128, 63,              // values of head 0
      0,   0,   127, 8,   0,   0,   0,   0,   0, 0, 128, 63,              // values of head 1
  };
  std::vector<int> found;
  for (const std::byte byte : saved) found.push_back(std::to_integer<int>(byte));
  CHECK(found == expected);
}

TEST_CASE("a state is taken only at the size that its positions need", "[cache][saved_state]") {
  SavedStateHeader header = SavedStateHeader::of<float>(shape);
  constexpr std::size_t position_bytes = 1 * 2 * 2 * 2 * sizeof(float);
  const auto parses = [&](std::size_t payload) {
    return SavedState<float>::parse(state_of(header, payload), shape).has_value();
  };
  CHECK(parses(0));
  CHECK_FALSE(parses(1));
  header.length = 3;
  CHECK(parses(3 * position_bytes));
  CHECK_FALSE(parses(2 * position_bytes));
  CHECK_FALSE(parses(4 * position_bytes));
  CHECK_FALSE(parses(3 * position_bytes - 1));
  header.length = 1000;
  header.begin = 998;
  header.prefix = 1;
  CHECK(parses(3 * position_bytes));
  header.prefix = 999;
  CHECK_FALSE(parses(3 * position_bytes));
  header.begin = 1001;
  CHECK_FALSE(parses(1000 * position_bytes));
  header.prefix = 0;
  header.begin = 0;
  header.length = 0xFFFFFFFF;
  CHECK_FALSE(parses(position_bytes));
  CHECK_FALSE(SavedState<float>::parse({}, shape).has_value());
}

TEST_CASE("a state of another element type, shape or version is refused", "[cache][saved_state]") {
  const std::vector<std::byte> bytes = state_of(SavedStateHeader::of<float>(shape), 0);
  CHECK(SavedState<float>::parse(bytes, shape).has_value());
  CHECK_FALSE(SavedState<Half>::parse(bytes, shape).has_value());
  CHECK_FALSE(SavedState<std::int8_t>::parse(bytes, shape).has_value());
  CHECK_FALSE(SavedState<float>::parse(bytes, CacheShape(2, {2, 2})).has_value());
  CHECK_FALSE(SavedState<float>::parse(bytes, CacheShape(1, {1, 4})).has_value());
  SavedStateHeader newer = SavedStateHeader::of<float>(shape);
  ++newer.version;
  CHECK_FALSE(SavedState<float>::parse(state_of(newer, 0), shape).has_value());
}

TEST_CASE("a state with a gap says what it lacks", "[cache][saved_state]") {
  SavedStateHeader header = SavedStateHeader::of<float>(shape);
  header.prefix = 2;
  header.begin = 5;
  header.length = 6;
  std::vector<std::byte> bytes = state_of(header, 3 * 32);
  auto state = SavedState<float>::parse(bytes, shape);
  REQUIRE(state.has_value());
  CHECK_FALSE(state.value().complete());
  CHECK(state.value().prefix() == 2);
  CHECK(state.value().begin() == 5);

  const float marked = 42;  // position 5 is the third row of layer 0, key, head 0
  std::memcpy(bytes.data() + sizeof(header) + 2 * 2 * sizeof(float), &marked, sizeof(marked));
  RowStore<float> store(shape, 1);
  state.value().load(5, 1, store, 0);
  store.for_each_span(0, 0, 5, 1, [&](const auto& span) { CHECK(*span.keys == 42); });

  header.begin = 2;
  header.length = 3;
  bytes = state_of(header, 3 * 32);
  state = SavedState<float>::parse(bytes, shape);
  REQUIRE(state.has_value());
  CHECK(state.value().complete());
  CHECK(state.value().begin() == 0);
}
