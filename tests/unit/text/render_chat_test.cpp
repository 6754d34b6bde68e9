// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/render_chat.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/text/no_tokenizer.hpp>

using namespace tulle;

TEST_CASE("a conversation is rendered by the template of its model", "[text][render_chat]") {
  const NoTokenizer tokenizer;
  const std::vector<ChatMessage> messages = {{"user", "hi"}, {"assistant", "yes?"}};
  const std::string source =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}[{{ bos_token }}]";
  CHECK(render_chat(source, tokenizer, messages, false) == "<user>hi<assistant>yes?[]");
  CHECK(render_chat(source, tokenizer, messages, true) == "<user>hi<assistant>yes?<assistant>[]");
}

TEST_CASE("a template sees the variables that it is given", "[text][render_chat]") {
  const NoTokenizer tokenizer;
  const std::string source = "{{ 'thinks' if enable_thinking else 'answers' }}, {{ effort }}";
  CHECK(render_chat(source, tokenizer, {}, true) == "answers, ");
  CHECK(render_chat(source, tokenizer, {}, true, R"({"enable_thinking": true, "effort": "high"})") == "thinks, high");
  CHECK_THROWS_AS(render_chat(source, tokenizer, {}, true, "[]"), Error);
  CHECK_THROWS_AS(render_chat(source, tokenizer, {}, true, "{"), Error);
}

TEST_CASE("a template sees members in the order in which they were written", "[text][render_chat]") {
  const NoTokenizer tokenizer;
  const std::string source = "{% for key, value in documents[0].items() %}{{ key }}: {{ value }}|{% endfor %}";
  CHECK(render_chat(source, tokenizer, {}, true, R"({"documents": [{"title": "T", "body": "b"}]})") ==
        "title: T|body: b|");
  const OrderedJson messages = parse_ordered_json(R"([{"tool_calls": {"z": 1, "a": 2}}])", "messages");
  CHECK(render_json_chat("{{ messages[0].tool_calls | tojson }}", tokenizer, messages, true, OrderedJson::object()) ==
        R"({"z": 1, "a": 2})");
  CHECK_THROWS_AS(render_json_chat(source, tokenizer, messages, true, OrderedJson::array()), Error);
}

TEST_CASE("a model without a template is an error", "[text][render_chat]") {
  const NoTokenizer tokenizer;
  try {
    (void)render_chat("", tokenizer, {}, false);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
  }
}
