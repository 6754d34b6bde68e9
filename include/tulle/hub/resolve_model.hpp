// SPDX-License-Identifier: Apache-2.0
/// \file Opens models of the Hugging Face Hub: hf:org/name becomes a path in its cache (L4).
#pragma once

#include <filesystem>
#include <string>

#include <tulle/core/error.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/format/json_file.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/hub/find_model.hpp>
#include <tulle/hub/hub_client.hpp>
#include <tulle/hub/hub_download.hpp>
#include <tulle/hub/hub_files.hpp>
#include <tulle/hub/hub_model.hpp>
#include <tulle/hub/hub_settings.hpp>

namespace tulle {

namespace detail {

/// Downloads what the cache lacks of a model. Its path. Errors: those of `resolve_model`.
inline std::string download_model(const HubModel& model, const HubSettings& settings, const Progress& progress,
                                  HubPart part) {
  HubDownload download(model, settings, progress);
  const HubListing listing = download.client().list();
  HubChoice choice = choose_hub_files(model, listing.files, part);
  if (!choice.problem.empty()) fail(ErrorCode::not_found, model.text(), ": ", choice.problem);
  // First what is small, so that whoever finds the weights in the cache finds the rest.
  download.fetch(listing.commit, choice.small);
  const std::filesystem::path snapshot = download.cache().snapshot(listing.commit);
  if (!choice.index.empty()) {
    const std::string index = (snapshot / choice.index).string();
    choice.weights = shards_of_index(read_json_object(index), index);
    for (const std::string& shard : choice.weights) {
      if (!listing.files.contains(shard)) {
        fail(ErrorCode::malformed, model.text(), ": ", choice.index, " names ", quoted_name(shard),
             ", which the hub does not have");
      }
    }
  }
  download.fetch(listing.commit, choice.weights);
  download.cache().set_commit(model.revision, listing.commit);
  return (choice.opened.empty() ? snapshot : snapshot / choice.opened).string();
}

}  // namespace detail

/// The path of a model: `model` as it is, or for hf:org/name[@revision][:file.gguf] a folder or file in the hub's cache. A
/// model that the cache has is used without any request; another one is downloaded (see hub/README.md).
/// `progress` is called while it is; what it throws ends the download, and the next one goes on from there.
/// Errors: invalid_argument, also for a stub of SparseZoo; not_found, also for a model that is private or gated; io for
/// connections and disks; malformed for answers and files that are not what the hub promised.
inline std::string resolve_model(const std::string& model, const Progress& progress, HubPart part,
                                 const HubSettings& settings) {
  return detail::find_model(model, part, settings, [&](const HubModel& named) {
    return detail::download_model(named, settings, progress, part);
  });
}

/// With the settings of the environment.
inline std::string resolve_model(const std::string& model, const Progress& progress = {},
                                 HubPart part = HubPart::model) {
  return parse_hub_model(model) ? resolve_model(model, progress, part, HubSettings::from_environment()) : model;
}

}  // namespace tulle
