// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_types.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("value types have the sizes of the format", "[format][gguf_types]") {
  CHECK(gguf_type_bytes(GgufType::u8) == 1);
  CHECK(gguf_type_bytes(GgufType::boolean) == 1);
  CHECK(gguf_type_bytes(GgufType::i16) == 2);
  CHECK(gguf_type_bytes(GgufType::f32) == 4);
  CHECK(gguf_type_bytes(GgufType::u64) == 8);
  CHECK(gguf_type_bytes(GgufType::f64) == 8);
  CHECK(gguf_type_bytes(GgufType::string) == 0);
  CHECK(gguf_type_bytes(GgufType::array) == 0);
  CHECK(gguf_type_bytes(static_cast<GgufType>(13)) == 0);
  CHECK(gguf_type_bytes(static_cast<GgufType>(0xFFFFFFFF)) == 0);
}

TEST_CASE("a tensor type is read, or known by name, or neither", "[format][gguf_types]") {
  for (const std::uint32_t id : {0u, 1u, 2u, 3u, 8u, 14u, 24u, 25u, 26u, 27u, 28u, 30u}) {
    CHECK(ggml_dtype(id).has_value());
    CHECK(unread_ggml_type_name(id).empty());
  }
  CHECK(ggml_dtype(14) == DType::q6_k);
  CHECK(unread_ggml_type_name(12) == "Q4_K");
  for (const std::uint32_t id : {4u, 5u, 31u, 36u, 43u, 0xFFFFFFFFu}) {
    CHECK_FALSE(ggml_dtype(id).has_value());
    CHECK(unread_ggml_type_name(id).empty());
  }
}
