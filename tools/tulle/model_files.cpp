// SPDX-License-Identifier: Apache-2.0
#include "model_files.hpp"

#include <tulle/format/checkpoint.hpp>
#include <tulle/format/tokenizer_files.hpp>

#include "model_path.hpp"

#ifdef TULLE_WITH_SENTENCEPIECE
#include <tulle/text/sentencepiece.hpp>
using SentencePiece = tulle::SentencePieceLibrary;
#else
using SentencePiece = tulle::OwnSentencePiece;
#endif

std::shared_ptr<const tulle::Checkpoint> open_checkpoint(const std::string& path,
                                                         std::vector<tulle::AdapterPath> adapters) {
  for (tulle::AdapterPath& adapter : adapters) adapter.path = model_path(adapter.path);
  return tulle::Checkpoint::open(path, adapters);
}

std::shared_ptr<const tulle::Tokenizer> open_tokenizer(const std::string& path) {
  return tulle::load_tokenizer<SentencePiece>(path);
}

std::string open_chat_template(const std::string& path) {
  return tulle::load_chat_template(path);
}
