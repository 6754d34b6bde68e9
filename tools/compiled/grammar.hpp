// SPDX-License-Identifier: Apache-2.0
/// \file Grammars for the programs and libraries of this repository. Its source is the one place where xgrammar is
/// included.
#pragma once

#include <cstddef>
#include <memory>
#include <tulle/grammar/grammars.hpp>
#include <tulle/text/tokenizer.hpp>

/// `tulle::XGrammars`. Errors: its own; unsupported where this build has none.
std::unique_ptr<tulle::Grammars> make_grammars(const tulle::Tokenizer& tokenizer, std::size_t vocabulary);
