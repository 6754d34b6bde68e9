// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/tool_call_splitter.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <string_view>

namespace {

using tulle::ToolCallFormat;
using tulle::ToolCallSplitter;

/// "text|name(arguments)|name(arguments)", in pieces of `size` bytes.
std::string split(ToolCallFormat format, std::string_view text, std::size_t size, bool forced = false) {
  ToolCallSplitter splitter(format, forced);
  std::string said, calls;
  const auto take = [&](const ToolCallSplitter::Parts& parts) {
    said += parts.text;
    for (const auto& call : parts.calls) calls += (call.name.empty() ? "" : "|" + call.name + ":") + call.arguments;
  };
  for (std::size_t at = 0; at < text.size(); at += size) take(splitter.next(text.substr(at, size)));
  take(splitter.finish());
  return said + calls;
}

}  // namespace

TEST_CASE("Calls of tools are found in the formats of the families, whatever the pieces") {
  const auto& [format, text, expected] = GENERATE(table<ToolCallFormat, std::string, std::string>(
      {{ToolCallFormat::tagged, "No calls, {\"a\": 1} < 2", "No calls, {\"a\": 1} < 2"},
       {ToolCallFormat::tagged,
        "Well.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}\\\"\", \"b\": [1, {}]}}\n</tool_call>\n"
        "<tool_call>\n{\"arguments\": {}, \"name\": \"g\"}\n</tool_call>",
        "Well.|f:{\"a\": \"}\\\"\", \"b\": [1, {}]}|g:{}"},
       {ToolCallFormat::tagged, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1", "|f:{\"a\": 1"},
       {ToolCallFormat::tagged, "<tool_call>{\"no\": 1}</tool_call>", "<tool_call>{\"no\": 1}</tool_call>"},
       {ToolCallFormat::tagged, "Use the <tool_call> tag.", "Use the <tool_call> tag."},
       {ToolCallFormat::tagged,
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", "
        "\"arguments\": null}\n</tool_call>",
        "|f:{\"x\": 1}|g:{}"},
       {ToolCallFormat::bare, "{\"name\": \"Alice\", \"age\": 3}", "{\"name\": \"Alice\", \"age\": 3}"},
       {ToolCallFormat::listed,
        "<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]<|/tool_call|>",
        "|f:{}|g:{}"},
       {ToolCallFormat::listed, "Well. <tool_call>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]",
        "Well.|f:{\"a\": 1}"},
       {ToolCallFormat::listed, "A <tool_call> is no <|tool_call|>.", "A <tool_call> is no <|tool_call|>."},
       {ToolCallFormat::bare, "{\"name\": \"f\", \"parameters\": {\"a\": 1}}", "|f:{\"a\": 1}"},
       {ToolCallFormat::bare,
        "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": {}}", "|f:{}|g:{}"},
       {ToolCallFormat::bare, "Hello {\"name\": 1}", "Hello {\"name\": 1}"},
       {ToolCallFormat::brackets, "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"123456789\"}]",
        "|f:{\"a\": 1}"},
       {ToolCallFormat::brackets, "[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[ARGS]{}", "|f:{\"a\": 1}|g:{}"},
       {ToolCallFormat::brackets, "[TOOL_CALLS]_f[ARGS]{\"a\": 1}[TOOL_CALLS]2g[ARGS]{}", "|_f:{\"a\": 1}|2g:{}"},
       {ToolCallFormat::brackets, "[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{}[TOOL_CALLS]g[CALL_ID]a[ARGS]{\"a\": 1}",
        "|f:{}|g:{\"a\": 1}"},
       {ToolCallFormat::listed, "<|tool_call|>[] The answer is 4.", "<|tool_call|>[] The answer is 4."},
       {ToolCallFormat::listed, "<tool_call>[see below]", "<tool_call>[see below]"},
       {ToolCallFormat::brackets, "[TOOL_CALLS]f[ARGS]{}Here is {x}", "Here is {x}|f:{}"},
       {ToolCallFormat::brackets, "[TOOL_CALLS]f[ARGS]{} Done", "Done|f:{}"}}));
  CAPTURE(text);
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, text.size()})
    CHECK(split(format, text, size) == expected);
}

TEST_CASE("The frame of a forced call is read back as a call") {
  for (const auto format :
       {ToolCallFormat::tagged, ToolCallFormat::listed, ToolCallFormat::bare, ToolCallFormat::brackets}) {
    const auto [before, after] = tulle::tool_call_frame(format, "f");
    CHECK(split(format, before + "{\"a\":1}" + after, 2, true) == "|f:{\"a\":1}");
  }
}

TEST_CASE("The frame of a forced call is no text where the text is cut") {
  for (const auto format :
       {ToolCallFormat::tagged, ToolCallFormat::listed, ToolCallFormat::bare, ToolCallFormat::brackets}) {
    const auto [before, after] = tulle::tool_call_frame(format, "f");
    for (std::size_t size = 0; size <= before.size(); ++size) {
      CAPTURE(before.substr(0, size));
      CHECK(split(format, before.substr(0, size), 2, true).empty());
    }
    for (std::size_t size = 0; size <= after.size(); ++size) {
      CHECK(split(format, before + "{\"a\":1}" + after.substr(0, size), 2, true) == "|f:{\"a\":1}");
    }
  }
}

TEST_CASE("A call that was cut is known as such") {
  ToolCallSplitter splitter(ToolCallFormat::tagged);
  splitter.next("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": ");
  CHECK(splitter.in_call());
  splitter.next("1}}</tool_call>");
  CHECK_FALSE(splitter.in_call());
}
