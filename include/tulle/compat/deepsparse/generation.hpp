// SPDX-License-Identifier: Apache-2.0
/// \file DeepSparse's names for the settings of one generation, each with its meaning here (L5).
///
/// COMPATIBILITY.md shows the same rows, and a test compares the two. Names and defaults are those of DeepSparse's
/// sources: its 1.6 nightly of August 2023 ("1.6 nightly") and its releases 1.6.0 to 1.8 ("1.8").
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <tulle/compat/deepsparse/argument_rows.hpp>
#include <tulle/compat/deepsparse/argument_value.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/types.hpp>
#include <tulle/generate/generation_options.hpp>

namespace tulle {

namespace detail {

/// Limit of tokens for a text that only the sequence length ends.
inline constexpr std::size_t no_limit = std::size_t{1} << 20;

}  // namespace detail

/// Applied in this order: of two names for one setting the later row wins. They are accepted at construction, for all
/// calls, as well as in a call, and inside `generation_config` and `generation_kwargs`.
inline constexpr ArgumentRow<GenerationOptions> generation_rows[] = {
    {"deterministic", "1.6 nightly", "`sampling.do_sample`, inverted",
     [](auto& value, auto& options) { options.sampling.do_sample = !value.boolean(); }},
    {"do_sample", "1.8", "`sampling.do_sample`",
     [](auto& value, auto& options) { options.sampling.do_sample = value.boolean(); }},
    {"sampling_temperature", "1.6 nightly", "`sampling.temperature`; 0 is greedy; counts where `do_sample` is true",
     [](auto& value, auto& options) { options.sampling.temperature = value.number(); }},
    {"temperature", "1.8", "`sampling.temperature`; 0 is greedy; counts where `do_sample` is true",
     [](auto& value, auto& options) { options.sampling.temperature = value.number(); }},
    {"top_k", "1.8", "`sampling.top_k`; 0 and -1 are off, as is the default (DeepSparse: 50)",
     [](auto& value, auto& options) { options.sampling.top_k = value.whole() == -1 ? 0 : value.whole(); }},
    {"top_p", "1.8", "`sampling.top_p`", [](auto& value, auto& options) { options.sampling.top_p = value.number(); }},
    {"repetition_penalty", "1.8", "`sampling.repetition_penalty`, as Hugging Face defines it",
     [](auto& value, auto& options) { options.sampling.repetition_penalty = value.number(); }},
    {"presence_penalty", "1.8", "`sampling.presence_penalty`; counts generated tokens, also when greedy",
     [](auto& value, auto& options) { options.sampling.presence_penalty = value.number(); }},
    {"frequency_penalty", "1.8, server", "`sampling.frequency_penalty`; counts generated tokens, also when greedy",
     [](auto& value, auto& options) { options.sampling.frequency_penalty = value.number(); }},
    {"min_p", "Hugging Face", "`sampling.min_p`",
     [](auto& value, auto& options) { options.sampling.min_p = value.number(); }},
    {"typical_p", "Hugging Face", "`sampling.typical_p`",
     [](auto& value, auto& options) { options.sampling.typical_p = value.number(); }},
    {"no_repeat_ngram_size", "Hugging Face", "`sampling.no_repeat_ngram`",
     [](auto& value, auto& options) { options.sampling.no_repeat_ngram = value.whole(); }},
    {"min_new_tokens", "Hugging Face", "`sampling.min_new_tokens`",
     [](auto& value, auto& options) { options.sampling.min_new_tokens = value.whole(); }},
    {"eos_token_id", "Hugging Face", "`sampling.eos`: an id or a list of ids, in place of the model's own",
     [](auto& value, auto& options) {
       options.sampling.eos.clear();
       for (const std::size_t id : value.counts()) {
         value.require(id <= std::size_t{std::numeric_limits<Token>::max()});
         options.sampling.eos.push_back(static_cast<Token>(id));
       }
     }},
    {"seed", "Tulle", "`seed`", [](auto& value, auto& options) { options.seed = value.seed(); }},
    {"max_generated_tokens", "1.6 nightly", "`max_new_tokens`; null, 0 and less: until the sequence length is reached",
     [](auto& value, auto& options) {
       const bool limited = !value.json().is_null() && value.whole() > 0;
       options.max_new_tokens = limited ? value.count() : detail::no_limit;
     },
     true},
    {"max_new_tokens", "1.8", "`max_new_tokens`: exactly so many; 0 only reads the prompt",
     [](auto& value, auto& options) { options.max_new_tokens = value.count(); }},
    {"max_length", "1.8", "`max_new_tokens`: as in DeepSparse without the prompt, and above `max_new_tokens`",
     [](auto& value, auto& options) { options.max_new_tokens = value.count(1); }},
    {"force_max_tokens", "both", "`force_max_tokens`",
     [](auto& value, auto& options) { options.force_max_tokens = value.boolean(); }},
    {"num_return_sequences", "1.8", "`num_return_sequences`",
     [](auto& value, auto& options) { options.num_return_sequences = value.count(1); }},
    {"stop", "1.8", "`stop`: a text or a list of texts, found whatever tokens they span, and left out",
     [](auto& value, auto& options) { options.stop = value.texts(); }},
    {"return_logits", "1.6 nightly", "`return_logits`, those of the prompt included",
     [](auto& value, auto& options) {
       options.return_logits = value.boolean();
       options.include_prompt_logits = true;
     }},
    {"output_scores", "1.8", "`return_logits`, without those of the prompt",
     [](auto& value, auto& options) {
       options.return_logits = value.boolean();
       options.include_prompt_logits = false;
     }},
    {"include_prompt_logits", "1.8", "`include_prompt_logits`",
     [](auto& value, auto& options) { options.include_prompt_logits = value.boolean(); }},
    {"add_special_tokens", "Hugging Face",
     "`add_special_tokens`; false for a prompt that a chat template made: it has its own, and an answer begins",
     [](auto& value, auto& options) {
       options.add_special_tokens = value.boolean();
       options.begins_text = !options.add_special_tokens;
     }},
    {"use_cache", "Hugging Face", "changes nothing: past keys and values are always kept", detail::change_nothing},
    {"bos_token_id", "Hugging Face", "changes nothing: the tokenizer's files say it", detail::change_nothing},
    {"pad_token_id", "Hugging Face", "changes nothing: nothing is padded", detail::change_nothing},
    {"transformers_version", "Hugging Face", "changes nothing", detail::change_nothing},
    {"_from_model_config", "Hugging Face", "changes nothing", detail::change_nothing},
    {"cache_implementation", "Hugging Face", "changes nothing: give `cache` at construction", detail::change_nothing},
    {"return_dict_in_generate", "Hugging Face", "changes nothing", detail::change_nothing},
    {"num_beams", "Hugging Face", "only 1: there is no beam search",
     [](auto& value, auto&) { value.require(value.count() == 1); }},
    {"min_length", "Hugging Face", "only 0: give `min_new_tokens`",
     [](auto& value, auto&) { value.require(value.count() == 0); }},
    {"max_time", "Hugging Face", "refused: stop by the `cancel` flag or the callback", detail::refuse_all},
    {"bad_words_ids", "Hugging Face", "refused: write a sampler of your own", detail::refuse_all},
    {"suppress_tokens", "Hugging Face", "refused: write a sampler of your own", detail::refuse_all},
};

namespace detail {

/// Applies an object of generation settings alone; `place` names it in messages. Errors: invalid_argument.
inline void apply_generation(const Json& settings, std::string_view place, GenerationOptions& options) {
  std::vector<std::string_view> known;
  append_names<GenerationOptions>(generation_rows, known);
  require_known(settings, place, known);
  apply_rows<GenerationOptions>(generation_rows, settings, options);
}

}  // namespace detail

}  // namespace tulle
