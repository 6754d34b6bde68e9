// SPDX-License-Identifier: Apache-2.0
/// \file DeepSparse's arguments of constructions and calls, given as JSON, applied to our options (L5).
///
/// COMPATIBILITY.md shows the same rows, and a test compares the two. Source: see generation.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/compat/deepsparse/argument_rows.hpp>
#include <tulle/compat/deepsparse/argument_value.hpp>
#include <tulle/compat/deepsparse/generation.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/json_file.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/text_generation.hpp>
#include <tulle/hub/hub_model.hpp>
#include <tulle/kernel/any_kernel.hpp>

namespace tulle {

/// Arguments of a pipeline's construction, in DeepSparse's names. Its calls start from `defaults`.
struct DeepSparseConstruction {
  std::string model_path;
  TextGenerationOptions options;
  GenerationOptions defaults;
};

/// Arguments of one call. Those that are not about generation are for the code that answers the call.
struct DeepSparseCall {
  GenerationOptions options;
  std::vector<std::string> prompts;
  std::vector<std::string> session_ids;  ///< empty, or one for every prompt
  bool streaming = false;
  bool return_input_tokens = false;
};

namespace detail {

/// Text generation and the names that DeepSparse had for models of it; '-', '_', ' ' and case are one.
inline bool is_text_generation(std::string task) {
  constexpr std::array<std::string_view, 9> known{"textgeneration", "codegeneration", "codegen", "opt", "bloom", "mpt",
                                                  "llama",          "chat",           "chatbot"};
  std::erase_if(task, [](char c) { return c == '-' || c == '_' || c == ' '; });
  for (char& c : task) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(known.begin(), known.end(), task) != known.end();
}

inline void set_model(const ArgumentValue& value, DeepSparseConstruction& target) {
  const std::string path = value.text();
  (void)parse_hub_model(path);  // refuses zoo: with a reason
  target.model_path = path;
}

inline void set_default_config(const ArgumentValue& value, DeepSparseConstruction& target) {
  if (!value.json().is_string()) return apply_generation(value.json(), "generation_config", target.defaults);
  std::string path = value.text();
  if (is_directory(path)) path = join_path(path, "generation_config.json");
  apply_generation(read_json_object(path), path, target.defaults);
}

inline void check_sessions(const DeepSparseCall& call) {
  std::vector<std::string> ids = call.session_ids;
  std::sort(ids.begin(), ids.end());
  if (std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
    fail(ErrorCode::invalid_argument, "a session is named twice; give every prompt its own");
  }
  if (!ids.empty() && ids.size() != call.prompts.size()) {
    fail(ErrorCode::invalid_argument, "there are ", call.prompts.size(), " prompts and ", ids.size(),
         " session ids; give one for every prompt");
  }
}

inline void set_prompts(const ArgumentValue& value, DeepSparseCall& target) {
  value.require(target.prompts.empty());
  target.prompts = value.texts();
  value.require(!target.prompts.empty());
}

}  // namespace detail

/// Read once, when a pipeline is made.
inline constexpr ArgumentRow<DeepSparseConstruction> construction_rows[] = {
    {"task", "both", "text or code generation and chat, under any of DeepSparse's names; no other task",
     [](auto& value, auto&) { value.require(detail::is_text_generation(value.text())); }},
    {"model_path", "both",
     "the path: a Hugging Face folder, one with model.onnx, that file, or a GGUF file (of several parts the first), or "
     "`hf:org/name`; no `zoo:` stub",
     detail::set_model},
    {"model", "1.8", "as `model_path`", detail::set_model},
    {"sequence_length", "both", "`engine.sequence_length`: one number, not a list (DeepSparse: 128, then 1024)",
     [](auto& value, auto& target) {
       value.require(!value.json().is_array());
       target.options.engine.sequence_length = value.count(1);
     }},
    {"prompt_processing_sequence_length", "1.6 nightly", "`engine.prefill_chunk`: any from 1 on (DeepSparse: 64)",
     [](auto& value, auto& target) { target.options.engine.prefill_chunk = value.count(1); }},
    {"prompt_sequence_length", "1.8", "`engine.prefill_chunk`: any from 1 on (DeepSparse: 16)",
     [](auto& value, auto& target) { target.options.engine.prefill_chunk = value.count(1); }},
    {"num_cores", "both", "`engine.threads`; null is one per core",
     [](auto& value, auto& target) { target.options.engine.threads = value.count(1); }},
    {"batch_size", "both", "`engine.max_sequences`, where it asks for more than there are",
     [](auto& value, auto& target) {
       target.options.engine.max_sequences = std::max(target.options.engine.max_sequences, value.count(1));
     }},
    {"continuous_batch_sizes", "1.8",
     "`engine.max_sequences`, likewise: sequences always run side by side, in any number",
     [](auto& value, auto& target) {
       for (const std::size_t size : value.counts()) {
         target.options.engine.max_sequences = std::max(target.options.engine.max_sequences, size);
       }
     }},
    {"generation_config", "1.8", "generation settings for all calls: an object, or the path of its file or folder",
     detail::set_default_config},
    {"kernel", "Tulle", "`kernel`",
     [](auto& value, auto& target) {
       (void)kernel_choice(value.text());
       target.options.kernel = value.text();
     }},
    {"cache", "Tulle", "`engine.cache`", [](auto& value, auto& target) { target.options.engine.cache = value.text(); }},
    {"cache_dtype", "Tulle", "`engine.cache_dtype`",
     [](auto& value, auto& target) { target.options.engine.cache_dtype = value.text(); }},
    {"share_prefixes", "Tulle", "`engine.share_prefixes`; needs the `cache` `paged`",
     [](auto& value, auto& target) { target.options.engine.share_prefixes = value.boolean(); }},
    {"packed_cache", "Tulle",
     "`engine.packed_cache`: where packed weights are kept, so that the next start is quick: `off`, `on`, `auto` or a "
     "file",
     [](auto& value, auto& target) { target.options.engine.packed_cache = value.text(); }},
    {"verify_packed", "Tulle", "`engine.verify_packed`: what was kept is hashed before it is used",
     [](auto& value, auto& target) { target.options.engine.verify_packed = value.boolean(); }},
    {"use_deepsparse_cache", "1.6 nightly", "changes nothing: past keys and values are always kept",
     detail::change_nothing},
    {"internal_kv_cache", "1.8", "changes nothing: past keys and values are always kept", detail::change_nothing},
    {"engine_type", "both", "only `deepsparse`: there is one engine",
     [](auto& value, auto&) { value.require(value.text() == "deepsparse"); }},
    {"num_streams", "1.8", "changes nothing: every step uses all threads", detail::change_nothing},
    {"scheduler", "both", "changes nothing: every step uses all threads", detail::change_nothing},
    {"benchmark", "1.8", "changes nothing", detail::change_nothing},
    {"alias", "both", "changes nothing", detail::change_nothing},
    {"trust_remote_code", "both", "changes nothing: no code comes with a model", detail::change_nothing},
    {"onnx_model_name", "1.8", "refused: an ONNX file is called model.onnx", detail::refuse_all},
    {"input_shapes", "both", "refused: shapes come from the model", detail::refuse_all},
    {"engine_kwargs", "1.8", "refused: give the arguments themselves", detail::refuse_all},
    {"context", "both", "refused: an object of DeepSparse's; give `num_cores`", detail::refuse_all},
    {"executor", "both", "refused: an object of Python's", detail::refuse_all},
    {"middleware_manager", "1.8", "refused: an object of DeepSparse's", detail::refuse_all},
    {"logger_manager", "1.8", "refused: an object of DeepSparse's", detail::refuse_all},
};

/// Read at every call.
inline constexpr ArgumentRow<DeepSparseCall> call_rows[] = {
    {"sequences", "both", "the prompts: a text or a list of texts", detail::set_prompts},
    {"prompt", "1.8", "as `sequences`; one of the two", detail::set_prompts},
    {"generation_config", "1.8", "generation settings: an object; what is given beside it wins",
     [](auto& value, auto& call) { detail::apply_generation(value.json(), "generation_config", call.options); }},
    {"generation_kwargs", "1.8", "likewise; wins over `generation_config`",
     [](auto& value, auto& call) { detail::apply_generation(value.json(), "generation_kwargs", call.options); }},
    {"streaming", "1.8", "pieces as they come: `TextGeneration::stream`",
     [](auto& value, auto& call) { call.streaming = value.boolean(); }},
    {"session_id", "1.6 nightly", "one session (DeepSparse took it and did nothing)",
     [](auto& value, auto& call) { call.session_ids = {value.text()}; }},
    {"session_ids", "1.8", "sessions that go on where they were, one for every prompt, all different",
     [](auto& value, auto& call) { call.session_ids = value.texts(); }},
    {"return_input_tokens", "1.8", "the prompt's ids too: `Tokenizer::encode`",
     [](auto& value, auto& call) { call.return_input_tokens = value.boolean(); }},
    {"fixed_sequences_length", "both", "only false: prompts are neither padded nor cut",
     [](auto& value, auto&) { value.require(!value.boolean()); }},
    {"streamer", "1.6 nightly", "refused: an object of Python's; read the pieces of a stream", detail::refuse_all},
    {"callback", "1.8", "refused: a function; in C++ it is `GenerationOptions::callback`", detail::refuse_all},
};

/// Applies the arguments of a pipeline's construction, of either generation of names; settings of generation among them
/// become defaults. Errors: invalid_argument for an unknown name (with near ones), a value of the wrong type, and a
/// value that is not supported here (with the reason); and those of reading the file of a generation_config.
inline void apply_construction_arguments(const Json& arguments, DeepSparseConstruction& construction) {
  std::vector<std::string_view> known, elsewhere;
  detail::append_names<DeepSparseConstruction>(construction_rows, known);
  detail::append_names<GenerationOptions>(generation_rows, known);
  detail::append_names<DeepSparseCall>(call_rows, elsewhere);
  detail::require_known(arguments, "the construction", known, elsewhere);
  detail::apply_rows<DeepSparseConstruction>(construction_rows, arguments, construction);
  detail::apply_rows<GenerationOptions>(generation_rows, arguments, construction.defaults);
}

/// Applies the arguments of one call; `call.options` starts as the pipeline's defaults. No file is read: the arguments
/// may come from an untrusted source. Errors: invalid_argument, as for a construction.
inline void apply_call_arguments(const Json& arguments, DeepSparseCall& call) {
  std::vector<std::string_view> known, elsewhere;
  detail::append_names<DeepSparseCall>(call_rows, known);
  detail::append_names<GenerationOptions>(generation_rows, known);
  detail::append_names<DeepSparseConstruction>(construction_rows, elsewhere);
  detail::require_known(arguments, "a call", known, elsewhere);
  detail::apply_rows<DeepSparseCall>(call_rows, arguments, call);
  detail::apply_rows<GenerationOptions>(generation_rows, arguments, call.options);
  detail::check_sessions(call);
}

}  // namespace tulle
