// SPDX-License-Identifier: Apache-2.0
/// \file Where a LoRA adapter lies (L3).
#pragma once

#include <string>

namespace tulle {

/// A LoRA adapter as PEFT saves it: a directory with adapter_config.json and adapter_model.safetensors (or .bin).
struct AdapterPath {
  std::string path;
  float scale = 1;  ///< multiplies the adapter's own
};

}  // namespace tulle
