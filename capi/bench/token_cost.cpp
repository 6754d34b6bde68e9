// SPDX-License-Identifier: Apache-2.0
// Microseconds per token in a session of one thread, through the C++ headers or through the C ABI; the minimum of
// several runs. bindings/overhead.py compares them.       usage: token_cost cpp|c MODEL TOKENS
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/generate/engine.hpp>
#include <tulle/generate/text_generation.hpp>

#include "tulle.h"

namespace {

using Clock = std::chrono::steady_clock;

/// `generate` generates all tokens; the first is excluded: the clock starts when it has arrived.
double min_microseconds(std::size_t tokens, const std::function<void(Clock::time_point& first)>& generate) {
  double least = std::numeric_limits<double>::max();
  for (int run = 0; run < 5; ++run) {
    Clock::time_point first;
    generate(first);
    const double seconds = std::chrono::duration<double>(Clock::now() - first).count();
    least = std::min(least, seconds * 1e6 / static_cast<double>(tokens - 1));
  }
  return least;
}

double through_cpp(const std::string& path, std::size_t tokens) {
  tulle::EngineOptions engine;
  engine.threads = 1;
  engine.max_sequences = 1;
  tulle::TextGenerationOptions options;
  options.engine = engine;
  tulle::TextGeneration pipeline(path, options);
  tulle::GenerationOptions generation;
  generation.max_new_tokens = tokens;
  generation.force_max_tokens = true;
  return min_microseconds(tokens, [&](Clock::time_point& first) {
    tulle::Session session = pipeline.session();
    tulle::TextStream stream = session.start(session.encode("Once upon a time"), generation);
    (void)stream.next();
    first = Clock::now();
    while (stream.next()) {
    }
  });
}

double through_c(const std::string& path, std::size_t tokens) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_token token = TULLE_TOKEN_INIT;
  tulle_model* model = nullptr;
  tulle_session* session = nullptr;
  tulle_session_options options;
  tulle_generate_options generation;
  (void)tulle_session_options_init(&options, sizeof options);
  (void)tulle_generate_options_init(&generation, sizeof generation);
  options.threads = 1;
  generation.max_new_tokens = tokens;
  generation.flags = TULLE_IGNORE_EOS;
  const auto check = [&](std::int32_t status) {
    if (status != TULLE_OK) tulle::fail(tulle::ErrorCode::state, error.message);
  };
  check(tulle_model_load(path.data(), path.size(), nullptr, &model, &error));
  check(tulle_session_new(model, &options, &session, &error));
  const double least = min_microseconds(tokens, [&](Clock::time_point& first) {
    check(tulle_session_truncate(session, 0, &error));
    check(tulle_session_generate(session, "Once upon a time", 16, &generation, &error));
    check(tulle_session_next(session, &token, &error));
    first = Clock::now();
    while (tulle_session_next(session, &token, &error) == TULLE_OK) {
    }
  });
  (void)tulle_session_free(session);
  (void)tulle_model_free(model);
  return least;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 4) tulle::fail(tulle::ErrorCode::invalid_argument, "usage: token_cost cpp|c MODEL TOKENS");
  const auto tokens = static_cast<std::size_t>(std::stoul(arguments[3]));
  const bool c = std::string_view(arguments[1]) == "c";
  std::printf("%.3f\n", c ? through_c(arguments[2], tokens) : through_cpp(arguments[2], tokens));
} catch (const std::exception& error) {
  std::fprintf(stderr, "token_cost: %s\n", error.what());
  return 1;
}
