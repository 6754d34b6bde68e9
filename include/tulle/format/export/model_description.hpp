// SPDX-License-Identifier: Apache-2.0
/// \file What belongs to a model beside its tensors: configs, tokenizer, chat template (L3).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/export/gguf_tokenizer_json.hpp>
#include <tulle/format/gguf_tokenizer.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/text/vocabulary_spec.hpp>

namespace tulle {

struct ModelDescription {
  Json config = Json::object();
  Json generation_config = Json::object();     ///< {}: the model has none
  std::map<std::string, std::string> files{};  ///< tokenizer and chat template: content by name
  std::optional<VocabularySpec> vocabulary{};  ///< of a model that comes from a GGUF file
  std::vector<std::string> notes{};            ///< what could not be brought over, one sentence each
};

namespace detail {

/// Every file of a Hugging Face directory that belongs to its tokenizer.
inline constexpr std::array tokenizer_file_names{
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",   "vocab.json",
    "merges.txt",     "tekken.json",           "tokenizer.model",         "chat_template.jinja", "chat_template.json"};

inline std::map<std::string, std::string> tokenizer_files_of(const ModelFiles& files) {
  std::map<std::string, std::string> found;
  for (const char* name : tokenizer_file_names) {
    if (files.has(name)) found.emplace(name, files.open(name)->text());
  }
  const auto jinja = found.find("chat_template.jinja");
  if (jinja != found.end()) jinja->second = load_chat_template(files);  // with the one for tools
  return found;
}

/// Divisors of the rotary frequencies by "llama3" scaling (Llama 3.1; Hugging Face's `rope_type`).
inline std::vector<double> llama3_divisors(double theta, std::size_t frequencies, double factor, double low,
                                           double high, double original) {
  std::vector<double> divisors(frequencies, 1.0);
  for (std::size_t j = 0; j < frequencies; ++j) {
    const double wavelength =
        2 * std::numbers::pi * std::pow(theta, static_cast<double>(j) / static_cast<double>(frequencies));
    if (wavelength < original / high) continue;
    const double blend = wavelength > original / low ? 0.0 : (original / wavelength - low) / (high - low);
    divisors[j] = 1 / ((1 - blend) / factor + blend);
  }
  return divisors;
}

/// "rope_scaling" as transformers knows it, of a GGUF file's divisors; null where no llama3 scaling gives them.
inline Json llama3_scaling_of(const std::vector<double>& divisors, double theta) {
  constexpr double low = 1, high = 4, original = 8192;  // those of all Llama 3 models; factors differ
  const double factor = divisors.empty() ? 0 : divisors.back();
  const std::vector<double> expected = llama3_divisors(theta, divisors.size(), factor, low, high, original);
  for (std::size_t j = 0; j < divisors.size(); ++j) {
    if (!(std::fabs(expected[j] - divisors[j]) <= 1e-4 * divisors[j])) return nullptr;
  }
  return {{"rope_type", "llama3"},
          {"factor", factor},
          {"low_freq_factor", low},
          {"high_freq_factor", high},
          {"original_max_position_embeddings", static_cast<int>(original)}};
}

/// The config of a GGUF file in the keys of transformers 4 and 5.
inline void complete_gguf_config(ModelDescription& model) {
  Json& config = model.config;
  const Json scaling = config.value("rope_scaling", Json());
  if (scaling.is_object() && scaling.value("rope_type", "") == "factors") {
    const Json known =
        llama3_scaling_of(scaling.at("factors").get<std::vector<double>>(), config.at("rope_theta").get<double>());
    if (known.is_null()) {
      model.notes.push_back(
          "the rotary factors of the file are kept as rope_type \"factors\", which Tulle alone reads");
    } else {
      config["rope_scaling"] = known;
    }
  }
  if (config.contains("rope_theta")) {
    Json parameters = scaling.is_null() ? Json{{"rope_type", "default"}} : config["rope_scaling"];
    parameters["rope_theta"] = config["rope_theta"];
    if (config.value("model_type", "") == "gemma3_text") {  // one set for each kind of layer
      Json windowed{{"rope_type", "default"}, {"rope_theta", config.value("rope_local_base_freq", 10000.0)}};
      parameters = Json{{"full_attention", std::move(parameters)}, {"sliding_attention", std::move(windowed)}};
    }
    config["rope_parameters"] = std::move(parameters);
  }
  for (const char* key : {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"}) {
    if (!config.contains(key)) continue;
    char decimal[32];  // of six digits, as configs have it: 1e-05 and not the float 9.99999975e-06
    std::snprintf(decimal, sizeof decimal, "%.6g", config.at(key).get<double>());
    config[key] = std::stod(decimal);
  }
  config["dtype"] = config["torch_dtype"] = "float16";
  const Json eos = config.value("eos_token_id", Json());
  model.generation_config = {{"bos_token_id", config.value("bos_token_id", Json())}, {"eos_token_id", eos}};
}

inline ModelDescription describe_gguf(const Checkpoint& checkpoint) {
  ModelDescription model;
  model.config = checkpoint.config();
  complete_gguf_config(model);
  const GgufFile& file = *checkpoint.gguf();
  const std::string chat_template = chat_template_from_gguf(file);
  if (!chat_template.empty()) model.files["chat_template.jinja"] = chat_template;
  try {
    const VocabularySpec& spec = model.vocabulary.emplace(gguf_vocabulary(file));
    model.files["tokenizer.json"] = tokenizer_json_of(spec).dump();
    model.files["tokenizer_config.json"] =
        tokenizer_config_of(spec, model.config.value("max_position_embeddings", Json())).dump(2) + "\n";
  } catch (const Error& error) {
    model.notes.push_back(std::string("no tokenizer was written: ") + error.what());
  } catch (const Json::exception& error) {
    model.notes.push_back("no tokenizer was written: a token is no UTF-8");
  }
  return model;
}

}  // namespace detail

/// Everything that lies beside the tensors of an opened model on disk; of a GGUF file what its metadata stand for.
/// Errors: those of reading.
inline ModelDescription describe_checkpoint(const Checkpoint& checkpoint) {
  if (checkpoint.gguf() != nullptr) return detail::describe_gguf(checkpoint);
  ModelDescription model;
  model.config = checkpoint.config();
  model.generation_config = checkpoint.generation_config();
  const std::string& path = checkpoint.path();
  model.files =
      detail::tokenizer_files_of(detail::is_directory(path) ? DirectoryFiles(path) : detail::split_path(path).first);
  return model;
}

}  // namespace tulle
