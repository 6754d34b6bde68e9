// SPDX-License-Identifier: Apache-2.0
/// \file Which families there are, and the description of a model from its config (L3).
#pragma once

#include <span>
#include <string_view>

#include <tulle/core/compiled.hpp>
#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>

namespace tulle {

struct Family {
  std::string_view model_type;  ///< as config.json spells it
  Architecture (*describe)(const Json& config, std::string_view where);
};

/// All that are supported, by name.
std::span<const Family> families();

/// The description of the model that a Hugging Face config names, checked.
/// Errors: unsupported for an unknown model_type, malformed for a config that makes no sense.
Architecture describe_model(const Json& config, std::string_view where);

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/model/families_inline.hpp>
#endif
