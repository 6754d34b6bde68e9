// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <span>
#include <utility>

#include "guard.hpp"

namespace tulle::capi {

static_assert(TULLE_FINISH_NONE == static_cast<int>(FinishReason::none));
static_assert(TULLE_FINISH_STOP == static_cast<int>(FinishReason::stop));
static_assert(TULLE_FINISH_LENGTH == static_cast<int>(FinishReason::length));
static_assert(TULLE_FINISH_CAPACITY == static_cast<int>(FinishReason::capacity));
static_assert(TULLE_FINISH_CANCELLED == static_cast<int>(FinishReason::cancelled));

SessionTable& sessions() {
  static auto* table = new SessionTable;  // never destroyed: threads may outlive the end of main
  return *table;
}

std::shared_ptr<OpenSession> session_of(const tulle_session* handle) {
  auto session = sessions().find(reinterpret_cast<std::uintptr_t>(handle));
  if (session == nullptr) {
    fail(invalid_handle, handle == nullptr ? "the session is NULL" : "this is no session, or it was freed");
  }
  return session;
}

Use::Use(tulle_session* handle) : session_(session_of(handle)) {
  if (session_->used_.exchange(true, std::memory_order_acquire)) {
    fail(busy, "another thread is using this session; give every thread its own");
  }
}

OpenSession::OpenSession(std::shared_ptr<const LoadedModel> model, const EngineOptions& options)
    : model_(std::move(model)),
      options_(options),
      engine_(make_engine(model_->model, options, model_->tokenizer->vocabulary_size())),
      session_(*engine_, *model_->tokenizer) {}

std::shared_ptr<OpenSession> OpenSession::fork() {
  auto copy = std::make_shared<OpenSession>(model_, options_);
  copy->session_.restore(resting().save());
  copy->constraint_ = constraint_;
  return copy;
}

Session& OpenSession::resting() noexcept {
  stream_.reset();
  return session_;
}

void OpenSession::generate(std::vector<Token> tokens, GenerationOptions options, bool keep_logits) {
  stream_.reset();
  logits_.clear();
  unread_logits_.clear();
  timings_ = {};
  options.cancel = &cancel_;
  constraint_.apply(options);
  if (keep_logits) {
    options.observe_logits = [this](std::size_t, Position, std::span<const float> logits) {
      unread_logits_.emplace_back(logits.begin(), logits.end());
    };
  }
  stream_.emplace(session_.start(std::move(tokens), options));
  given_ = session_.history().size();
}

std::optional<double> OpenSession::read_prompt() {
  if (!stream_ || stream_->prompt_fraction() == 1 || !stream_->step()) return std::nullopt;
  timings_ = stream_->timings();
  return stream_->prompt_fraction();
}

bool OpenSession::next(tulle_token& token) {
  if (!stream_) return false;
  if (cancel_.load(std::memory_order_relaxed) && stream_->has_piece()) {  // accepted drafts that nobody has read
    timings_ = stream_->timings();
    stream_.reset();  // the session keeps what was read
    bytes_.clear();
    text_.clear();
    token.id = -1;
    token.log_probability = 0;
    token.finish_reason = TULLE_FINISH_CANCELLED;
    token.bytes = {bytes_.data(), 0};
    token.text = {text_.data(), 0};
    return true;
  }
  auto piece = stream_->next();
  if (!piece) return false;
  if (piece->token >= 0) ++given_;
  if (!unread_logits_.empty()) {
    logits_ = std::move(unread_logits_.front());
    unread_logits_.erase(unread_logits_.begin());
  }
  timings_ = stream_->timings();
  bytes_ = piece->token < 0 ? std::string() : model_->tokenizer->piece(piece->token);
  text_ = std::move(piece->text);
  token.id = piece->token;
  token.log_probability = piece->log_probability;
  token.finish_reason = static_cast<std::int32_t>(piece->finish_reason);
  token.bytes = {bytes_.data(), bytes_.size()};
  token.text = {text_.data(), text_.size()};
  return true;
}

const std::vector<float>& OpenSession::logits() const {
  if (logits_.empty()) {
    fail(ErrorCode::state, "this session keeps no logits; generate with TULLE_KEEP_LOGITS and read a token first");
  }
  return logits_;
}

}  // namespace tulle::capi
