// SPDX-License-Identifier: Apache-2.0
/// \file The path of a model of the hub: in the cache, or what a download gives (L4).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/format/json_file.hpp>
#include <tulle/hub/hub_cache.hpp>
#include <tulle/hub/hub_files.hpp>
#include <tulle/hub/hub_model.hpp>
#include <tulle/hub/hub_settings.hpp>

namespace tulle::detail {

/// What the cache has of a model.
struct CachedModel {
  std::string path;            ///< of the snapshot or of its GGUF file
  bool may_lack_file = false;  ///< the hub may have a tokenizer, or other weights, that the cache lacks
};

/// The model of the revision that was last looked up, where all weights that it needs are there; nothing otherwise.
inline std::optional<CachedModel> find_cached_model(const HubCache& cache, const HubModel& model, HubPart part) {
  const std::string commit = cache.commit_of(model.revision);
  if (commit.empty()) return std::nullopt;
  const HubNames names = cache.files_of(commit);
  const HubChoice choice = choose_hub_files(model, names, part);
  if (!choice.problem.empty()) return std::nullopt;
  const std::filesystem::path snapshot = cache.snapshot(commit);
  if (!choice.index.empty()) {
    const std::string index = (snapshot / choice.index).string();
    for (const std::string& shard : shards_of_index(read_json_object(index), index)) {
      if (!names.contains(shard)) return std::nullopt;
    }
  }
  // A configuration without its weights may be the rest of a model in another form, which comes before a GGUF file.
  const bool may_lack_weights = !choice.opened.empty() && model.file.empty() && names.contains("config.json");
  return CachedModel{(choice.opened.empty() ? snapshot : snapshot / choice.opened).string(),
                     may_lack_weights || !choice.has_tokenizer};
}

/// Thrown by a download where the hub cannot be reached: what the cache has may do.
class HubUnreachable : public Error {
 public:
  using Error::Error;
};

/// `model` as it is where it is no name of the hub. Else what the cache has, or download(HubModel), a path.
/// Errors: those of `parse_hub_model`; not_found where the settings forbid to download; those of `download`.
template <class Download>
std::string find_model(const std::string& model, HubPart part, const HubSettings& settings, Download&& download) {
  const std::optional<HubModel> named = parse_hub_model(model);
  if (!named) return model;
  const auto cached = find_cached_model(HubCache(settings.cache, named->repository), *named, part);
  if (cached && (settings.offline || !cached->may_lack_file)) return cached->path;
  if (settings.offline) {
    fail(ErrorCode::not_found, named->text(), " is not in the cache ", settings.cache,
         ", and HF_HUB_OFFLINE forbids to download it");
  }
  try {
    return std::forward<Download>(download)(*named);
  } catch (const HubUnreachable&) {
    if (cached) return cached->path;
    throw;
  }
}

}  // namespace tulle::detail
