// SPDX-License-Identifier: Apache-2.0
/// \file Opening the files of a model. Its source is the one place where the readers of file formats are compiled.
#pragma once

#include <memory>
#include <string>
#include <tulle/format/lora/adapter_path.hpp>
#include <vector>

namespace tulle {
class Checkpoint;
class Tokenizer;
}  // namespace tulle

// The library's functions of like names, with the same errors. Adapters may be those of the hub (model_path.hpp).
std::shared_ptr<const tulle::Checkpoint> open_checkpoint(const std::string& path,
                                                         std::vector<tulle::AdapterPath> adapters = {});
std::shared_ptr<const tulle::Tokenizer> open_tokenizer(const std::string& path);
std::string open_chat_template(const std::string& path);
