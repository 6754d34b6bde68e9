// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/named_pre_tokenizers.hpp>

#include <catch2/catch_all.hpp>
#include <set>
#include <string>
#include <vector>

#include "unit/text/golden_texts.hpp"

#include <tulle/text/normalizer.hpp>
#include <tulle/text/pre_tokenizer.hpp>
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

TEST_CASE("every named pre-tokenizer cuts texts as tokenizers does", "[text][named_pre_tokenizers]") {
  const Json golden = golden::read_json("pre_tokenizers.json");  // tests/golden/make_pre_tokenizers.py
  Regex::Scratch scratch;
  std::size_t names = 0;
  for (const Json& expected : golden["cases"]) {
    for (const Json& name : expected["names"]) {
      const NamedPreTokenizer& named = find_pre_tokenizer(name.get<std::string>(), "test");
      std::vector<PreTokenizerStep> steps;
      for (const std::string_view pattern : named.patterns) steps.emplace_back(SplitStep{Regex(pattern, "test")});
      const PreTokenizer words(std::move(steps));
      const Normalizer normalizer(named.composes ? std::vector<NormalizerStep>{ComposeStep{}}
                                                 : std::vector<NormalizerStep>{});
      for (std::size_t i = 0; i < golden["texts"].size(); ++i) {
        std::vector<std::string> cut;
        words.split(normalizer.apply(golden["texts"][i].get<std::string>(), scratch), true, scratch,
                    [&cut](std::string_view word) { cut.emplace_back(word); });
        INFO(name << ", text " << i);
        CHECK(cut == expected["words"][i].get<std::vector<std::string>>());
      }
      ++names;
    }
  }
  std::size_t known = 0;
  for (const NamedPreTokenizer& entry : named_pre_tokenizers()) known += entry.names.size();
  CHECK(names == known);
}

TEST_CASE("an unknown name is an error that lists the known ones", "[text][named_pre_tokenizers]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(find_pre_tokenizer("kimi-k2", "m.gguf"),
                    ContainsSubstring("m.gguf") && ContainsSubstring("\"kimi-k2\"") && ContainsSubstring("smollm") &&
                        ContainsSubstring("qwen2"));
}
