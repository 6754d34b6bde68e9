// SPDX-License-Identifier: Apache-2.0
/// \file Where the model is.
#pragma once

#include <string>
#include <tulle/format/lora/adapter_path.hpp>
#include <vector>

#include "command_line.hpp"

/// "--model" alone, also as the one argument without a flag. Where it is not given: the environment's TULLE_MODEL, then
/// the default model in the cache folder.
void add_model_path(
    CLI::App& flags, std::string& path,
    const std::string& what = "A Hugging Face directory, a GGUF file, or hf:org/name[@revision][:file.gguf]");

/// Whether `path`, of that flag, is more than what TULLE_MODEL says.
bool is_given(const std::string& path);

/// "--lora", as often as it is wanted: PATH or PATH=SCALE.
void add_adapters(CLI::App& flags, std::vector<tulle::AdapterPath>& adapters);

/// `path`, or the default model's where it is empty. Of hf:org/name the path in the hub's cache; a bar on stderr shows
/// a download. Errors: not_found, which says what to do; those of `tulle::resolve_model`.
std::string model_path(const std::string& path);

/// The same where only the tokenizer is read: of a model of the hub nothing else is downloaded.
std::string tokenizer_path(const std::string& path);
