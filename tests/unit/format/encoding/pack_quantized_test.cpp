// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/pack_quantized.hpp>

#include <catch2/catch_all.hpp>
#include <map>
#include <string>
#include <vector>

#include "unit/format/encoding/quantized_golden.hpp"
#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using testing::MemorySource;
using testing::values_of;

namespace {

MemorySource packed(std::size_t rows, std::size_t columns, const std::vector<std::uint32_t>& words) {
  MemorySource source;
  source.put("a.weight_packed", DType::i32, {rows, words.size() / rows}, test::to_bytes(words));
  source.put("a.weight_shape", DType::i64, {2},
             test::sizes({static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)}));
  source.put_floats("a.weight_scale", {rows, 1}, std::vector<float>(rows, 1));
  return source;
}

std::string message(const MemorySource& source) {
  return test::message_of([&] { (void)open_matrix(source, "a"); });
}

}  // namespace

TEST_CASE("codes of 4 and 8 bits are unpacked as compressed-tensors packs them", "[format][encoding]") {
  // Vectors of compressed-tensors' tests/test_compressors/test_pack_quant.py.
  CHECK(values_of(*open_matrix(packed(1, 8, {0x76543210}), "a")) == std::vector<float>{-8, -7, -6, -5, -4, -3, -2, -1});
  CHECK(values_of(*open_matrix(packed(1, 8, {0xFEDCBA98}), "a")) == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(values_of(*open_matrix(packed(1, 8, {0xB6A79F80}), "a")) == std::vector<float>{-8, 0, 7, 1, -1, 2, -2, 3});
  CHECK(values_of(*open_matrix(packed(1, 5, {0x84838281, 0x000000FF}), "a")) == std::vector<float>{1, 2, 3, 4, 127});
  const MemorySource source = packed(2, 9, {0x76543210, 0x9, 0xFEDCBA98, 0x0});
  const auto rows = open_matrix(source, "a"), copy = rows->copied();
  CHECK(rows->code_format() == CodeFormat{.bits = 4});
  CHECK(values_of(*rows) == std::vector<float>{-8, -7, -6, -5, -4, -3, -2, -1, 1, 0, 1, 2, 3, 4, 5, 6, 7, -8});
  CHECK(testing::same_matrix(*rows, *copy));
}

TEST_CASE("the symmetric example in groups gives its values", "[format][encoding]") {
  MemorySource source = packed(2, 8, {0xB9C0894F, 0xFD8B0DB8});
  const std::vector<float> scales{0.7f / 7.5f, 0.2f, 0.08f, 0.06f};
  source.put_floats("a.weight_scale", {2, 2}, scales);
  const auto rows = open_matrix(source, "a");
  CHECK(rows->code_format() == CodeFormat{.bits = 4, .group = 4});
  const std::vector<int> codes{7, -4, 1, 0, -8, 4, 1, 3, 0, 3, 5, -8, 3, 0, 5, 7};
  const std::vector<float> values = values_of(*rows);
  for (std::size_t i = 0; i < codes.size(); ++i) CHECK(values[i] == static_cast<float>(codes[i]) * scales[i / 4]);
}

TEST_CASE("the asymmetric example gives the differences to its zero points", "[format][encoding]") {
  MemorySource source = packed(2, 8, {0xECF0560F, 0xFA050FC9});
  const std::vector<float> scales{0.07f, 0.15f, 1 / 15.0f, 0.03f};
  source.put_floats("a.weight_scale", {2, 2}, scales);
  const std::vector<int> codes{7, -8, -2, -3, -8, 7, 4, 6, 1, 4, 7, -8, -3, -8, 2, 7}, zeros{-3, 2, 1, -8};
  const auto check = [&] {
    const auto rows = open_matrix(source, "a");
    CHECK(rows->code_format() == CodeFormat{.bits = 5, .group = 4});
    const std::vector<float> values = values_of(*rows);
    std::vector<std::int8_t> found(16);
    std::vector<float> found_scales(4);
    rows->codes(PanelRows(0, 2), {found.data(), 2, 8}, found_scales.data(), nullptr);
    CHECK(found_scales == scales);
    for (std::size_t i = 0; i < 16; ++i) {
      CHECK(found[i] == codes[i] - zeros[i / 4]);
      CHECK(values[i] == static_cast<float>(codes[i] - zeros[i / 4]) * scales[i / 4]);
    }
  };
  // Packed along the rows, and as versions before 0.10 wrote them.
  source.put("a.weight_zero_point", DType::i32, {1, 2}, test::to_bytes(std::vector<std::uint32_t>{0x95, 0x0A}));
  check();
  source.put("a.weight_zero_point", DType::i8, {2, 2}, test::to_bytes(std::vector<std::int8_t>{-3, 2, 1, -8}));
  check();
  source.put("a.weight_zero_point", DType::i8, {1}, test::to_bytes(std::vector<std::int8_t>{1}));
  CHECK(values_of(*open_matrix(source, "a"))[0] == 6 * scales[0]);
  source.put("a.weight_zero_point", DType::i8, {1}, test::to_bytes(std::vector<std::int8_t>{8}));
  CHECK(message(source).find("a.weight_zero_point") != std::string::npos);
}

TEST_CASE("int- and pack-quantized matrices are those that compressed-tensors reads", "[format][encoding][golden]") {
  const std::map<std::string, CodeFormat> formats{{"channel", {.bits = 8}},
                                                  {"tensor", {.bits = 8}},
                                                  {"group", {.bits = 8, .group = 32}},
                                                  {"asymmetric", {}},
                                                  {"act_order", {}},
                                                  {"channel4", {.bits = 4}},
                                                  {"group4", {.bits = 4, .group = 32, .half_scales = true}},
                                                  {"asymmetric4", {.bits = 4, .group = 64, .has_minimums = true}},
                                                  {"asymmetric4_f32", {.bits = 5, .group = 32}},
                                                  {"asymmetric4_channel", {.bits = 5}},
                                                  {"act_order4", {}},
                                                  {"act_order4_asymmetric", {}},
                                                  {"group8", {.bits = 8, .group = 32, .half_scales = true}},
                                                  {"asymmetric8", {}}};
  const auto check = [&](const std::string& layer, const WeightSource& matrix) {
    CodeFormat format = matrix.code_format();
    if (layer == "group" || layer == "asymmetric4")
      format.half_scales = false;  // BF16: some are exact in F16, some may not be
    CHECK(format == formats.at(layer));
  };
  CHECK(testing::check_quantized("ct_int", check) == 5);
  CHECK(testing::check_quantized("ct_pack", check) == 9);
}

TEST_CASE("packed codes whose tensors do not fit together are refused by name", "[format][encoding]") {
  MemorySource source = packed(2, 16, {1, 2, 3, 4});
  CHECK(message(source) == "no error");
  source.put("a.weight_g_idx", DType::i32, {15}, std::vector<std::byte>(60));
  CHECK(message(source).find("a.weight_g_idx") != std::string::npos);
  source.put("a.weight_g_idx", DType::i32, {16}, std::vector<std::byte>(64, std::byte{1}));
  CHECK(message(source).find("a.weight_g_idx") != std::string::npos);
  source.erase("a.weight_g_idx");
  source.put("a.weight_shape", DType::i64, {2}, test::sizes({2, 17}));
  CHECK(message(source).find("a.weight_packed") != std::string::npos);
  source.put("a.weight_shape", DType::i64, {2}, test::sizes({2, -16}));
  CHECK(message(source).find("a.weight_shape") != std::string::npos);
  source.put("a.weight_shape", DType::i64, {2}, test::sizes({3, 16}));
  CHECK(message(source).find("a.weight_packed") != std::string::npos);
  source.put("a.weight_shape", DType::i32, {2}, std::vector<std::byte>(8));
  CHECK(message(source).find("a.weight_shape") != std::string::npos);
  source.erase("a.weight_shape");
  CHECK(message(source).find("a.weight_shape") != std::string::npos);
  CHECK(message(packed(1, 4, {1})).find("a.weight_packed") != std::string::npos);
  CHECK(message(packed(1, 0, {1})).find("a.weight_packed") != std::string::npos);
}
