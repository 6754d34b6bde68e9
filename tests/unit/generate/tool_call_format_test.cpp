// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/tool_call_format.hpp>

#include <catch2/catch_all.hpp>

using tulle::ToolCallFormat;

TEST_CASE("A chat template says how its model writes calls") {
  CHECK(tulle::tool_call_format("... <tool_call> ...") == ToolCallFormat::tagged);
  CHECK(tulle::tool_call_format("[TOOL_CALLS]") == ToolCallFormat::brackets);
  CHECK(tulle::tool_call_format("{{ '<|tool_call|>' }}") == ToolCallFormat::listed);
  CHECK(tulle::tool_call_format(R"({"name": function name, "parameters": dictionary})") == ToolCallFormat::bare);
  CHECK(tulle::tool_call_format("") == ToolCallFormat::tagged);
}
