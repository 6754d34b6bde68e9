// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/prompt_cache.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/generate/engine.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;
using testing::small_engine;

namespace {

const std::vector<Token> text{1, 17, 201, 5, 99, 42, 250, 3, 77};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a prompt of a file is not computed again, and gives the same bits", "[generate][prompt_cache]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("prompt");
  const auto model = testing::tiny_model("gguf/q8_0.gguf");
  GenerationOptions options;
  options.max_new_tokens = 6;
  options.force_max_tokens = true;
  options.log_probabilities = true;
  const auto run = [&](std::vector<Token> tokens, std::uint64_t key, std::size_t expected,
                       const EngineOptions& engine_options = small_engine()) {
    const auto engine = make_engine(model, engine_options);
    Session session(*engine, *testing::tiny_tokenizer());
    PromptCache cache(path, key);
    const std::size_t known = cache.restore(session, tokens);
    CHECK(known == expected);
    auto result = session.append({tokens.begin() + static_cast<std::ptrdiff_t>(known), tokens.end()}, options);
    cache.save(session, tokens.size());
    return std::pair(result.log_probabilities, read_file(path));
  };
  const auto first = run(text, 1, 0);
  CHECK(run(text, 1, text.size()) == first);
  std::vector<Token> longer = text;
  longer.insert(longer.end(), {7, 8, 9});
  const auto continued = run(longer, 1, text.size()), whole = run(longer, 2, 0);
  CHECK(continued.first == whole.first);
  CHECK(run(longer, 2, longer.size()) == whole);
  CHECK(run(text, 2, text.size()) == std::pair(first.first, whole.second));
  CHECK(run(text, 1, 0) == first);  // the file of another key is replaced
  EngineOptions other = small_engine();
  other.cache_dtype = "i8";
  (void)run(text, 1, 0, other);
  (void)run(text, 1, 0);
  for (const std::size_t at : {std::size_t{9}, std::size_t{17}, std::size_t{30}, first.second.size() - 1}) {
    std::string changed = first.second;
    changed[at] = static_cast<char>(changed[at] ^ 2);
    folder.write("prompt", std::string_view(changed));
    CHECK(run(text, 1, 0) == first);
  }
  folder.write("prompt", std::string_view(first.second.substr(0, first.second.size() - 5)));
  CHECK(run(text, 1, 0) == first);
  folder.write("prompt", std::string_view("something else"));
  CHECK(test::error_of([&] { run(text, 1, 0); }) == ErrorCode::invalid_argument);
  CHECK(read_file(path) == "something else");
}
