// SPDX-License-Identifier: Apache-2.0
/// \file Where the model is.
#pragma once

#include <string>
#include <vector>

#include "command_line.hpp"

/// "--model" alone. Where it is not given: the environment's TULLE_MODEL, then the default model in the cache folder.
void add_model_path(CLI::App& flags, std::string& path,
                    const std::string& what = "A Hugging Face directory or a GGUF file");

/// "--lora", as often as it is wanted: PATH or PATH=SCALE.
void add_adapters(CLI::App& flags, std::vector<std::string>& adapters);

/// `path`, or the default model's where it is empty. Errors: not_found, which says what to do.
std::string model_path(const std::string& path);
