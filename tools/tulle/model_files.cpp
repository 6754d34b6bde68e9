// SPDX-License-Identifier: Apache-2.0
#include "model_files.hpp"

#include <charconv>
#include <system_error>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/tokenizer_files.hpp>

#include "model_path.hpp"

#ifdef TULLE_WITH_SENTENCEPIECE
#include <tulle/text/sentencepiece.hpp>
using SentencePiece = tulle::SentencePieceLibrary;
#else
using SentencePiece = tulle::OwnSentencePiece;
#endif

namespace {

/// A path may hold '=': the scale is a number behind the last one.
tulle::AdapterPath read_adapter(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos) return {text};
  float scale = 1;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + at + 1, end, scale);
  return error == std::errc() && last == end ? tulle::AdapterPath{text.substr(0, at), scale} : tulle::AdapterPath{text};
}

}  // namespace

std::shared_ptr<const tulle::Checkpoint> open_checkpoint(const std::string& path,
                                                         const std::vector<std::string>& adapters) {
  std::vector<tulle::AdapterPath> paths;
  for (const std::string& adapter : adapters) {
    paths.push_back(read_adapter(adapter));
    paths.back().path = model_path(paths.back().path);
  }
  return tulle::Checkpoint::open(path, paths);
}

std::shared_ptr<const tulle::Tokenizer> open_tokenizer(const std::string& path) {
  return tulle::load_tokenizer<SentencePiece>(path);
}

std::string open_chat_template(const std::string& path) {
  return tulle::load_chat_template(path);
}
