// SPDX-License-Identifier: Apache-2.0
/// \file Speculative decoding of a session.
#include <string>
#include <utility>

#include <tulle/generate/draft/make_speculation.hpp>

#include "arguments.hpp"
#include "compiled/hub.hpp"
#include "guard.hpp"
#include "session.hpp"
#include "tulle_experimental.h"

namespace tulle::capi {

void OpenSession::draft(const DraftOptions& options) {
  const auto open = [this] {
    if (!model_->open) fail(ErrorCode::unsupported, "a copy of the model needs a model that was loaded from a path");
    return model_->open();
  };
  auto speculation = make_speculation({*engine_, *model_->tokenizer, options_, open}, options);
  (void)resting();  // after all that may fail
  engine_->speculate(std::move(speculation));
}

}  // namespace tulle::capi

using namespace tulle;
using namespace tulle::capi;

extern "C" int32_t tulle_session_draft(tulle_session* session, const char* drafter, size_t size, uint32_t max_tokens,
                                       tulle_error* error) {
  return guarded(error, [&] {
    const Use used(session);
    DraftOptions options;
    options.drafter = local_drafter(std::string(read_text(drafter, size, "the drafter")));
    if (options.drafter == "prediction") fail(ErrorCode::unsupported, "a prediction has no text here; give \"ngram\"");
    if (max_tokens != 0) options.speculation.max_tokens = max_tokens;
    used->draft(options);
    return TULLE_OK;
  });
}
