// SPDX-License-Identifier: Apache-2.0
/// \file What the hub says of a model: its files, their sizes and digests, and why it refuses (L4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/hub/find_model.hpp>
#include <tulle/hub/http_client.hpp>
#include <tulle/hub/hub_answers.hpp>
#include <tulle/hub/hub_model.hpp>
#include <tulle/hub/hub_settings.hpp>
#include <tulle/hub/hub_url.hpp>

namespace tulle::detail {

/// One repository at one revision.
class HubClient {
 public:
  HubClient(const HubModel& model, const HubSettings& settings) : model_(model), settings_(settings), http_(settings) {}

  /// Errors: HubUnreachable; those of `read_hub_listing` and of `refuse`.
  HubListing list() {
    constexpr std::size_t max_size = std::size_t{32} << 20;
    std::string body;
    const HubUrl url = url_of("/api/models/" + model_.repository + "/revision/" + encode_hub_path(model_.revision, ""));
    const HttpAnswer answer = http_.get(url, 0, [&](const HttpAnswer&, std::string_view piece) {
      if (body.size() + piece.size() > max_size) fail(ErrorCode::malformed, url.text(), ": the answer is too long");
      body += piece;
    });
    if (!answer.is_ok() || !answer.failure.empty()) refuse(answer, "");
    return read_hub_listing(body, model_, url.text());
  }

  /// Errors: HubUnreachable; those of `read_hub_file` and of `refuse`.
  HubFile look_up(const std::string& commit, const std::string& name) {
    const HttpAnswer answer = http_.head(url_of_file(commit, name));
    if (!answer.is_ok() && !answer.is_redirect()) refuse(answer, name);  // its ETag is of a page that says why
    std::string etag = answer.header("X-Linked-ETag");
    if (etag.empty()) etag = answer.header("ETag");
    if (etag.empty() && !answer.is_ok()) refuse(answer, name);
    std::string size = answer.header("X-Linked-Size");
    if (size.empty() && answer.is_ok()) size = answer.header("Content-Length");
    return read_hub_file(model_, name, etag, size);
  }

  /// The file from the byte `begin` on. Errors: those of `HttpClient::get`.
  HttpAnswer get(const std::string& commit, const std::string& name, std::uint64_t begin,
                 const HttpClient::Receive& receive) {
    return http_.get(url_of_file(commit, name), begin, receive);
  }

  /// Whether the same request may get another answer a moment later.
  static bool is_passing(const HttpAnswer& answer) noexcept {
    return !answer.failure.empty() || answer.status == 408 || answer.status == 416 || answer.status == 429 ||
           answer.status >= 500;
  }

  /// Errors: not_found where the hub does not give a file or model; HubUnreachable (io) where it gives no answer.
  [[noreturn]] void refuse(const HttpAnswer& answer, const std::string& file) const {
    const std::string what = file.empty() ? model_.text() : model_.text() + ", " + quoted_name(file);
    const std::string code = answer.header("X-Error-Code"), at = answer.url.origin;
    if (answer.status == 0 || !answer.failure.empty()) {
      throw HubUnreachable(ErrorCode::io, what + (answer.status == 0 ? ": no answer from " : ": stopped by ") + at +
                                              " (" + answer.failure +
                                              "); try again: a download goes on where it ended");
    }
    const bool has_token = !settings_.token.empty();
    if (code == "GatedRepo") {
      fail(ErrorCode::not_found, what, " is gated: accept its terms at ", settings_.endpoint, "/", model_.repository,
           has_token ? "; the token (HF_TOKEN) has no access to it yet" : " and set HF_TOKEN");
    }
    if (answer.status == 403) {
      const std::string message = answer.header("X-Error-Message");
      fail(ErrorCode::not_found, what, ": ", at, " refuses it (403)",
           message.empty() ? "" : ": " + quoted_name(message),
           has_token ? "; has the token (HF_TOKEN) the right to read it?" : "");
    }
    if (answer.status == 401) {
      fail(ErrorCode::not_found, what, ": the hub has no such model, or it is private or gated",
           has_token ? "; the token (HF_TOKEN) is not valid for it" : ": set HF_TOKEN");
    }
    if (code == "RevisionNotFound") {
      fail(ErrorCode::not_found, what, ": the model has no revision ", quoted_name(model_.revision));
    }
    if (answer.status == 404) {
      fail(ErrorCode::not_found, what, ": the hub has no such ", file.empty() ? "model or revision" : "file");
    }
    if (answer.status == 429) {
      throw HubUnreachable(ErrorCode::io, what + ": too many requests to " + at + " (429); wait a few minutes" +
                                              (has_token ? "" : ", or set HF_TOKEN, which allows more"));
    }
    throw HubUnreachable(ErrorCode::io, what + ": " + at + " answers with status " + std::to_string(answer.status) +
                                            "; try again later");
  }

 private:
  HubUrl url_of(const std::string& path) const {
    return parse_hub_url(settings_.endpoint + path).value_or(HubUrl());  // `http_` has read the endpoint
  }
  HubUrl url_of_file(const std::string& commit, const std::string& name) const {
    return url_of("/" + model_.repository + "/resolve/" + commit + "/" + encode_hub_path(name));
  }

  const HubModel& model_;
  const HubSettings& settings_;
  HttpClient http_;
};

}  // namespace tulle::detail
