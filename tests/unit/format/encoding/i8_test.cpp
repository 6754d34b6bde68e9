// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/i8.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using testing::MemorySource;

namespace {

MemorySource with_scales(const std::vector<float>& scales) {
  MemorySource source;
  source.put("a.weight", DType::i8, {2, 3}, test::to_bytes("\x01\xFF\x80\x7F\x02\x03"));
  if (!scales.empty()) source.put_floats("a.weight_scale", {scales.size()}, scales);
  return source;
}

}  // namespace

TEST_CASE("int8 codes have a scale per row, or one for all", "[format][encoding]") {
  for (const auto& scales : {std::vector<float>{0.5f, 2}, std::vector<float>{0.25f}}) {
    const MemorySource source = with_scales(scales);
    const auto rows = open_matrix(source, "a"), copy = rows->copied();
    CHECK(rows->code_format() == CodeFormat{.bits = 8});
    const float first = scales[0], second = scales.back();
    for (const WeightSource* each : {rows.get(), copy.get()}) {
      const std::vector<std::uint32_t> all{0, 1};
      float values[6], found[2];
      std::int8_t codes[6];
      each->decode(all, {values, 2, 3});
      each->codes(all, {codes, 2, 3}, found, nullptr);
      CHECK((values[0] == first && values[1] == -first && values[2] == -128 * first && values[3] == 127 * second));
      CHECK((codes[2] == -128 && codes[5] == 3 && found[0] == first && found[1] == second));
    }
  }
}

TEST_CASE("int8 codes without scales, or with too many, are refused", "[format][encoding]") {
  CHECK(test::error_of([] { (void)open_matrix(with_scales({}), "a"); }) == ErrorCode::not_found);
  CHECK(test::error_of([] { (void)open_matrix(with_scales({1, 2, 3}), "a"); }) == ErrorCode::malformed);
  MemorySource source = with_scales({});
  source.put("a.weight_scale", DType::i32, {2}, std::vector<std::byte>(8));
  CHECK(test::error_of([&] { (void)open_matrix(source, "a"); }) == ErrorCode::unsupported);
}
