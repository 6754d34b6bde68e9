// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/named_pre_tokenizers.hpp>

#include <catch2/catch_all.hpp>
#include <set>

#include <tulle/text/regex.hpp>

using namespace tulle;

TEST_CASE("every named pre-tokenizer compiles and has a name of its own", "[text][named_pre_tokenizers]") {
  std::set<std::string_view> names;
  for (const NamedPreTokenizer& entry : named_pre_tokenizers()) {
    for (const std::string_view name : entry.names) {
      CHECK(names.insert(name).second);
      CHECK(&find_pre_tokenizer(name, "test") == &entry);
    }
    for (const std::string_view pattern : entry.patterns) CHECK_NOTHROW(Regex(pattern, "test"));
  }
}

TEST_CASE("an unknown name is an error that lists the known ones", "[text][named_pre_tokenizers]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(find_pre_tokenizer("kimi-k2", "m.gguf"),
                    ContainsSubstring("m.gguf") && ContainsSubstring("\"kimi-k2\"") && ContainsSubstring("smollm") &&
                        ContainsSubstring("qwen2"));
}
