// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/end_of_turn.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <optional>
#include <string>

#include <tulle/text/tokenizer_json.hpp>

#include "unit/text/golden_texts.hpp"

using namespace tulle;

TEST_CASE("the template says which token ends a turn", "[text][end_of_turn]") {
  const auto tokenizer = tokenizer_from_json(golden::read_json("qwen-style/tokenizer.json"), Json(), "qwen-style");
  const auto end = [&](const std::string& source) { return end_of_turn(source, *tokenizer); };
  const std::optional<Token> of_chatml = tokenizer->find("<|im_end|>"), of_text = tokenizer->find("<|endoftext|>");
  REQUIRE(of_chatml);
  REQUIRE(of_text);
  CHECK(end("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}") == of_chatml);
  CHECK(end("{% for m in messages %}{{ m.content }} and <|endoftext|><|im_end|>{% endfor %}") == of_text);
  CHECK(end("") == of_chatml);
  CHECK(end("{% for m in messages %}{{ m.content }}\n{% endfor %}") == std::nullopt);
  CHECK(end("{{ raise_exception('no') }}") == std::nullopt);
  CHECK(end("{{ messages[0].content }}") == std::nullopt);
}
