// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/gptq.hpp>

#include <catch2/catch_all.hpp>
#include <map>
#include <string>
#include <vector>

#include "unit/format/encoding/quantized_golden.hpp"
#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using testing::MemorySource;

namespace {

/// 4 bits, [8, 16] in two groups; what a test changes of it must be noticed.
MemorySource gptq() {
  MemorySource source;
  source.put("a.qweight", DType::i32, {2, 8}, std::vector<std::byte>(64));
  source.put("a.qzeros", DType::i32, {2, 1}, std::vector<std::byte>(8));
  source.put_floats("a.scales", {2, 8}, std::vector<float>(16, 1));
  return source;
}

std::string message(const MemorySource& source) {
  return test::message_of([&] { (void)open_matrix(source, "a"); });
}

}  // namespace

TEST_CASE("matrices of GPTQ and AWQ are those of the numpy reference", "[format][encoding][golden]") {
  const CodeFormat floats;
  const std::map<std::string, CodeFormat> formats{{"sym4", {.bits = 4, .group = 64, .half_scales = true}},
                                                  {"sym4_row", {.bits = 4}},
                                                  {"sym4_ragged", {.bits = 4, .group = 96, .half_scales = true}},
                                                  {"sym4_no_index", {.bits = 4, .group = 32, .half_scales = true}},
                                                  {"asym4", {.bits = 4, .group = 64, .has_minimums = true}},
                                                  {"asym4_f32", {.bits = 5, .group = 32}},
                                                  {"sym4_act_order", floats},
                                                  {"asym4_act_order", floats},
                                                  {"sym8", {.bits = 8, .group = 32, .half_scales = true}},
                                                  {"sym8_row", {.bits = 8}},
                                                  {"asym8", floats},
                                                  {"awq64", {.bits = 4, .group = 64, .has_minimums = true}},
                                                  {"awq32", {.bits = 4, .group = 32, .has_minimums = true}},
                                                  {"awq_row", {.bits = 5}},
                                                  {"awq_sym", {.bits = 4, .group = 64, .half_scales = true}}};
  const auto check = [&](const std::string& layer, const WeightSource& matrix) {
    CHECK(matrix.code_format() == formats.at(layer));
  };
  CHECK(testing::check_quantized("gptq", check) == 11);
  CHECK(testing::check_quantized("gptq_v2", check) == 2);
  CHECK(testing::check_quantized("awq", check) == 4);
}

TEST_CASE("tensors of GPTQ that do not fit together are refused by name", "[format][encoding]") {
  CHECK(message(gptq()) == "no error");
  const auto refused = [](const char* name, DType dtype, std::vector<std::size_t> shape) {
    MemorySource source = gptq();
    std::size_t bytes = dtype_info(dtype).block_bytes;
    for (const std::size_t extent : shape) bytes *= extent;
    source.put(name, dtype, std::move(shape), std::vector<std::byte>(bytes));
    const std::string found = message(source);
    CAPTURE(name, found);
    return found.find(std::string("\"") + name + "\"") != std::string::npos;
  };
  CHECK(refused("a.qweight", DType::i32, {2, 9}));
  CHECK(refused("a.qweight", DType::i32, {0, 8}));
  CHECK(refused("a.qweight", DType::i32, {16}));
  CHECK(refused("a.qweight", DType::u8, {2, 8}));
  CHECK(refused("a.qzeros", DType::i32, {1, 1}));
  CHECK(refused("a.qzeros", DType::i32, {2, 3}));
  CHECK(refused("a.qzeros", DType::i8, {2, 1}));
  CHECK(refused("a.scales", DType::f16, {16}));
  CHECK(refused("a.scales", DType::i8, {2, 8}));
  CHECK(refused("a.scales", DType::f16, {0, 8}));
  CHECK(refused("a.g_idx", DType::i32, {15}));
  CHECK(refused("a.g_idx", DType::i64, {16}));
  MemorySource source = gptq();
  source.erase("a.qzeros");
  CHECK(message(source).find("a.qzeros") != std::string::npos);
  source = gptq();
  source.put_floats("a.scales", {3, 8}, std::vector<float>(24, 1));
  source.put("a.qzeros", DType::i32, {3, 1}, std::vector<std::byte>(12));
  CHECK(message(source).find("a.scales") != std::string::npos);  // 16 columns in 3 groups
}

TEST_CASE("a group that has no scale is refused", "[format][encoding]") {
  MemorySource source = gptq();
  std::vector<std::int32_t> groups(16, 0);
  source.put("a.g_idx", DType::i32, {16}, test::to_bytes(groups));
  CHECK(message(source) == "no error");  // one of two groups is not used
  for (const std::int32_t wrong : {2, -1, INT32_MIN, INT32_MAX}) {
    groups[7] = wrong;
    source.put("a.g_idx", DType::i32, {16}, test::to_bytes(groups));
    CHECK(message(source).find("\"a.g_idx\" holds a group that has no scale") != std::string::npos);
  }
  source.put("a.g_idx", DType::i32, {16}, test::to_bytes(std::vector<std::int32_t>(16, -1)));
  CHECK(open_matrix(source, "a")->code_format().group == 8);
}
