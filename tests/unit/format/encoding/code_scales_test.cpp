// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/code_scales.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using testing::MemorySource;

TEST_CASE("scales and zero points of the wrong number or type are refused by name", "[format][encoding]") {
  MemorySource source;
  source.put("a.weight", DType::i8, {2, 4}, std::vector<std::byte>(8));
  const auto message = [&] { return test::message_of([&] { (void)open_matrix(source, "a"); }); };
  source.put_floats("a.weight_scale", {2, 3}, std::vector<float>(6));
  CHECK(message().find("a.weight_scale") != std::string::npos);
  source.put_floats("a.weight_scale", {2, 2}, std::vector<float>(4));
  CHECK(message() == "no error");
  source.put("a.weight_zero_point", DType::i8, {2, 1}, std::vector<std::byte>(2));
  CHECK(message().find("a.weight_zero_point") != std::string::npos);
  source.put("a.weight_zero_point", DType::i32, {2, 2}, std::vector<std::byte>(16));
  CHECK(message().find("a.weight_zero_point") != std::string::npos);
}

TEST_CASE("groups of columns are neighbours, or in any order below the scales", "[format][encoding]") {
  const auto read = [](const std::vector<std::int32_t>& groups, std::size_t count) {
    MemorySource source;
    source.put("a.weight_g_idx", DType::i32, {groups.size()}, test::to_bytes(groups));
    return detail::read_group_index(source, *source.find("a.weight_g_idx"), groups.size(), count);
  };
  CHECK(read({0, 0, 1, 1}, 2).group == 2);
  CHECK(read({0, 0, 0, 1}, 2).group == 3);  // the last one is shorter
  CHECK(read({0, 0, 0, 0}, 1).group == 0);
  CHECK(read({-1, -1, -1, -1}, 2).group == 2);
  for (const auto& groups : {std::vector{0, 0, 1, 1}, {0, 0, 0, 1}, {0, 0, 0, 0}, {-1, -1, -1, -1}}) {
    CHECK(read(groups, groups[3] == 1 ? 2 : 1).group_of.empty());
  }
  CHECK(read({1, 0, 1, 0}, 2).group_of == std::vector<std::uint32_t>{1, 0, 1, 0});
  CHECK(read({0, 0, 1, 1}, 3).group_of == std::vector<std::uint32_t>{0, 0, 1, 1});  // a scale that is not used
  for (const auto& groups : {std::vector{0, 2}, {-1, 0}, {0, -1}}) {
    CHECK(test::error_of([&] { read(groups, 2); }) == ErrorCode::malformed);
  }
}
