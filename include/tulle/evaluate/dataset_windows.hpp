// SPDX-License-Identifier: Apache-2.0
/// \file From a dataset to the windows of a method of measuring perplexity (L5).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/evaluate/evaluation_window.hpp>
#include <tulle/format/dataset/dataset_row.hpp>
#include <tulle/format/dataset/read_dataset.hpp>
#include <tulle/format/dataset/token_sequences.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// Definitions of perplexity; evaluate/README.md has each in full. Numbers of different methods do not compare.
enum class PerplexityMethod : std::uint8_t { windows, hf_stride, llama_cpp, sparseml, deepsparse };

inline constexpr std::array<std::string_view, 5> perplexity_method_names{"windows", "hf-stride", "llama.cpp",
                                                                         "sparseml", "deepsparse"};

/// Errors: invalid_argument, which lists the names.
inline PerplexityMethod perplexity_method(std::string_view name) {
  const auto found = std::find(perplexity_method_names.begin(), perplexity_method_names.end(), name);
  if (found != perplexity_method_names.end()) {
    return static_cast<PerplexityMethod>(found - perplexity_method_names.begin());
  }
  std::string known;
  for (const std::string_view each : perplexity_method_names) known += (known.empty() ? "" : ", ") + std::string(each);
  fail(ErrorCode::invalid_argument, "unknown method \"", name, "\"; known are ", known);
}

struct WindowOptions {
  PerplexityMethod method = PerplexityMethod::windows;
  std::size_t window = 0;       ///< tokens; 0: 512, of hf_stride and deepsparse `context`, of sparseml without limit
  std::size_t stride = 0;       ///< tokens, of hf_stride; 0: 512, or the window where that is shorter
  std::size_t context = 2048;   ///< tokens of the model's context
  std::size_t max_windows = 0;  ///< the first ones; 0: all
  std::size_t every = 1;        ///< take only windows 0, `every`, 2 * `every`, ... and the first of these
  bool chat = false;            ///< method windows: put a row's text into the chat template, as the user's message
  DatasetOptions dataset = {};
};

namespace detail {

inline std::vector<std::string> texts_of(std::vector<DatasetRow> rows, const std::string& path) {
  std::vector<std::string> texts;
  for (DatasetRow& row : rows) {
    if (!row.messages.empty()) {
      fail(ErrorCode::unsupported, path, ": chat messages are scored by the method windows alone");
    }
    texts.push_back(std::move(row.text));
  }
  return texts;
}

/// A stream as it is; all rows, empty ones too, with an empty line between.
inline std::string joined_text(const std::string& path, DatasetOptions dataset) {
  if (is_stream(path)) return read_stream(path, dataset);
  dataset.keep_empty = true;
  std::string text;
  const std::vector<std::string> rows = texts_of(read_dataset(path, dataset), path);
  for (std::size_t row = 0; row < rows.size(); ++row) text += (row == 0 ? "" : "\n\n") + rows[row];
  return text;
}

/// The token that the tokenizer puts before a text: BOS, by that name or not.
inline std::optional<Token> leading_bos(const Tokenizer& tokenizer) {
  const std::vector<Token> around = tokenizer.encode("", {.add_special_tokens = true});
  if (around.empty()) return std::nullopt;
  const bool is_bos = around.front() == tokenizer.bos_token();
  return is_bos || around.front() != tokenizer.eos_token() ? std::optional(around.front()) : std::nullopt;
}

inline EvaluationWindows llama_cpp_windows(const std::string& path, const Tokenizer& tokenizer, std::size_t window,
                                           const DatasetOptions& dataset) {
  if (window < 4) fail(ErrorCode::invalid_argument, "the window must have at least 4 tokens, not ", window);
  std::string text = joined_text(path, dataset);
  if (text.ends_with('\n')) text.pop_back();  // as its -f does
  const std::vector<Token> tokens = tokenizer.encode(text, {.add_special_tokens = true, .parse_special_tokens = false});
  if (tokens.size() < 2 * window) {
    fail(ErrorCode::invalid_argument, path, ": llama.cpp's method needs at least ", 2 * window,
         " tokens for windows of ", window, ", and the text has ", tokens.size());
  }
  const std::optional<Token> bos = leading_bos(tokenizer);
  return half_scored_windows(tokens, window, bos ? &*bos : nullptr);
}

inline EvaluationWindows sparseml_windows(const std::string& path, const Tokenizer& tokenizer, std::size_t window,
                                          const DatasetOptions& dataset) {
  const std::optional<Token> bos = tokenizer.bos_token() ? tokenizer.bos_token() : leading_bos(tokenizer);
  if (!bos) {
    fail(ErrorCode::unsupported, "SparseML's method puts a BOS token before every text, and the tokenizer has none; ",
         "use another method");
  }
  EvaluationWindows result;
  result.averaging = Averaging::samples;
  for (const std::string& text : texts_of(read_dataset(path, dataset), path)) {
    std::vector<Token> tokens{*bos};
    const std::vector<Token> rest = tokenizer.encode(text);
    tokens.insert(tokens.end(), rest.begin(), rest.end());
    if (window > 0 && tokens.size() > window) tokens.resize(window);
    result.windows.push_back({.tokens = std::move(tokens)});
  }
  return result;
}

inline EvaluationWindows deepsparse_windows(const std::string& path, const Tokenizer& tokenizer, std::size_t window,
                                            const WindowOptions& options) {
  EvaluationWindows result;
  const EncodeOptions special{.add_special_tokens = true};
  if (!is_stream(path)) {
    result.averaging = Averaging::samples;
    for (const std::string& text : texts_of(read_dataset(path, options.dataset), path)) {
      std::vector<Token> tokens = tokenizer.encode(text, special);
      if (options.window > 0 && tokens.size() > window) tokens.resize(window);
      result.windows.push_back({.tokens = std::move(tokens)});
    }
    return result;
  }
  // Its sections are handed over as text and tokenized again.
  const std::vector<Token> tokens = tokenizer.encode(read_stream(path, options.dataset), special);
  for (std::size_t begin = 0; begin < tokens.size(); begin += window) {
    const auto section = std::span(tokens).subspan(begin, std::min(window, tokens.size() - begin));
    result.windows.push_back({.tokens = tokenizer.encode(tokenizer.decode(section), special)});
  }
  return result;
}

/// Windows 0, `every`, ... of them the first ones.
inline void choose_windows(std::vector<EvaluationWindow>& windows, const WindowOptions& options) {
  std::vector<EvaluationWindow> chosen;
  for (std::size_t i = 0; i < windows.size(); i += options.every) {
    if (options.max_windows > 0 && chosen.size() == options.max_windows) break;
    chosen.push_back(std::move(windows[i]));
  }
  windows = std::move(chosen);
}

}  // namespace detail

/// The windows of a dataset by `options.method`.
/// Errors: those of `read_dataset`, `read_token_sequences` and `strided_windows`; invalid_argument for a text that is
/// too short; unsupported for SparseML's method without a BOS token.
inline EvaluationWindows read_windows(const std::string& path, const TextEncoder& encoder, WindowOptions options = {}) {
  if (options.every == 0) fail(ErrorCode::invalid_argument, "of how many windows one is taken must be at least 1");
  const bool uses_context =
      options.method == PerplexityMethod::hf_stride || options.method == PerplexityMethod::deepsparse;
  constexpr std::size_t usual = 512;
  const std::size_t window = options.window > 0 ? options.window : uses_context ? options.context : usual;
  const bool rows = !is_stream(path) || options.method == PerplexityMethod::sparseml;
  const bool row_is_window =
      options.method != PerplexityMethod::hf_stride && options.method != PerplexityMethod::llama_cpp;
  if (rows && row_is_window && options.max_windows > 0) options.dataset.max_rows = options.max_windows * options.every;

  EvaluationWindows result;
  switch (options.method) {
    case PerplexityMethod::windows:
      result = whole_windows(
          read_token_sequences(path, encoder, {.max_length = window, .chat = options.chat}, options.dataset));
      break;
    case PerplexityMethod::hf_stride: {
      const std::vector<Token> tokens =
          encoder.tokenizer.encode(detail::joined_text(path, options.dataset), {.add_special_tokens = true});
      result = strided_windows(tokens, window, options.stride > 0 ? options.stride : std::min(usual, window));
      break;
    }
    case PerplexityMethod::llama_cpp:
      result = detail::llama_cpp_windows(path, encoder.tokenizer, window, options.dataset);
      break;
    case PerplexityMethod::sparseml:
      result = detail::sparseml_windows(path, encoder.tokenizer, options.window, options.dataset);
      break;
    case PerplexityMethod::deepsparse:
      result = detail::deepsparse_windows(path, encoder.tokenizer, window, options);
      break;
  }
  detail::choose_windows(result.windows, options);
  return result;
}

/// Tokens of the longest window. The model reads all but the last of them.
inline std::size_t longest_window(const EvaluationWindows& windows) noexcept {
  std::size_t longest = 0;
  for (const EvaluationWindow& each : windows.windows) longest = std::max(longest, each.tokens.size());
  return longest;
}

}  // namespace tulle
