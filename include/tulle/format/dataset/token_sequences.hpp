// SPDX-License-Identifier: Apache-2.0
/// \file Sequences of tokens out of a dataset, for calibration and evaluation (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/format/dataset/dataset_row.hpp>
#include <tulle/format/dataset/read_dataset.hpp>
#include <tulle/text/chat_message.hpp>
#include <tulle/text/render_chat.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

struct TokenSequenceOptions {
  std::size_t max_length = 384;   ///< tokens of a sequence
  std::size_t max_sequences = 0;  ///< the first ones, in order; 0: all
  bool chat = false;              ///< a row's text becomes the user's message in the model's chat template
};

/// What turns text into tokens. Lifetime: the tokenizer must outlive it.
struct TextEncoder {
  const Tokenizer& tokenizer;
  std::string chat_template = {};  ///< the model's; empty: it has none

  /// The tokens of a row, with the tokenizer's own special tokens around them; of messages, those of the text that the
  /// chat template makes of them, which writes its special tokens itself. Errors: those of `render_chat`.
  std::vector<Token> encode(const DatasetRow& row, bool chat) const {
    if (!chat && row.messages.empty()) return tokenizer.encode(row.text, {.add_special_tokens = true});
    const std::vector<ChatMessage> user{{"user", row.text}};
    return tokenizer.encode(render_chat(chat_template, tokenizer, row.messages.empty() ? user : row.messages,
                                        /*add_generation_prompt=*/false));
  }
};

/// A stream of tokens, cut into sequences of exactly `max_length`; what remains at its end is left out.
/// Errors: invalid_argument when there is not one whole sequence.
inline std::vector<std::vector<Token>> cut_tokens(std::span<const Token> tokens, const TokenSequenceOptions& options) {
  if (options.max_length == 0) fail(ErrorCode::invalid_argument, "a sequence must have at least 1 token");
  std::size_t count = tokens.size() / options.max_length;
  if (count == 0) {
    fail(ErrorCode::invalid_argument, "the text has only ", tokens.size(), " tokens, fewer than one sequence of ",
         options.max_length, "; give a longer text or shorter sequences");
  }
  if (options.max_sequences > 0) count = std::min(count, options.max_sequences);
  std::vector<std::vector<Token>> sequences(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = tokens.subspan(i * options.max_length, options.max_length);
    sequences[i].assign(part.begin(), part.end());
  }
  return sequences;
}

/// The tokens of each row, cut off after `max_length`; a row without tokens is left out.
/// Errors: invalid_argument when no row has tokens; those of `TextEncoder::encode`.
inline std::vector<std::vector<Token>> row_tokens(std::span<const DatasetRow> rows, const TextEncoder& encoder,
                                                  const TokenSequenceOptions& options) {
  if (options.max_length == 0) fail(ErrorCode::invalid_argument, "a sequence must have at least 1 token");
  std::vector<std::vector<Token>> sequences;
  for (const DatasetRow& row : rows) {
    if (options.max_sequences > 0 && sequences.size() == options.max_sequences) break;
    std::vector<Token> tokens = encoder.encode(row, options.chat);
    if (tokens.size() > options.max_length) tokens.resize(options.max_length);
    if (!tokens.empty()) sequences.push_back(std::move(tokens));
  }
  if (sequences.empty()) fail(ErrorCode::invalid_argument, "no row of the dataset has tokens");
  return sequences;
}

/// The sequences of a file: a stream (.txt) is tokenized once, without special tokens such as BOS, and cut by
/// `cut_tokens`; rows are tokenized one by one, by `row_tokens`. With `chat` a .txt file's lines are rows.
/// Errors: those of `read_dataset`, `cut_tokens` and `row_tokens`, with the path.
inline std::vector<std::vector<Token>> read_token_sequences(const std::string& path, const TextEncoder& encoder,
                                                            const TokenSequenceOptions& options = {},
                                                            DatasetOptions dataset = {}) {
  if (is_stream(path) && !options.chat) {
    return cut_tokens(encoder.tokenizer.encode(read_stream(path, dataset)), options);
  }
  if (dataset.max_rows == 0) dataset.max_rows = options.max_sequences;
  return row_tokens(read_dataset(path, dataset), encoder, options);
}

}  // namespace tulle
