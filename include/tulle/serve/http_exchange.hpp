// SPDX-License-Identifier: Apache-2.0
/// \file One request and its answer over HTTP (L6).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/generation_job.hpp>
#include <tulle/serve/http_connections.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>
#include <tulle/serve/served_models.hpp>

namespace tulle::serve {

inline void set_json(httplib::Response& response, const Json& json, int status = 200) {
  response.status = status;
  response.set_content(json.dump(-1, ' ', false, Json::error_handler_t::replace), "application/json");
}

/// The form of an error object: OpenAI's, or Anthropic's.
using ErrorForm = Json (*)(const ApiError&);

inline void set_error(httplib::Response& response, const ApiError& error, ErrorForm form = error_json) {
  if (error.status() == 429) response.set_header("Retry-After", "1");
  set_json(response, form(error), error.status());
}

inline ApiError body_too_long(std::size_t limit) {
  return ApiError(413, "the body of the request is longer than " + std::to_string(limit) + " bytes");
}

/// The body of a request. Errors: ApiError 413 for one that is too long, 400 for one that ends too early.
inline std::string read_body(const httplib::ContentReader& reader, const httplib::Response& response,
                             std::size_t limit) {
  std::string body;
  bool too_long = false;
  const bool complete = reader([&](const char* data, std::size_t size) {
    too_long = size > limit - body.size();
    if (!too_long) body.append(data, size);
    return !too_long;
  });
  CurrentConnection& connection = CurrentConnection::get();
  connection.received();
  connection.closes = !complete;
  if (complete) return body;
  if (too_long || response.status == 413) throw body_too_long(limit);
  if (response.status == 415) throw ApiError(415, "the body must not be compressed (Content-Encoding)");
  throw ApiError(400, "the body of the request is not complete");
}

/// The status in logs where there was nobody to answer.
inline constexpr int client_left = 499;

/// Called when an answer is complete, or its client has left.
using Finished = std::function<void(int status, const GenerationJob& job)>;

namespace detail {

inline constexpr std::chrono::milliseconds patience{250};  // between looks whether the client is still there
inline bool client_has_left() {
  return CurrentConnection::get().is_left();
}

/// All texts, complete. Cancels when the client leaves.
inline std::vector<FinishedText> collect(GenerationJob& job) {
  const std::size_t copies = job.request.options.num_return_sequences;
  std::vector<FinishedText> texts(job.request.prompts.size() * copies);
  while (auto event = job.next(patience, client_has_left)) {
    FinishedText& text = texts[event->piece.generation];
    text.text += event->piece.text;
    text.finish_reason = event->piece.finish_reason;
    if (!event->prompt.empty()) {
      texts[event->piece.generation - event->piece.generation % copies].prompt = std::move(event->prompt);
    }
    if (event->piece.token >= 0) text.events.push_back(std::move(*event));
  }
  return texts;
}

/// What a stream needs until its last byte is sent.
struct SentStream {
  ServedModels::Held held;
  std::shared_ptr<GenerationJob> job;
  std::unique_ptr<Reply> reply;
  Finished finished;
  bool opened = false;

  /// False ends the connection.
  bool send(httplib::DataSink& sink) {
    std::string text;
    try {
      if (!std::exchange(opened, true)) text = reply->opening();
      if (text.empty()) {
        const auto event = job->next(patience, client_has_left);
        text = event ? reply->next(*event) : reply->closing(*job);
        if (!event) {
          (void)sink.write(text.data(), text.size());
          sink.done();
          return true;
        }
      }
    } catch (...) {
      text = reply->failure(current_api_error());
      (void)sink.write(text.data(), text.size());
      sink.done();
      return true;
    }
    return text.empty() || sink.write(text.data(), text.size());
  }

  /// Returns when the job has ended, wherever the reader left it: its figures are complete then.
  void end() {
    job->cancel();  // changes nothing after the last token
    try {
      while (job->next()) {
      }
    } catch (...) {
      return;  // an error that there is nobody to tell
    }
  }
};

}  // namespace detail

/// Submits a prepared request and answers it, as a whole or by server-sent events. Errors: those of the request before
/// its answer has begun.
inline void answer(ServedModels::Held held, PreparedRequest prepared, const httplib::Request& request,
                   httplib::Response& response, Finished finished) {
  const auto job = held.worker->submit(std::move(prepared.request));
  job->wait_until_taken();
  if (!prepared.streams) {
    const std::vector<FinishedText> texts = detail::collect(*job);
    set_json(response, prepared.reply->whole(texts, *job));
    finished(job->cancelled() && detail::client_has_left() ? client_left : 200, *job);
    return;
  }
  const auto stream = std::make_shared<detail::SentStream>(
      detail::SentStream{std::move(held), job, std::move(prepared.reply), std::move(finished)});
  response.set_header("Cache-Control", "no-cache");
  response.set_header("X-Accel-Buffering", "no");
  const char* const type = "text/event-stream; charset=utf-8";
  const auto send = [stream](std::size_t, httplib::DataSink& sink) { return stream->send(sink); };
  const auto end = [stream](bool complete) {
    stream->end();
    stream->finished(complete ? 200 : client_left, *stream->job);
  };
  if (request.version == "HTTP/1.0") {  // which knows no chunks: the answer ends with the connection
    CurrentConnection::get().closes = true;
    response.set_content_provider(type, send, end);
  } else {
    response.set_chunked_content_provider(type, send, end);
  }
}

}  // namespace tulle::serve
