// SPDX-License-Identifier: Apache-2.0
/// \file The object of a tulle_session handle.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/generate/draft/draft_options.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/session.hpp>
#include <tulle/generate/text_stream.hpp>

#include "grammars.hpp"
#include "handle_table.hpp"
#include "model.hpp"
#include "tulle.h"

namespace tulle::capi {

/// A session with its own engine, so that sessions on one model run in parallel. Threads: one at a time, ensured by
/// `Use`; `cancel` is for all.
class OpenSession {
 public:
  OpenSession(std::shared_ptr<const LoadedModel> model, const EngineOptions& options);

  /// The same history, keys and values, in an engine of its own. Errors: memory.
  std::shared_ptr<OpenSession> fork();

  const LoadedModel& model() const noexcept { return *model_; }
  /// No generation is under way afterwards.
  Session& resting() noexcept;
  /// Every token that was appended or read: not what a draft has brought and `next` has not given yet.
  std::span<const Token> history() const { return stream_ ? session_.history().first(given_) : session_.history(); }

  void generate(std::vector<Token> tokens, GenerationOptions options, bool keep_logits);
  /// One pass over the prompt; how much of it has been read. Nothing where all of it has.
  std::optional<double> read_prompt();
  /// False when nothing more comes.
  bool next(tulle_token& token);
  /// What guesses tokens from now on. Errors: those of `make_speculation`, which change nothing.
  void draft(const DraftOptions& options);
  /// What texts follow from now on. Errors: invalid_argument, unsupported; nothing changes then.
  void constrain(std::int32_t kind, std::string_view text);
  void cancel() noexcept { cancel_.store(true, std::memory_order_relaxed); }
  void forget_cancel() noexcept { cancel_.store(false, std::memory_order_relaxed); }  ///< before a generation begins
  /// Errors: state when the generation does not keep them.
  const std::vector<float>& logits() const;
  const Timings& timings() const noexcept { return timings_; }

 private:
  friend class Use;

  std::shared_ptr<const LoadedModel> model_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  Session session_;
  [[no_unique_address]] TextConstraint constraint_;
  std::vector<float> logits_;                      // of the last token
  std::vector<std::vector<float>> unread_logits_;  // of those that come next
  std::optional<TextStream> stream_;
  std::size_t given_ = 0;  // tokens of the history, while there is a stream
  Timings timings_;
  std::string bytes_, text_;  // of the last token
  std::atomic<bool> cancel_ = false;
  std::atomic<bool> used_ = false;
};

using SessionTable = HandleTable<OpenSession, 2>;
SessionTable& sessions();

/// One call's hold on a session. Errors: invalid_handle, and busy while another call holds it.
class Use {
 public:
  explicit Use(tulle_session* handle);
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { session_->used_.store(false, std::memory_order_release); }
  OpenSession* operator->() const noexcept { return session_.get(); }

 private:
  std::shared_ptr<OpenSession> session_;
};

/// Errors: invalid_handle.
std::shared_ptr<OpenSession> session_of(const tulle_session* handle);

}  // namespace tulle::capi
