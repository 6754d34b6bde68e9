// SPDX-License-Identifier: Apache-2.0
/// \file Models of the hub, for the programs and libraries of this repository. Its source is the one place where
/// downloading is compiled.
#pragma once

#include <string>
#include <tulle/core/progress.hpp>
#include <tulle/hub/hub_model.hpp>

/// `tulle::resolve_model`. Errors: also unsupported where this build cannot download what the cache lacks.
std::string local_model(const std::string& model, const tulle::Progress& progress = {},
                        tulle::HubPart part = tulle::HubPart::model);
