// SPDX-License-Identifier: Apache-2.0
/// \file Any bytes as an answer of the hub, headers before an empty line: whatever is not refused with `tulle::Error`
/// leads to no other place on this machine than the cache, and to no address but one of http or https.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fuzz/standalone_main.hpp>
#include <map>
#include <string>
#include <string_view>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/hub/hub_answers.hpp>
#include <tulle/hub/hub_files.hpp>
#include <tulle/hub/hub_url.hpp>

using namespace tulle;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Read>
void survive(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

/// Of a path below the cache.
void require_inside(const std::string& path) {
  require(!path.empty() && path.front() != '/' && path.back() != '/' && path.find('\0') == std::string::npos);
  require(("/" + path + "/").find("/../") == std::string::npos);
}

void list(std::string_view body, const HubModel& model) {
  const detail::HubListing listing = detail::read_hub_listing(body, model, "address");
  require(listing.commit.size() == 40);
  for (const std::string& name : listing.files) require_inside(name);
  for (const HubPart part : {HubPart::model, HubPart::tokenizer}) {
    const detail::HubChoice choice = detail::choose_hub_files(model, listing.files, part);
    for (const std::string& name : choice.small) require(listing.files.contains(name));
    if (!choice.problem.empty()) continue;
    for (const std::string& name : choice.weights) require(listing.files.contains(name));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::map<std::string, std::string> headers;
  for (bool is_head = true; is_head && !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    is_head = !line.empty();
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) headers.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  for (const HubModel& model :
       {HubModel{"a/b", "main", ""}, HubModel{"a/b", "main", "q8/m-q8_0-00001-of-00002.gguf"}}) {
    survive([&] { list(rest, model); });
  }
  survive([&] {
    for (const std::string& shard : detail::shards_of_index(parse_json(rest, "index"), "index")) {
      require_inside(shard);
      require(shard.find('/') == std::string::npos);
    }
  });
  for (const char* etag : {"ETag", "X-Linked-ETag"}) {
    survive([&] {
      const detail::HubFile file =
          detail::read_hub_file(HubModel{"a/b", "main", ""}, "file", headers[etag], headers["X-Linked-Size"]);
      require_inside(file.etag);
      require(file.etag.find_first_of("./") == std::string::npos);
    });
  }
  if (const auto url = detail::redirected({"https://hub.example.org", "/"}, headers["Location"])) {
    require(url->origin.starts_with("http://") || url->origin.starts_with("https://"));
    require(url->path.starts_with('/') && url->origin.find('@') == std::string::npos);
    require(url->text().find_first_of(" \r\n\\") == std::string::npos);
  }
  return 0;
}
