// SPDX-License-Identifier: Apache-2.0
/// \file The object of a tulle_model handle.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/text/render_chat.hpp>
#include <tulle/text/tokenizer.hpp>

#include "assembly.hpp"
#include "grammars.hpp"
#include "handle_table.hpp"
#include "tulle.h"

namespace tulle::capi {

/// Threads: immutable.
struct LoadedModel {
  std::shared_ptr<const Model<AnyKernel>> model;
  std::shared_ptr<const Tokenizer> tokenizer;  // a NoTokenizer where there is none
  std::string chat_template;                   // "" where there is none
  Assembly assembly;
  std::function<std::shared_ptr<const Checkpoint>()> open;  // its files once more; empty where there are none
  [[no_unique_address]] ModelGrammars grammars;
};

using ModelTable = HandleTable<const LoadedModel, 1>;
ModelTable& models();

/// Errors: invalid_handle.
std::shared_ptr<const LoadedModel> model_of(const tulle_model* handle);

}  // namespace tulle::capi
