// SPDX-License-Identifier: Apache-2.0
/// \file The exported functions that take a session.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "assembly.hpp"
#include "guard.hpp"
#include "session.hpp"
#include "tulle_experimental.h"

using namespace tulle;
using namespace tulle::capi;

namespace {

const EngineOptions engine_defaults;
const tulle_session_options session_defaults{sizeof(tulle_session_options), 0, {nullptr, 0},         0,
                                             engine_defaults.prefill_chunk, 0, engine_defaults.sinks};

constexpr std::uint32_t generate_flags = TULLE_IGNORE_EOS | TULLE_NO_SPECIAL_TOKENS | TULLE_SHOW_SPECIAL_TOKENS |
                                         TULLE_LOG_PROBABILITIES | TULLE_KEEP_LOGITS;

tulle_generate_options generate_defaults() {
  const GenerationOptions generation;
  const SamplingOptions& sampling = generation.sampling;
  tulle_generate_options options{};
  options.struct_size = sizeof options;
  options.max_new_tokens = generation.max_new_tokens;
  options.seed = generation.seed;
  options.temperature = sampling.temperature;
  options.top_p = sampling.top_p;
  options.min_p = sampling.min_p;
  options.typical_p = sampling.typical_p;
  options.repetition_penalty = sampling.repetition_penalty;
  options.presence_penalty = sampling.presence_penalty;
  options.frequency_penalty = sampling.frequency_penalty;
  options.top_k = sampling.top_k;
  options.no_repeat_ngram = sampling.no_repeat_ngram;
  options.min_new_tokens = sampling.min_new_tokens;
  return options;
}

/// Errors: invalid_argument for more threads than any machine has.
EngineOptions engine_options(const tulle_session_options* given, const LoadedModel& model) {
  constexpr std::uint32_t max_threads = 1024;
  const tulle_session_options read = read_struct(given, session_defaults, "tulle_session_options");
  if (read.threads > max_threads) fail(ErrorCode::invalid_argument, "a session has at most ", max_threads, " threads");
  EngineOptions options;
  const std::string_view cache = read_text(read.cache, "the cache");
  choose_cache(cache.empty() ? std::string_view(model.assembly.cache) : cache, options);
  options.threads = read.threads;
  options.sequence_length = size_of_u64(read.sequence_length);
  options.prefill_chunk = size_of_u64(read.prompt_sequence_length);
  options.window = size_of_u64(read.window);
  options.sinks = size_of_u64(read.sinks);
  options.max_sequences = 1;
  return options;
}

/// Whether a setting of chance is not the default. A temperature of 0 is greedy.
bool has_chance(const tulle_generate_options& read) {
  const tulle_generate_options off = generate_defaults();
  return read.temperature != 0 &&
         (read.temperature != off.temperature || read.top_k != off.top_k || read.top_p != off.top_p ||
          read.min_p != off.min_p || read.typical_p != off.typical_p);
}

GenerationOptions generation_options(const tulle_generate_options& read, const LoadedModel& model) {
  check_flags(read.flags, generate_flags);
  GenerationOptions options;
  options.max_new_tokens = size_of_u64(read.max_new_tokens);
  options.seed = read.seed;
  options.force_max_tokens = (read.flags & TULLE_IGNORE_EOS) != 0;
  options.add_special_tokens = (read.flags & TULLE_NO_SPECIAL_TOKENS) == 0;
  options.begins_text = !options.add_special_tokens;
  options.skip_special_tokens = (read.flags & TULLE_SHOW_SPECIAL_TOKENS) == 0;
  options.log_probabilities = (read.flags & TULLE_LOG_PROBABILITIES) != 0;
  SamplingOptions& sampling = options.sampling;
  std::string_view sampler = read_text(read.sampler, "the sampler");
  if (sampler.empty()) sampler = model.assembly.sampler;
  if (sampler.empty()) sampler = has_chance(read) ? "hugging_face" : "greedy";
  choose_sampler(sampler, sampling);
  sampling.temperature = read.temperature;
  sampling.top_p = read.top_p;
  sampling.min_p = read.min_p;
  sampling.typical_p = read.typical_p;
  sampling.repetition_penalty = read.repetition_penalty;
  sampling.presence_penalty = read.presence_penalty;
  sampling.frequency_penalty = read.frequency_penalty;
  sampling.top_k = read.top_k;
  sampling.no_repeat_ngram = read.no_repeat_ngram;
  sampling.min_new_tokens = read.min_new_tokens;
  const auto eos = read_array(read.eos, read.eos_count, "eos");
  sampling.eos.assign(eos.begin(), eos.end());
  for (const tulle_string& stop : read_array(read.stop, read.stop_count, "stop")) {
    options.stop.emplace_back(read_text(stop, "a stop string"));
  }
  return options;
}

/// The frame of the functions that create a session: `make` returns the object of the handle.
template <class Make>
std::int32_t open_into(tulle_session** session, tulle_error* error, Make&& make) noexcept {
  if (session != nullptr) *session = nullptr;
  return guarded(error, [&] {
    check_output(session, "session");
    *session = reinterpret_cast<tulle_session*>(sessions().add(make()));
    return TULLE_OK;
  });
}

/// The frame of both ways to generate: `tokens_of(session, options)` gives what is appended.
template <class TokensOf>
std::int32_t generate(tulle_session* session, const tulle_generate_options* given, tulle_error* error,
                      TokensOf&& tokens_of) noexcept {
  return guarded(error, [&] {
    const Use used(session);
    used->forget_cancel();
    const auto read = read_struct(given, generate_defaults(), "tulle_generate_options");
    const GenerationOptions options = generation_options(read, used->model());
    std::vector<Token> tokens = tokens_of(used->resting(), options);
    used->generate(std::move(tokens), options, (read.flags & TULLE_KEEP_LOGITS) != 0);
    return TULLE_OK;
  });
}

}  // namespace

extern "C" {

int32_t tulle_session_options_init(tulle_session_options* options, uint32_t struct_size) {
  return guarded(nullptr, [&] { return init_struct(options, struct_size, session_defaults, "tulle_session_options"); });
}

int32_t tulle_generate_options_init(tulle_generate_options* options, uint32_t struct_size) {
  return guarded(nullptr,
                 [&] { return init_struct(options, struct_size, generate_defaults(), "tulle_generate_options"); });
}

int32_t tulle_session_new(const tulle_model* model, const tulle_session_options* options, tulle_session** session,
                          tulle_error* error) {
  return open_into(session, error, [&] {
    auto loaded = model_of(model);
    const EngineOptions engine = engine_options(options, *loaded);
    return std::make_shared<OpenSession>(std::move(loaded), engine);
  });
}

int32_t tulle_session_free(tulle_session* session) {
  if (session == nullptr) return TULLE_OK;
  return guarded(nullptr, [&] {
    const auto removed = sessions().remove(reinterpret_cast<std::uintptr_t>(session));
    if (removed == nullptr) return TULLE_INVALID_HANDLE;
    removed->cancel();
    return TULLE_OK;
  });
}

int32_t tulle_session_generate(tulle_session* session, const char* text, size_t text_size,
                               const tulle_generate_options* options, tulle_error* error) {
  return generate(session, options, error, [&](const Session& resting, const GenerationOptions& generation) {
    return resting.encode(read_text(text, text_size, "the text"), generation);
  });
}

int32_t tulle_session_generate_tokens(tulle_session* session, const int32_t* tokens, size_t count,
                                      const tulle_generate_options* options, tulle_error* error) {
  return generate(session, options, error, [&](const Session&, const GenerationOptions&) {
    const auto ids = read_array(tokens, count, "tokens");
    return std::vector<Token>(ids.begin(), ids.end());
  });
}

int32_t tulle_session_next(tulle_session* session, tulle_token* token, tulle_error* error) {
  return guarded(error, [&] {
    const Use used(session);
    tulle_token next{};
    (void)output_size(token, "tulle_token");  // checked before a token is generated
    if (!used->next(next)) return TULLE_END;
    (void)session_of(session);  // freed meanwhile: its strings end with it
    write_struct(token, next, "tulle_token");
    return TULLE_OK;
  });
}

int32_t tulle_session_cancel(tulle_session* session) {
  return guarded(nullptr, [&] {
    session_of(session)->cancel();
    return TULLE_OK;
  });
}

int32_t tulle_session_logits(tulle_session* session, float* logits, size_t capacity, size_t* size, tulle_error* error) {
  return guarded(error, [&] {
    const Use used(session);
    return write_array(std::span(used->logits()), logits, capacity, size);
  });
}

int32_t tulle_session_history(tulle_session* session, int32_t* tokens, size_t capacity, size_t* size,
                              tulle_error* error) {
  return guarded(error, [&] {
    const Use used(session);
    return write_array(used->history(), tokens, capacity, size);
  });
}

int32_t tulle_session_truncate(tulle_session* session, size_t length, tulle_error* error) {
  return guarded(error, [&] {
    const Use used(session);
    used->resting().truncate(length);
    return TULLE_OK;
  });
}

int32_t tulle_session_fork(tulle_session* session, tulle_session** copy, tulle_error* error) {
  return open_into(copy, error, [&] { return Use(session)->fork(); });
}

int32_t tulle_session_save(tulle_session* session, void* bytes, size_t capacity, size_t* size, tulle_error* error) {
  return guarded(error, [&] {
    const Use used(session);
    const std::vector<std::byte> saved = used->resting().save();
    return write_array(std::span(saved), static_cast<std::byte*>(bytes), capacity, size);
  });
}

int32_t tulle_session_restore(tulle_session* session, const void* bytes, size_t size, tulle_error* error) {
  return guarded(error, [&] {
    const Use used(session);
    used->resting().restore(read_array(static_cast<const std::byte*>(bytes), size, "the saved session"));
    return TULLE_OK;
  });
}

int32_t tulle_session_read_prompt(tulle_session* session, double* fraction, tulle_error* error) {
  return guarded(error, [&] {
    check_output(fraction, "fraction");
    const Use used(session);
    const auto read = used->read_prompt();
    if (!read) return TULLE_END;
    *fraction = *read;
    return TULLE_OK;
  });
}

int32_t tulle_session_timings(tulle_session* session, tulle_timings* timings, tulle_error* error) {
  return guarded(error, [&] {
    const Use used(session);
    const Timings& measured = used->timings();
    write_struct(timings,
                 tulle_timings{0, 0, measured.prompt_tokens, measured.generated_tokens, measured.prefill_seconds,
                               measured.decode_seconds, measured.draft_tokens, measured.accepted_draft_tokens},
                 "tulle_timings");
    return TULLE_OK;
  });
}

uint64_t tulle_live_handles(void) {
  uint64_t live = 0;
  (void)guarded(nullptr, [&] {
    live = models().live() + sessions().live();
    return TULLE_OK;
  });
  return live;
}

}  // extern "C"
