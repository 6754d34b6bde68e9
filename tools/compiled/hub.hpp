// SPDX-License-Identifier: Apache-2.0
/// \file Models of the hub, for the programs and libraries of this repository. Its source is the one place where
/// downloading is compiled.
#pragma once

#include <string>
#include <tulle/core/progress.hpp>
#include <tulle/generate/draft/draft_name.hpp>
#include <tulle/hub/hub_model.hpp>

/// `tulle::resolve_model`. Errors: also unsupported where this build cannot download what the cache lacks.
std::string local_model(const std::string& model, const tulle::Progress& progress = {},
                        tulle::HubPart part = tulle::HubPart::model);

/// The name of a drafter with `local_model` of the path that it holds. Errors: those of `local_model`.
inline std::string local_drafter(const std::string& drafter, const tulle::Progress& progress = {}) {
  return tulle::with_local_path(drafter, [&](const std::string& path) { return local_model(path, progress); });
}
