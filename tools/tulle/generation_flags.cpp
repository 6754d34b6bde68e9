// SPDX-License-Identifier: Apache-2.0
#include "generation_flags.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include <tulle/core/error.hpp>
#include <tulle/sampling/sampling_options.hpp>

void GenerationFlags::add_to(CLI::App& flags) {
  const auto add = [&]<class Value>(const char* names, Value& value, const char* type, const char* what,
                                    const char* group = "Sampling") {
    CLI::Option* option = flags.add_option(flag_names(names), value, what)->capture_default_str();
    if constexpr (std::is_unsigned_v<Value>) {
      option->check(in_range(Value{0}, std::numeric_limits<Value>::max()));
    }
    return option->type_name(type)->group(group);
  };
  const char* length = "Length";
  add("-n,--max-new-tokens,--max-generated-tokens", options_.max_new_tokens, "N", "Generate at most so many tokens",
      length);
  add("--min-new-tokens", options_.sampling.min_new_tokens, "N", "No end of text before so many tokens", length);
  stop_ = flags.add_option("--stop", "End the text before this string; may be given several times")
              ->type_name("S")
              ->group(length)
              ->expected(1)
              ->take_all()
              ->allow_extra_args(false);
  flags.add_flag(flag_names("--force-max-tokens"), options_.force_max_tokens, "Go on after the model's end of text")
      ->group(length);

  tulle::SamplingOptions& sampling = options_.sampling;
  drawing_ = {
      add("-t,--temperature,--sampling-temperature", sampling.temperature, "T", "Divides the logits; 0: greedy"),
      add("--top-k", sampling.top_k, "K", "Draw from the K most probable tokens; 0: off"),
      add("--top-p", sampling.top_p, "P", "Draw from the fewest tokens that hold probability P; 1: off"),
      add("--min-p", sampling.min_p, "P", "Draw from tokens with at least P times the best one's probability; 0: off"),
      add("--typical-p", sampling.typical_p, "P", "Draw from the most typical tokens that hold probability P; 1: off"),
      add("--seed", options_.seed, "N", "The same seed draws the same text")};
  add("--repetition-penalty", sampling.repetition_penalty, "X",
      "Divides logits of tokens already in prompt or text; 1: off");
  add("--presence-penalty", sampling.presence_penalty, "X", "Taken from logits of tokens already generated; 0: off");
  add("--frequency-penalty", sampling.frequency_penalty, "X", "The same for each time they were generated; 0: off");
  add("--no-repeat-ngram", sampling.no_repeat_ngram, "N", "No N tokens in a row come twice; 0: off");
  add("--sampler-order", order_, "hugging_face|llama_cpp", "In which order logits are transformed")
      ->check(CLI::IsMember({"hugging_face", "llama_cpp"}).description(""));

  flags
      .add_flag(flag_names("--show-special-tokens"), show_special_tokens_,
                "Write special tokens such as <|im_end|> too")
      ->group("Text");
}

tulle::GenerationOptions GenerationFlags::options() const {
  tulle::GenerationOptions options = options_;
  options.stop = stop_->results();
  for (const std::string& stop : options.stop) require_utf8(stop, "--stop");
  options.skip_special_tokens = !show_special_tokens_;
  options.sampling.order = tulle::sampler_order(order_);
  options.sampling.do_sample =
      std::any_of(drawing_.begin(), drawing_.end(), [](const CLI::Option* flag) { return flag->count() > 0; });
  try {
    options.sampling.validate();
  } catch (const tulle::Error& error) {
    throw UsageError(error.what());
  }
  return options;
}
