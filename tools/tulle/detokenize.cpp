// SPDX-License-Identifier: Apache-2.0
/// \file tulle detokenize: lines of token ids to lines of text.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tulle/core/json.hpp>
#include <tulle/text/tokenizer.hpp>
#include <vector>

#include "command_line.hpp"
#include "model_files.hpp"
#include "model_path.hpp"
#include "streams.hpp"

namespace {

constexpr const char* detokenize_footer =
    R"(Every line of standard input is a JSON array of ids and becomes a line of text. Line ends within a text are
written as they are, so that it takes several lines; --json writes every text as one JSON string.

Examples:
  echo "[19556, 28, 905]" | tulle detokenize -m model.gguf
  tulle detokenize -m folder/with/tokenizer.json --skip-special-tokens --json < ids.txt)";

struct DetokenizeFlags {
  std::string path;
  bool skip_special_tokens = false, json = false;
};

/// Errors: malformed for anything but an array of ids below `vocabulary`; `where` names the line.
std::vector<tulle::Token> parse_tokens(const std::string& line, std::size_t vocabulary, const std::string& where) {
  const tulle::Json array = tulle::parse_json(line, where);
  if (!array.is_array()) tulle::fail(tulle::ErrorCode::malformed, where, ": expected a JSON array of token ids");
  std::vector<tulle::Token> tokens;
  tokens.reserve(array.size());
  for (const tulle::Json& id : array) {
    if (!id.is_number_integer()) tulle::fail(tulle::ErrorCode::malformed, where, ": ", id.dump(), " is no token id");
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocabulary) {
      tulle::fail(tulle::ErrorCode::invalid_argument, where, ": token ", id.dump(), " is outside the vocabulary of ",
                  vocabulary);
    }
    tokens.push_back(id.get<tulle::Token>());
  }
  return tokens;
}

int detokenize(const DetokenizeFlags& flags) {
  const auto tokenizer = open_tokenizer(tokenizer_path(flags.path));
  Output output;
  LineReader reader;
  while (const std::optional<std::string> line = reader.next(output)) {
    const std::string where = "line " + std::to_string(reader.lines()) + " of standard input";
    const std::string text =
        tokenizer->decode(parse_tokens(*line, tokenizer->vocabulary_size(), where), flags.skip_special_tokens);
    output.write(flags.json ? tulle::Json(text).dump() : text);
    output.write("\n");
  }
  output.flush();
  return 0;
}

}  // namespace

Command detokenize_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("detokenize", "Turn every line of token ids into text");
  app->footer(detokenize_footer);
  const auto flags = std::make_shared<DetokenizeFlags>();
  add_model_path(*app, flags->path,
                 "A model, a folder with tokenizer files, a tokenizer.json, a .model file or hf:org/name");
  app->add_flag(flag_names("--skip-special-tokens"), flags->skip_special_tokens,
                "Leave special tokens out of the text");
  app->add_flag("--json", flags->json, "Write every text as a JSON string");
  return {app, [flags] { return detokenize(*flags); }};
}
