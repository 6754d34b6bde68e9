// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_rotary.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/format/gguf.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

Json scaling_of(const GgufBuilder& gguf) {
  const Bytes bytes = gguf.build();
  const GgufFile file = parse_gguf(bytes, "f.gguf");
  return gguf_rope_scaling(file, gguf_model(file));
}

GgufBuilder with_factors(GgufBuilder gguf, const char* name, std::size_t count) {
  return gguf.tensor(name, {count}, 0, float_bytes(count));
}

}  // namespace

TEST_CASE("yarn has the numbers that the file has", "[format][gguf_rotary]") {
  GgufBuilder gguf = tiny_llama_gguf().text("llama.rope.scaling.type", "yarn").f32("llama.rope.scaling.factor", 4);
  CHECK(scaling_of(gguf) == Json{{"rope_type", "yarn"}, {"factor", 4.0}});
  gguf.f32("llama.rope.scaling.yarn_beta_fast", 2).f32("llama.rope.scaling.yarn_beta_slow", 1);
  gguf.f32("llama.rope.scaling.yarn_attn_factor", 0.5f);
  CHECK(
      scaling_of(gguf) ==
      Json{{"rope_type", "yarn"}, {"factor", 4.0}, {"beta_fast", 2.0}, {"beta_slow", 1.0}, {"attention_factor", 0.5}});
}

TEST_CASE("two lists of divisors are longrope", "[format][gguf_rotary]") {
  GgufBuilder gguf = tiny_llama_gguf().f32("llama.rope.scaling.attn_factor", 1.5f);
  gguf.u32("llama.rope.scaling.original_context_length", 8);
  const GgufBuilder one = with_factors(gguf, "rope_factors_long.weight", 1);
  CHECK(error_of([&] { scaling_of(one); }) == ErrorCode::malformed);
  const Json scaling = scaling_of(with_factors(one, "rope_factors_short.weight", 1));
  CHECK(scaling == Json{{"rope_type", "longrope"},
                        {"short_factor", {0.5}},
                        {"long_factor", {0.5}},
                        {"attention_factor", 1.5},
                        {"original_max_position_embeddings", 8}});
  CHECK(error_of([&] { scaling_of(with_factors(one, "rope_factors_short.weight", 2)); }) == ErrorCode::malformed);
}
