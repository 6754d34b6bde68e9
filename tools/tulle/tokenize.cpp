// SPDX-License-Identifier: Apache-2.0
/// \file tulle tokenize: lines of text to lines of token ids.
#include <charconv>
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

constexpr const char* tokenize_footer =
    R"(Every line of standard input becomes a line with a JSON array of ids. Lines end at '\n'; a '\r' is part of its
line; an empty line gives []. Special tokens in the text, such as <|endoftext|>, are recognised. With --json every
line is a JSON string, which can hold line ends.

Examples:
  echo "Hello, world" | tulle tokenize -m model.gguf
  tulle tokenize -m folder/with/tokenizer.json --add-special-tokens < corpus.txt > ids.txt)";

struct TokenizeFlags {
  std::string path;
  bool add_special_tokens = false, json = false;
};

/// Errors: malformed for anything but a JSON string; `where` names the line.
std::string parse_text(const std::string& line, const std::string& where) {
  const tulle::Json text = tulle::parse_json(line, where);
  if (!text.is_string()) tulle::fail(tulle::ErrorCode::malformed, where, ": expected a JSON string");
  return text.get<std::string>();
}

void append_array(std::string& line, const std::vector<tulle::Token>& tokens) {
  line += '[';
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, tokens[i]).ptr;
    if (i > 0) line += ", ";
    line.append(digits, end);
  }
  line += "]\n";
}

int tokenize(const TokenizeFlags& flags) {
  const auto tokenizer = open_tokenizer(tokenizer_path(flags.path));
  Output output;
  LineReader reader;
  std::string array;
  while (const std::optional<std::string> line = reader.next(output)) {
    const std::string where = "line " + std::to_string(reader.lines()) + " of standard input";
    require_utf8(*line, where);
    const std::string text = flags.json ? parse_text(*line, where) : *line;
    array.clear();
    append_array(array, tokenizer->encode(text, {.add_special_tokens = flags.add_special_tokens}));
    output.write(array);
  }
  output.flush();
  return 0;
}

}  // namespace

Command tokenize_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("tokenize", "Turn every line of standard input into token ids");
  app->footer(tokenize_footer);
  const auto flags = std::make_shared<TokenizeFlags>();
  add_model_path(*app, flags->path,
                 "A model, a folder with tokenizer files, a tokenizer.json, a .model file or hf:org/name");
  app->add_flag(flag_names("--add-special-tokens"), flags->add_special_tokens,
                "Put around every line what the tokenizer puts around a text, such as <s>");
  app->add_flag("--json", flags->json, "Read every line as a JSON string");
  return {app, [flags] { return tokenize(*flags); }};
}
