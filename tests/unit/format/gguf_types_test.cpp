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
