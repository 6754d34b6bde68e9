// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/chat_template.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <fstream>
#include <string>

using tulle::ChatTemplate;
using tulle::Error;
using tulle::ErrorCode;
using tulle::Json;
using OrderedJson = nlohmann::ordered_json;

namespace {

OrderedJson golden(const std::string& name) {
  std::ifstream file(std::string(TULLE_GOLDEN) + "/" + name);
  REQUIRE(file);
  return OrderedJson::parse(file);
}

/// 2026-11-21T09:05:07, the "now" of the golden file.
std::tm stopped_clock() {
  std::tm time{};
  time.tm_year = 126, time.tm_mon = 10, time.tm_mday = 21, time.tm_wday = 6, time.tm_yday = 324;
  time.tm_hour = 9, time.tm_min = 5, time.tm_sec = 7;
  return time;
}

struct Outcome {
  std::string text;
  bool failed = false;
};

Outcome render(const std::string& source, const OrderedJson& context) {
  try {
    const OrderedJson messages = context.value("messages", OrderedJson::array());
    return {ChatTemplate(source, stopped_clock).render(messages, context)};
  } catch (const Error& error) {
    return {error.what(), true};
  }
}

/// Compares with what jinja2 made: equal text, or an error on both sides.
void check(const std::string& source, const OrderedJson& context, const OrderedJson& wanted) {
  const Outcome outcome = render(source, context);
  CAPTURE(source, context.value("messages", OrderedJson()).dump());
  CHECK(outcome.failed == wanted.contains("error"));
  if (wanted.contains("expected")) CHECK(outcome.text == wanted["expected"].get<std::string>());
  if (wanted.value("error", "") == "raised") CHECK(outcome.text == wanted["message"].get<std::string>());
}

ErrorCode code_of(std::string_view source, const Json& messages = Json::array()) {
  try {
    ChatTemplate(source).render(messages, Json::object());
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::state;
}

}  // namespace

TEST_CASE("conversations render as in transformers", "[text][chat_template]") {
  const OrderedJson file = golden("chat_templates.json");
  std::size_t checked = 0;
  for (const OrderedJson& row : file["cases"]) {
    const auto source = file["templates"].find(row["template"].get<std::string>());
    if (source == file["templates"].end()) continue;  // comes with a model that is not in the tree
    OrderedJson context = file["base_context"];
    context.update(file["conversations"][row["conversation"].get<std::string>()]);
    context["add_generation_prompt"] = row["add_generation_prompt"];
    check(source->get<std::string>(), context, row);
    ++checked;
  }
  CHECK(checked >= 200);
}

TEST_CASE("every feature of the templates gives jinja2's text or an error where it gives one",
          "[text][chat_template]") {
  const OrderedJson file = golden("chat_templates.json");
  for (const OrderedJson& row : file["features"]) {
    check(row["template"].get<std::string>(), file["feature_context"], row);
  }
}

TEST_CASE("every construct gives jinja2's text or an error where it gives one", "[text][chat_template]") {
  const OrderedJson file = golden("jinja_cases.json");
  CHECK(file["cases"].size() >= 650);
  for (const OrderedJson& row : file["cases"]) check(row["template"].get<std::string>(), file["context"], row);
}

TEST_CASE("what Jinja has and no published template uses is refused by its name", "[text][chat_template]") {
  constexpr std::array<std::array<std::string_view, 2>, 24> dropped = {{
      {"{{ [] | batch(2) }}", "batch"},
      {"{{ '' | center }}", "center"},
      {"{{ '' | forceescape }}", "forceescape"},
      {"{{ [] | groupby('a') }}", "groupby"},
      {"{{ 1 | round }}", "round"},
      {"{{ [] | slice(2) }}", "slice"},
      {"{{ [] | sum }}", "sum"},
      {"{{ '' | truncate }}", "truncate"},
      {"{{ '' | urlencode }}", "urlencode"},
      {"{{ '' | wordcount }}", "wordcount"},
      {"{{ 1 is divisibleby 3 }}", "divisibleby"},
      {"{{ 1 is sameas 1 }}", "sameas"},
      {"{{ 'a'.zfill(3) }}", "zfill"},
      {"{{ 'a'.partition('a') }}", "partition"},
      {"{{ joiner(',') }}", "joiner"},
      {"{{ cycler(1) }}", "cycler"},
      {"{{ 2 ** 3 }}", "**"},
      {"{{ 0x1F }}", "x1F"},
      {"{{ '%5d' % 3 }}", "%5"},
      {"{% call m() %}{% endcall %}", "call"},
      {"{% with a = 1 %}{% endwith %}", "with"},
      {"{% raw %}{% endraw %}", "raw"},
      {"{% for a in [1] recursive %}{% endfor %}", "recursive"},
      {"{% for a in [1] %}{{ loop.depth }}{% endfor %}", "depth"},
  }};
  for (const auto& [source, name] : dropped) {
    const Outcome outcome = render(std::string(source), OrderedJson::object());
    CAPTURE(source);
    CHECK(outcome.failed);
    CHECK_THAT(outcome.text, Catch::Matchers::ContainsSubstring(std::string(name)));
  }
}

TEST_CASE("tools and documents are None unless given", "[text][chat_template]") {
  const ChatTemplate chat("{{ tools is none }} {{ documents }} {{ add_generation_prompt }} {{ bos_token is defined }}");
  CHECK(chat.render(Json::array(), Json::object()) == "True None False False");
  CHECK(chat.render(Json::array(), {{"tools", Json::array()}, {"add_generation_prompt", true}}) ==
        "False None True False");
}

TEST_CASE("the template's own complaint is handed on as it is", "[text][chat_template]") {
  const ChatTemplate chat(
      "{% if messages | length > 1 %}{{ raise_exception('One at a time, not ' ~ messages | length) }}{% endif %}");
  CHECK_THROWS_WITH(chat.render(Json::parse(R"([{}, {}])"), Json::object()), "One at a time, not 2");
  CHECK(code_of("{{ raise_exception('x') }}") == ErrorCode::invalid_argument);
}

TEST_CASE("errors have the code of their kind and name the line", "[text][chat_template]") {
  CHECK(code_of("{% if %}") == ErrorCode::malformed);
  CHECK(code_of("{{ messages[0].content }}") == ErrorCode::invalid_argument);
  CHECK(code_of("{{ 'x' | nope }}") == ErrorCode::unsupported);
  const Json long_text = Json::array({{{"content", std::string(200'000, 'a')}}});
  CHECK(code_of("{% for a in range(99999) %}{% for b in range(99999) %}{% set n = messages[0].content | length %}"
                "{% endfor %}{% endfor %}",
                long_text) == ErrorCode::capacity);
  CHECK(code_of(std::string(2u << 20, 'a')) == ErrorCode::capacity);
  CHECK_THROWS_WITH(ChatTemplate("a\n\n{{ x y }}"), "chat template, line 3: expected '}}', got 'y'");
}

TEST_CASE("messages that are no list are refused", "[text][chat_template]") {
  const ChatTemplate chat("{{ messages }}");
  CHECK_THROWS_AS(chat.render(Json::object(), Json::object()), Error);
  CHECK_THROWS_AS(chat.render(Json::array(), Json::array()), Error);
}

TEST_CASE("a long conversation may use more than a short one", "[text][chat_template]") {
  const ChatTemplate chat(
      "{% for m in messages %}{% set c = m.content | trim %}{{ c.split('</think>')[-1].strip('\\n') ~ '\\n' }}{% "
      "endfor %}");
  Json messages = Json::array();
  for (int i = 0; i < 40; ++i) messages.push_back({{"role", "user"}, {"content", std::string(250'000, 'x')}});
  CHECK(chat.render(messages, Json::object()).size() == 40u * 250'001u - 1u + 1u);
}

TEST_CASE("bytes that are no UTF-8 pass through", "[text][chat_template]") {
  const ChatTemplate chat("{{ messages[0].content | trim }}|{{ messages[0].content | length }}\xFF");
  CHECK(chat.render(Json::array({{{"content", " \xFF\xC3"}}}), Json::object()) == "\xFF\xC3|3\xFF");
}
