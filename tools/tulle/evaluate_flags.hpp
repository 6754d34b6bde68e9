// SPDX-License-Identifier: Apache-2.0
/// \file The flags of `tulle evaluate`.
#pragma once

#include <cstddef>
#include <string>

#include "model_flags.hpp"

struct EvaluateFlags {
  ModelFlags model;
  std::string dataset, method = "windows", text_column, reference, reference_kernel, multiple_choice, humaneval;
  std::string output = "samples.jsonl";
  std::size_t window = 0, stride = 0, every = 1, max_samples = 0, max_new_tokens = 512;
  bool chat = false, json = false;
};
