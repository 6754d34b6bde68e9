// SPDX-License-Identifier: Apache-2.0
#include "grammar.hpp"

#ifdef TULLE_WITH_GRAMMAR

#include <tulle/grammar/xgrammar.hpp>

std::unique_ptr<tulle::Grammars> make_grammars(const tulle::Tokenizer& tokenizer, std::size_t vocabulary) {
  return std::make_unique<tulle::XGrammars>(tokenizer, vocabulary);
}

#else

#include <tulle/core/error.hpp>

std::unique_ptr<tulle::Grammars> make_grammars(const tulle::Tokenizer&, std::size_t) {
  tulle::fail(tulle::ErrorCode::unsupported,
              "this build of Tulle has no grammars: it was made without xgrammar (CMake option TULLE_WITH_GRAMMAR)");
}

#endif
