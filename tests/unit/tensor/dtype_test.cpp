// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/dtype.hpp>

#include <limits>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

constexpr DType all[] = {DType::f64, DType::f32, DType::f16,     DType::bf16, DType::i64,  DType::i32,  DType::i16,
                         DType::i8,  DType::u8,  DType::boolean, DType::q8_0, DType::q4_0, DType::q4_1, DType::q6_k};

}  // namespace

TEST_CASE("plain types and blocks take the bytes their formats state", "[tensor][dtype]") {
  const std::size_t of_256[] = {2048, 1024, 512, 512, 2048, 1024, 512, 256, 256, 256, 272, 144, 160, 210};
  for (std::size_t i = 0; i < std::size(all); ++i) {
    CAPTURE(dtype_name(all[i]));
    CHECK(dtype_bytes(all[i], 256, "w") == of_256[i]);
    CHECK(dtype_bytes(all[i], 0, "w") == 0);
  }
  // A block is its scales and codes: f16 + 32 int8; f16 (+ f16) + 16 bytes; 128 + 64 bytes, 16 scales, f16.
  CHECK(dtype_info(DType::q8_0).block_bytes == 2 + 32);
  CHECK(dtype_info(DType::q4_0).block_bytes == 2 + 16);
  CHECK(dtype_info(DType::q4_1).block_bytes == 2 + 2 + 16);
  CHECK(dtype_info(DType::q6_k).block_bytes == 128 + 64 + 16 + 2);
}

TEST_CASE("names are those of safetensors and ggml, each once", "[tensor][dtype]") {
  CHECK(dtype_name(DType::bf16) == "BF16");
  CHECK(dtype_name(DType::boolean) == "BOOL");
  CHECK(dtype_name(DType::q6_k) == "Q6_K");
  for (const DType a : all) {
    for (const DType b : all) CHECK((dtype_name(a) == dtype_name(b)) == (a == b));
  }
}

TEST_CASE("weights are the types that decode to floats", "[tensor][dtype]") {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::i8, DType::q8_0, DType::q4_0, DType::q4_1, DType::q6_k}) {
    CHECK(is_weight_dtype(dtype));
  }
  for (const DType dtype : {DType::f64, DType::i64, DType::i32, DType::i16, DType::u8, DType::boolean}) {
    CHECK_FALSE(is_weight_dtype(dtype));
  }
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
