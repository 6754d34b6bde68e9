// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/chat_parts.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/text/tokenizer_json.hpp>

#include "unit/text/golden_texts.hpp"

using namespace tulle;
using namespace tulle::serve;

namespace {

struct Answered {
  GenerationOptions options;
  std::string text;
};

/// What an API without reasoning answers for a text that ends with <|endoftext|>, in pieces of `size` bytes.
Answered answered(const std::string& chat_template, std::string_view text, std::size_t size) {
  const auto tokenizer = tokenizer_from_json(golden::read_json("qwen-style/tokenizer.json"), Json(), "qwen-style");
  const std::vector<Token> ends;
  const ServedModel model{"m", *tokenizer, chat_template, ends, 100, 1, {}};
  Answered result;
  ChatParts parts = answer_alone(model, "", result.options);
  for (std::size_t at = 0; at < text.size(); at += size) {
    TextPiece piece;
    piece.text = text.substr(at, size);
    piece.token = 0;
    result.text += parts.next(*tokenizer, piece).text;
  }
  TextPiece end;
  end.token = tokenizer->find("<|endoftext|>").value();
  if (!result.options.skip_special_tokens) end.text = tokenizer->piece(end.token);
  end.finish_reason = FinishReason::stop;
  result.text += parts.next(*tokenizer, end).text;
  return result;
}

}  // namespace

TEST_CASE("an answer alone has neither reasoning in special tokens nor the token that ends it", "[serve][chat_parts]") {
  for (const std::size_t size : {1, 7, 1000}) {
    const Answered channels =
        answered("{{ '<|channel|>' }}",
                 "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Well.", size);
    CHECK(channels.text == "Well.");
    CHECK_FALSE(channels.options.skip_special_tokens);
    CHECK(answered("[THINK]", "[THINK]Hm.[/THINK]Well.", size).text == "Well.");
    const Answered plain = answered("", "<think>Hm.</think>Well.", size);
    CHECK(plain.text == "<think>Hm.</think>Well.");
    CHECK(plain.options.skip_special_tokens);
  }
}
