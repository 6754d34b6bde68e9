// SPDX-License-Identifier: Apache-2.0
#include <tulle/compat/deepsparse/generation.hpp>

#include <string>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

GenerationOptions options_of(const char* settings) {
  GenerationOptions options;
  detail::apply_generation(Json::parse(settings), "generation_config", options);
  return options;
}

TEST_CASE("the names of the 1.6 nightly set what they set there", "[generate][deepsparse_generation]") {
  const GenerationOptions options = options_of(R"({"deterministic": false, "sampling_temperature": 0.5,
      "max_generated_tokens": 128, "force_max_tokens": true, "return_logits": true})");
  CHECK(options.sampling.do_sample);
  CHECK(options.sampling.temperature == 0.5f);
  CHECK(options.max_new_tokens == 128);
  CHECK(options.force_max_tokens);
  CHECK(options.return_logits);
  CHECK(options.include_prompt_logits);
  CHECK_FALSE(options_of(R"({"deterministic": true})").sampling.do_sample);
}

TEST_CASE("the names of 1.8 set what they set there", "[generate][deepsparse_generation]") {
  const GenerationOptions options = options_of(R"({"do_sample": true, "temperature": 0.7, "top_k": 40, "top_p": 0.9,
      "repetition_penalty": 1.1, "presence_penalty": 0.5, "max_new_tokens": 20, "num_return_sequences": 3,
      "output_scores": true, "stop": ["a", "b"]})");
  CHECK(options.sampling.do_sample);
  CHECK(options.sampling.temperature == 0.7f);
  CHECK(options.sampling.top_k == 40);
  CHECK(options.sampling.top_p == 0.9f);
  CHECK(options.sampling.repetition_penalty == 1.1f);
  CHECK(options.sampling.frequency_penalty == 0);
  CHECK(options.sampling.presence_penalty == 0.5f);
  CHECK(options.max_new_tokens == 20);
  CHECK(options.num_return_sequences == 3);
  CHECK(options.return_logits);
  CHECK_FALSE(options.include_prompt_logits);
  CHECK(options.stop == std::vector<std::string>{"a", "b"});
  CHECK(options_of(R"({"stop": "ab"})").stop == std::vector<std::string>{"ab"});
}

TEST_CASE("names of Hugging Face and our own are known", "[generate][deepsparse_generation]") {
  const GenerationOptions options = options_of(R"({"frequency_penalty": 0.25, "min_p": 0.1, "typical_p": 0.8,
      "no_repeat_ngram_size": 3, "min_new_tokens": 4, "eos_token_id": [2, 7], "seed": 18446744073709551615})");
  CHECK(options.sampling.frequency_penalty == 0.25f);
  CHECK(options.sampling.min_p == 0.1f);
  CHECK(options.sampling.typical_p == 0.8f);
  CHECK(options.sampling.no_repeat_ngram == 3);
  CHECK(options.sampling.min_new_tokens == 4);
  CHECK(options.sampling.eos == std::vector<Token>{2, 7});
  CHECK(options.seed == 18446744073709551615u);
  CHECK(options_of(R"({"eos_token_id": 2})").sampling.eos == std::vector<Token>{2});
}

TEST_CASE("what names change can be generated with", "[generate][deepsparse_generation]") {
  CHECK_NOTHROW(options_of(R"({"top_k": -1, "temperature": 0, "do_sample": true})").sampling.validate());
  CHECK(options_of(R"({"top_k": -1})").sampling.top_k == 0);
}

TEST_CASE("a generation_config.json of Hugging Face is understood", "[generate][deepsparse_generation]") {
  const GenerationOptions options = options_of(R"({"_from_model_config": true, "bos_token_id": 1, "eos_token_id": 2,
      "pad_token_id": 0, "max_length": 2048, "transformers_version": "4.35.0", "use_cache": false, "num_beams": 1,
      "cache_implementation": "hybrid", "return_dict_in_generate": true})");
  CHECK(options.max_new_tokens == 2048);
  CHECK(options.sampling.eos == std::vector<Token>{2});
}

TEST_CASE("a prompt without special tokens begins an answer", "[generate][deepsparse_generation]") {
  const GenerationOptions plain = options_of("{}"), bare = options_of(R"({"add_special_tokens": false})");
  CHECK((plain.add_special_tokens && !plain.begins_text));
  CHECK((!bare.add_special_tokens && bare.begins_text));
}

TEST_CASE("max_length wins over max_new_tokens and counts no prompt", "[generate][deepsparse_generation]") {
  CHECK(options_of(R"({"max_length": 7, "max_new_tokens": 50})").max_new_tokens == 7);
  CHECK(options_of(R"({"max_new_tokens": 0})").max_new_tokens == 0);
  CHECK_THROWS_AS(options_of(R"({"max_length": 0})"), Error);
}

TEST_CASE("max_generated_tokens without a limit goes on to the sequence length", "[generate][deepsparse_generation]") {
  for (const char* settings :
       {R"({"max_generated_tokens": null})", R"({"max_generated_tokens": 0})", R"({"max_generated_tokens": -1})"}) {
    CHECK(options_of(settings).max_new_tokens == detail::no_limit);
  }
  CHECK(options_of(R"({"max_new_tokens": null})").max_new_tokens == GenerationOptions().max_new_tokens);
}

TEST_CASE("include_prompt_logits is of use beside output_scores", "[generate][deepsparse_generation]") {
  CHECK(options_of(R"({"output_scores": true, "include_prompt_logits": true})").include_prompt_logits);
  CHECK_FALSE(options_of(R"({"return_logits": true, "include_prompt_logits": false})").include_prompt_logits);
}

TEST_CASE("settings that cannot be kept are refused with a reason", "[generate][deepsparse_generation]") {
  CHECK_THROWS_WITH(options_of(R"({"num_beams": 4})"),
                    "argument \"num_beams\" cannot be 4: only 1: there is no beam search");
  CHECK_THROWS_WITH(options_of(R"({"min_length": 4})"),
                    "argument \"min_length\" cannot be 4: only 0: give `min_new_tokens`");
  CHECK_NOTHROW(options_of(R"({"min_length": 0})"));
  CHECK_THROWS_AS(options_of(R"({"max_time": 1.5})"), Error);
  CHECK_THROWS_AS(options_of(R"({"bad_words_ids": [[1]]})"), Error);
  CHECK_THROWS_AS(options_of(R"({"suppress_tokens": [1]})"), Error);
  CHECK_THROWS_AS(options_of(R"({"eos_token_id": 4294967295})"), Error);
  CHECK_THROWS_AS(options_of(R"({"eos_token_id": "2"})"), Error);
  CHECK_THROWS_AS(options_of(R"({"do_sample": 1})"), Error);
  CHECK_THROWS_AS(options_of(R"({"sequences": "a"})"), Error);
}

}  // namespace
