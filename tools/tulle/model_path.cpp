// SPDX-License-Identifier: Apache-2.0
#include "model_path.hpp"

#include <charconv>
#include <filesystem>
#include <system_error>
#include <tulle/core/environment.hpp>
#include <tulle/core/error.hpp>

#include "progress_bar.hpp"
#include "tools/compiled/hub.hpp"

namespace {

/// ${XDG_CACHE_HOME:-~/.cache}/tulle/models, where tools/run puts the default model; "" where there is no home.
std::string default_model() {
  const std::filesystem::path caches = tulle::user_cache_folder();
  return caches.empty() ? "" : (caches / "tulle" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf").string();
}

std::string resolved(const std::string& path, tulle::HubPart part) {
  ProgressBar bar;
  return local_model(path, bar.progress(), part);
}

/// A path may hold '=': the scale is a number behind the last one.
tulle::AdapterPath read_adapter(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos) return {text};
  float scale = 1;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + at + 1, end, scale);
  if (at == 0) throw UsageError("--lora " + text + " has no path");
  return error == std::errc() && last == end ? tulle::AdapterPath{text.substr(0, at), scale} : tulle::AdapterPath{text};
}

}  // namespace

void add_model_path(CLI::App& flags, std::string& path, const std::string& what) {
  flags
      .add_option(flag_names("-m,--model,--model-path") + ",MODEL", path,
                  what + "; without it the default model that tools/run fetches")
      ->envname("TULLE_MODEL")
      ->type_name("PATH");
}

bool is_given(const std::string& path) {
  return !path.empty() && path != tulle::environment("TULLE_MODEL");
}

void add_adapters(CLI::App& flags, std::vector<tulle::AdapterPath>& adapters) {
  const auto read = [&adapters](const std::vector<std::string>& given) {
    adapters.clear();
    for (const std::string& each : given) adapters.push_back(read_adapter(each));
  };
  flags
      .add_option_function<std::vector<std::string>>(
          "--lora", read,
          "A LoRA adapter (a PEFT directory) to merge into the weights; may be repeated, each with a scale")
      ->type_name("PATH[=SCALE]")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

std::string model_path(const std::string& path) {
  if (!path.empty()) return resolved(path, tulle::HubPart::model);
  std::string fallback = default_model();
  std::error_code error;
  if (!fallback.empty() && std::filesystem::exists(fallback, error)) return fallback;
  tulle::fail(
      tulle::ErrorCode::not_found,
      "no model; give one with --model PATH or TULLE_MODEL, or run tools/run once, which fetches the default model");
}

std::string tokenizer_path(const std::string& path) {
  return path.empty() ? model_path(path) : resolved(path, tulle::HubPart::tokenizer);
}
