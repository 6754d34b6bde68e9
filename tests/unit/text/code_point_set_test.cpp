// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/code_point_set.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("overlapping and adjacent ranges become one", "[text][code_point_set]") {
  const CodePointSet set({{'m', 'p'}, {'a', 'c'}, {'d', 'f'}, {'b', 'e'}});
  REQUIRE(set.ranges().size() == 2);
  CHECK(set.ranges()[0].first == 'a');
  CHECK(set.ranges()[0].last == 'f');
  CHECK(set.contains('f'));
  CHECK_FALSE(set.contains('g'));
  CHECK(set.contains('p'));
}

TEST_CASE("a range inside another does not shorten it", "[text][code_point_set]") {
  const CodePointSet set({{10, 1000}, {20, 30}});
  CHECK(set.contains(500));
  CHECK(set.contains(1000));
  CHECK_FALSE(set.contains(1001));
}

TEST_CASE("the complement contains exactly what the set does not", "[text][code_point_set]") {
  const CodePointSet set({{0, 5}, {0x250, 0x300}, {0x10FFFF, 0x10FFFF}});
  const CodePointSet rest = set.complement();
  std::size_t wrong = 0;
  for (char32_t code_point = 0; code_point <= CodePointSet::largest; ++code_point) {
    wrong += set.contains(code_point) == rest.contains(code_point);
  }
  CHECK(wrong == 0);
  CHECK(CodePointSet().complement().contains(0));
  CHECK(CodePointSet().complement().complement().ranges().empty());
}

TEST_CASE("union and intersection are those of the elements", "[text][code_point_set]") {
  const CodePointSet low({{0, 100}}), high({{90, 400}});
  CHECK(low.united(high).contains(400));
  CHECK(low.intersected(high).contains(95));
  CHECK_FALSE(low.intersected(high).contains(89));
  CHECK_FALSE(low.intersected(high).contains(101));
}
