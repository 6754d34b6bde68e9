// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/float_elements.hpp>

#include <array>
#include <cmath>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

template <std::size_t Size>
std::vector<float> decoded(DType dtype, const std::array<unsigned char, Size>& bytes) {
  std::vector<float> values(Size / dtype_info(dtype).block_bytes);
  decode_floats(dtype, reinterpret_cast<const std::byte*>(bytes.data()), values.size(), values.data());
  return values;
}

}  // namespace

TEST_CASE("floats of files decode exactly", "[tensor][float_elements]") {
  CHECK(decoded<8>(DType::f32, {0, 0, 0xC0, 0x3F, 0, 0, 0x20, 0xC1}) == std::vector<float>{1.5f, -10});
  CHECK(decoded<6>(DType::f16, {0, 0x3E, 0, 0xC9, 1, 0}) == std::vector<float>{1.5f, -10, 0x1p-24f});
  CHECK(decoded<4>(DType::bf16, {0xC0, 0x3F, 0x20, 0xC1}) == std::vector<float>{1.5f, -10});
}

TEST_CASE("floats of 8 bits decode exactly", "[tensor][float_elements]") {
  CHECK(decoded<8>(DType::f8_e4m3, {0, 1, 7, 8, 0x38, 0xB8, 0x7E, 0xFE}) ==
        std::vector<float>{0, 0x1p-9f, 7 * 0x1p-9f, 0x1p-6f, 1, -1, 448, -448});
  CHECK(decoded<6>(DType::f8_e5m2, {0, 1, 4, 0x3C, 0xBE, 0x7B}) ==
        std::vector<float>{0, 0x1p-16f, 0x1p-14f, 1, -1.5f, 57344});
  CHECK(std::isnan(to_float_e4m3(0xFF)));
  CHECK(std::isnan(to_float_e5m2(0x7F)));
  CHECK(std::isinf(to_float_e5m2(0xFC)));
  CHECK(is_number_dtype(DType::f8_e4m3));
}

TEST_CASE("three types are floats", "[tensor][float_elements]") {
  for (std::size_t i = 0; i < dtype_infos.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(is_float_dtype(dtype) == (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16));
  }
}

TEST_CASE("numbers are loaded from any address", "[tensor][float_elements]") {
  const std::array<std::byte, 3> bytes{std::byte{7}, std::byte{0}, std::byte{0x3E}};
  CHECK(load_half(bytes.data() + 1) == 1.5f);
  CHECK(load_unaligned<std::uint16_t>(bytes.data() + 1) == 0x3E00);
}
