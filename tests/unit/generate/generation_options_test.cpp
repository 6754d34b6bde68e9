// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/generation_options.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("the defaults are one greedy continuation of at most 100 tokens", "[generate][generation_options]") {
  const GenerationOptions options;
  CHECK(options.max_new_tokens == 100);
  CHECK(options.num_return_sequences == 1);
  CHECK(options.sampling.greedy());
  CHECK_FALSE(options.force_max_tokens);
  CHECK(options.cancel == nullptr);
}

TEST_CASE("speeds are counted from the first token on, and are 0 where nothing ran", "[generate][generation_options]") {
  Timings timings;
  CHECK(timings.prefill_tokens_per_second() == 0);
  CHECK(timings.decode_tokens_per_second() == 0);
  timings.prompt_tokens = 100;
  timings.prefill_seconds = 0.5;
  timings.generated_tokens = 11;
  timings.decode_seconds = 2;
  CHECK(timings.prefill_tokens_per_second() == 200);
  CHECK(timings.decode_tokens_per_second() == 5);
  timings.generated_tokens = 1;
  CHECK(timings.decode_tokens_per_second() == 0);
}
