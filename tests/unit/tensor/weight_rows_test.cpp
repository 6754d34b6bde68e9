// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/weight_rows.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

using namespace tulle;

namespace {

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<float> decode(DType dtype, const std::string& hex, std::size_t count) {
  const std::vector<std::byte> bytes = from_hex(hex);
  REQUIRE(bytes.size() == dtype_bytes(dtype, count, "x"));
  std::vector<float> values(count);
  decode_elements(dtype, bytes.data(), count, values.data());
  return values;
}

}  // namespace

// The blocks of x_i = (i - 16) / 8, i = 0 .. 31, and what gguf-py 0.19's `quantize` and `dequantize` make of them.
TEST_CASE("GGUF blocks of 32 decode to the reference's values", "[tensor][weight_rows]") {
  CHECK(decode(DType::q8_0, "082481899199a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f575f676f77", 32) ==
        std::vector<float>{-1.9998779296875f,
                           -1.8739013671875f,
                           -1.7479248046875f,
                           -1.6219482421875f,
                           -1.4959716796875f,
                           -1.3699951171875f,
                           -1.2440185546875f,
                           -1.1180419921875f,
                           -1.0078125f,
                           -0.8818359375f,
                           -0.755859375f,
                           -0.6298828125f,
                           -0.50390625f,
                           -0.3779296875f,
                           -0.251953125f,
                           -0.1259765625f,
                           0.0f,
                           0.1259765625f,
                           0.251953125f,
                           0.3779296875f,
                           0.50390625f,
                           0.6298828125f,
                           0.755859375f,
                           0.8818359375f,
                           1.0078125f,
                           1.1180419921875f,
                           1.2440185546875f,
                           1.3699951171875f,
                           1.4959716796875f,
                           1.6219482421875f,
                           1.7479248046875f,
                           1.8739013671875f});
  CHECK(decode(DType::q4_0, "0034809191a2a2b3b3c4c4d5d5e6e6f7f7f8", 32) ==
        std::vector<float>{-2.0f, -1.75f, -1.75f, -1.5f,  -1.5f, -1.25f, -1.25f, -1.0f, -1.0f, -0.75f, -0.75f,
                           -0.5f, -0.5f,  -0.25f, -0.25f, 0.0f,  0.0f,   0.25f,  0.25f, 0.5f,  0.5f,   0.75f,
                           0.75f, 1.0f,   1.0f,   1.25f,  1.25f, 1.5f,   1.5f,   1.75f, 1.75f, 1.75f});
  const std::vector<float> q4_1 = decode(DType::q4_1, "223400c080809191a2a2b3b3c4c4d5d5e6e6f7f7", 32);
  const std::vector<float> steps{-2.0f,         -1.74169921875f, -1.4833984375f, -1.22509765625f,
                                 -0.966796875f, -0.70849609375f, -0.4501953125f, -0.19189453125f,
                                 0.06640625f,   0.32470703125f,  0.5830078125f,  0.84130859375f,
                                 1.099609375f,  1.35791015625f,  1.6162109375f,  1.87451171875f};
  for (std::size_t i = 0; i < 32; ++i) CHECK(q4_1[i] == steps[i / 2]);
}

// 210 bytes of numpy's PCG64(6) with the block's scale set to 2^-7, decoded by gguf-py 0.19.
TEST_CASE("a Q6_K block decodes to the reference's values", "[tensor][weight_rows]") {
  const std::vector<float> values = decode(DType::q6_k,
                                           "fe82ee719123c589df108c848799e057ef3336f2cc307b5e653361a82005df5f6da12d73e33"
                                           "1c9fcd3f5c12fa950fca1ea5c4e6d3c7ea0acc97e75"
                                           "c1297c785479e01aac76150fae7ee2b173181e7b1f1546159e7f203e0d149ccce2dd23a6d9e"
                                           "702a5d8d9fe46025cf5b3f8cd8290fa682bfc956578b6"
                                           "d364407ec4de9503c97ce950270c334f0cb5c8e34360bd1a358cb85f8c43cb90d900587fbfd"
                                           "ffab76e60291c8b0ebda1a06e36ffc437e64d1fab733f"
                                           "c7aabcb32f21d726932ef34c7f3d6a64dbcd666cc226045a2bed14348a0020",
                                           256);
  const std::vector<std::pair<std::size_t, float>> some{
      {0, -8.578125f},    {1, -6.671875f}, {31, 12.421875f},   {32, 22.65625f},    {33, 0.78125f},  {63, -5.78125f},
      {64, -12.3515625f}, {65, -3.1875f},  {95, 3.984375f},    {96, -8.4375f},     {97, 21.9375f},  {127, 5.328125f},
      {128, -6.828125f},  {129, -4.75f},   {160, -17.578125f}, {192, -1.0390625f}, {224, -0.8125f}, {255, 3.6875f}};
  for (const auto& [index, value] : some) CHECK(values[index] == value);
  double sum = 0, absolute = 0;
  for (const float value : values) {
    sum += value;
    absolute += std::abs(value);
  }
  CHECK(sum == -154.3984375);
  CHECK(absolute == 2221.5390625);
}

TEST_CASE("plain elements decode exactly", "[tensor][weight_rows]") {
  CHECK(decode(DType::f32, "0000c03f000020c1", 2) == std::vector<float>{1.5f, -10});
  CHECK(decode(DType::f16, "003e00c90100", 3) == std::vector<float>{1.5f, -10, 0x1p-24f});
  CHECK(decode(DType::bf16, "c03f20c1", 2) == std::vector<float>{1.5f, -10});
  CHECK(decode(DType::i8, "0180ff7f", 4) == std::vector<float>{1, -128, -1, 127});
}

TEST_CASE("rows of several tensors make one matrix", "[tensor][weight_rows]") {
  const std::vector<std::byte> codes = from_hex("01020304fffe"), floats = from_hex("0000c03f000020c1");
  WeightRows rows(2);
  DType dtype = DType::u8;
  CHECK_FALSE(rows.uniform(dtype));
  rows.append(codes.data() + 4, DType::i8, 0.5f);
  rows.append(codes.data(), DType::i8);
  CHECK(rows.uniform(dtype));
  CHECK(dtype == DType::i8);
  rows.append(floats.data(), DType::f32);
  CHECK_FALSE(rows.uniform(dtype));
  CHECK(rows.rows() == 3);
  CHECK(rows.columns() == 2);
  float out[2] = {};
  rows.decode(0, out);
  CHECK((out[0] == -0.5f && out[1] == -1.0f));
  rows.decode(1, out);
  CHECK((out[0] == 1 && out[1] == 2));
  rows.decode(2, out);
  CHECK((out[0] == 1.5f && out[1] == -10));
}
