// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/dtype.hpp>

#include <limits>
#include <set>
#include <utility>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("plain types and blocks take the bytes their formats state", "[tensor][dtype]") {
  const std::pair<DType, std::size_t> of_256[] = {
      {DType::f64, 2048}, {DType::f32, 1024}, {DType::f16, 512}, {DType::bf16, 512}, {DType::i64, 2048},
      {DType::i32, 1024}, {DType::i16, 512},  {DType::i8, 256},  {DType::u8, 256},   {DType::boolean, 256},
      {DType::q8_0, 272}, {DType::q4_0, 144}, {DType::q4_1, 160}};
  for (const auto& [dtype, bytes] : of_256) {
    CAPTURE(dtype_name(dtype));
    CHECK(dtype_bytes(dtype, 256, "w") == bytes);
    CHECK(dtype_bytes(dtype, 0, "w") == 0);
  }
  // A block is its scales and codes: f16 + 32 int8; f16 (+ f16) + 16 bytes; 128 + 64 bytes, 16 scales, f16.
  CHECK(dtype_info(DType::q8_0).block_bytes == 2 + 32);
  CHECK(dtype_info(DType::q4_0).block_bytes == 2 + 16);
  CHECK(dtype_info(DType::q4_1).block_bytes == 2 + 2 + 16);
  CHECK(dtype_info(DType::q5_k).block_bytes == 2 + 2 + 12 + 32 + 128);
  CHECK(dtype_info(DType::q6_k).block_bytes == 128 + 64 + 16 + 2);
}

TEST_CASE("every type has its row in the table, and its own name", "[tensor][dtype]") {
  STATIC_CHECK(static_cast<std::size_t>(DType::f8_e5m2) + 1 == dtype_infos.size());
  std::set<std::string_view> names;
  for (const DTypeInfo& info : dtype_infos) CHECK(names.insert(info.name).second);
}

TEST_CASE("GGUF's numbers find their types, each once", "[tensor][dtype]") {
  CHECK(ggml_dtype(0) == DType::f32);
  CHECK(ggml_dtype(13) == DType::q5_k);
  CHECK(ggml_dtype(14) == DType::q6_k);
  CHECK(ggml_dtype(30) == DType::bf16);
  for (std::size_t i = 0; i < dtype_infos.size(); ++i) {
    if (dtype_infos[i].ggml_type != no_ggml_type) CHECK(ggml_dtype(dtype_infos[i].ggml_type) == static_cast<DType>(i));
  }
  for (const std::uint32_t number : {4u, 5u, 31u, 36u, 43u, no_ggml_type}) CHECK_FALSE(ggml_dtype(number).has_value());
}

TEST_CASE("names are those of safetensors and ggml", "[tensor][dtype]") {
  CHECK(dtype_name(DType::bf16) == "BF16");
  CHECK(dtype_name(DType::boolean) == "BOOL");
  CHECK(dtype_name(DType::q6_k) == "Q6_K");
}

TEST_CASE("a part of a block and a size that overflows are malformed", "[tensor][dtype]") {
  const auto message_of = [](DType dtype, std::size_t elements) -> std::string {
    try {
      (void)dtype_bytes(dtype, elements, "blk.0.attn_q.weight");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::malformed);
      return error.what();
    }
    return "no error";
  };
  CHECK(message_of(DType::q4_0, 33) == "blk.0.attn_q.weight: 33 elements are no whole number of Q4_0 blocks of 32");
  CHECK(message_of(DType::q6_k, 128) == "blk.0.attn_q.weight: 128 elements are no whole number of Q6_K blocks of 256");
  CHECK(message_of(DType::f32, std::numeric_limits<std::size_t>::max() / 4 + 1) == "blk.0.attn_q.weight is too large");
  CHECK(message_of(DType::q8_0, std::numeric_limits<std::size_t>::max() - 31) == "blk.0.attn_q.weight is too large");
}
