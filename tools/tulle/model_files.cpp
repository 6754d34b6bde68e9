// SPDX-License-Identifier: Apache-2.0
#include "model_files.hpp"

#include <tulle/format/checkpoint.hpp>
#include <tulle/format/tokenizer_files.hpp>

#ifdef TULLE_WITH_SENTENCEPIECE
#include <tulle/text/sentencepiece.hpp>
using SentencePiece = tulle::SentencePieceLibrary;
#else
using SentencePiece = tulle::OwnSentencePiece;
#endif

std::shared_ptr<const tulle::Checkpoint> open_checkpoint(const std::string& path) {
  return tulle::Checkpoint::open(path);
}

std::shared_ptr<const tulle::Tokenizer> open_tokenizer(const std::string& path) {
  return tulle::load_tokenizer<SentencePiece>(path);
}

std::string open_chat_template(const std::string& path) {
  return tulle::load_chat_template(path);
}
