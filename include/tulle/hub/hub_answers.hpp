// SPDX-License-Identifier: Apache-2.0
/// \file What the hub answers, checked before it names anything on this machine (L4).
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/hub/hub_files.hpp>
#include <tulle/hub/hub_model.hpp>

namespace tulle::detail {

/// A revision and its files.
struct HubListing {
  std::string commit;
  HubNames files;
};

/// A file of a repository as the hub describes it.
struct HubFile {
  std::string name;
  std::string etag;                   ///< names the content: at most 128 letters, digits, '-' and '_'
  std::optional<std::uint64_t> size;  ///< in bytes
};

/// `body`: JSON. Errors: malformed for an answer that is none of a hub, or names a file that is no plain path; `where`
/// is the address that was asked.
inline HubListing read_hub_listing(std::string_view body, const HubModel& model, const std::string& where) {
  const Json info = parse_json(body, where);
  HubListing listing;
  const auto files = info.is_object() ? info.find("siblings") : info.end();
  if (info.is_object()) listing.commit = json_value(info, "sha", std::string(), where);
  if (!is_commit(listing.commit) || files == info.end() || !files->is_array()) {
    fail(ErrorCode::malformed, where, " does not answer as a hub does; is HF_ENDPOINT right?");
  }
  for (const Json& file : *files) {
    const auto name = file.is_object() ? json_value(file, "rfilename", std::string(), where) : std::string();
    if (!is_safe_path(name)) {
      fail(ErrorCode::malformed, model.text(), ": the hub names the file ", quoted_name(name), ": refused");
    }
    listing.files.insert(name);
  }
  return listing;
}

/// `etag`: as the header has it, quoted or not. `size`: of a header; what is no number counts as none.
/// Errors: malformed for an ETag that cannot name a file.
inline HubFile read_hub_file(const HubModel& model, std::string name, std::string etag, std::string_view size) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  std::erase(etag, '"');
  const auto is_kept = [](char c) { return is_ascii_alphanumeric(c) || c == '-' || c == '_'; };
  if (etag.empty() || etag.size() > 128 || !std::all_of(etag.begin(), etag.end(), is_kept)) {
    fail(ErrorCode::malformed, model.text(), ": the hub sends no ETag for ", quoted_name(name),
         "; is HF_ENDPOINT right?");
  }
  HubFile file{std::move(name), std::move(etag), std::nullopt};
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bytes);
  if (!size.empty() && error == std::errc() && end == size.data() + size.size()) file.size = bytes;
  return file;
}

}  // namespace tulle::detail
