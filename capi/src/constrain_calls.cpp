// SPDX-License-Identifier: Apache-2.0
/// \file Structured output of a session. Not in WebAssembly.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "arguments.hpp"
#include "compiled/grammar.hpp"
#include "grammars.hpp"
#include "guard.hpp"
#include "session.hpp"
#include "tulle_experimental.h"

namespace tulle::capi {

Grammars& ModelGrammars::of(const Tokenizer& tokenizer, std::size_t vocabulary) const {
  const std::lock_guard lock(mutex_);
  if (!grammars_) grammars_ = make_grammars(tokenizer, vocabulary);
  return *grammars_;
}

namespace {

/// Errors: invalid_argument for an unknown kind, and those of `Grammars`.
std::shared_ptr<const Constraint> compile(Grammars& grammars, std::int32_t kind, std::string_view text) {
  switch (kind) {
    case TULLE_JSON_OBJECT: return grammars.json_object();
    case TULLE_JSON_SCHEMA: return grammars.json_schema(text);
    case TULLE_GRAMMAR: return grammars.ebnf(text);
    case TULLE_REGEX: return grammars.regex(text);
    default: fail(ErrorCode::invalid_argument, "there is no kind of constraint ", kind);
  }
}

}  // namespace

void OpenSession::constrain(std::int32_t kind, std::string_view text) {
  constraint_.rules = kind == TULLE_UNCONSTRAINED
                          ? nullptr
                          : compile(model_->grammars.of(*model_->tokenizer, engine_->vocabulary()), kind, text);
}

}  // namespace tulle::capi

using namespace tulle;
using namespace tulle::capi;

extern "C" int32_t tulle_session_constrain(tulle_session* session, int32_t kind, const char* text, size_t size,
                                           tulle_error* error) {
  return guarded(error, [&] {
    const Use used(session);
    used->constrain(kind, read_text(text, size, "the constraint"));
    return TULLE_OK;
  });
}
