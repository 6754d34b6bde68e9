// SPDX-License-Identifier: Apache-2.0
#include <tulle/evaluate/dataset_windows.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <string>
#include <vector>

#include <tulle/format/tokenizer_files.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using test::TemporaryFolder;
using Tokens = std::vector<Token>;

namespace {

constexpr std::string_view prose =
    "Once upon a time there was a town.\n\nIts people lived by the sea, and were glad.\n";

struct Fixture {
  explicit Fixture(const std::string& path = TULLE_GOLDEN "/tokenizers/llama2-style")
      : tokenizer(load_tokenizer(path)) {}

  Tokens plain(std::string_view each) const { return tokenizer->encode(each); }
  Tokens special(std::string_view each) const { return tokenizer->encode(each, {.add_special_tokens = true}); }
  EvaluationWindows read(const std::string& path, const WindowOptions& options) const {
    return read_windows(path, {*tokenizer, "{% for m in messages %}[{{ m.content }}]{% endfor %}"}, options);
  }

  TemporaryFolder folder;
  std::shared_ptr<const Tokenizer> tokenizer;  // puts <s> before a text
  std::string text = folder.write("a.txt", prose);
  std::string rows =
      folder.write("a.jsonl", "{\"text\": \"The first one\"}\n{\"text\": \"\"}\n{\"text\": \"The second\"}\n");
};

WindowOptions method(PerplexityMethod name, std::size_t window = 0) {
  return {.method = name, .window = window};
}

std::vector<Tokens> tokens_of(const EvaluationWindows& windows) {
  std::vector<Tokens> all;
  for (const EvaluationWindow& each : windows.windows) all.push_back(each.tokens);
  return all;
}

}  // namespace

TEST_CASE("every method has a name", "[evaluate]") {
  for (const std::string_view name : perplexity_method_names) {
    CHECK(perplexity_method_names[static_cast<std::size_t>(perplexity_method(name))] == name);
  }
  CHECK(perplexity_method("llama.cpp") == PerplexityMethod::llama_cpp);
  CHECK_THROWS_WITH(perplexity_method("hf"), Catch::Matchers::ContainsSubstring("hf-stride"));
}

TEST_CASE("windows are the sequences of calibration", "[evaluate]") {
  const Fixture fixture;
  const EvaluationWindows windows = fixture.read(fixture.text, method(PerplexityMethod::windows, 5));
  CHECK(tokens_of(windows) == cut_tokens(fixture.plain(prose), {.max_length = 5}));
  CHECK(windows.averaging == Averaging::windows);
  CHECK(windows.windows[0].first_target == 1);
  CHECK(tokens_of(fixture.read(fixture.rows, method(PerplexityMethod::windows))) ==
        std::vector<Tokens>{fixture.special("The first one"), fixture.special("The second")});
  WindowOptions chat = method(PerplexityMethod::windows);
  chat.chat = true;
  CHECK(tokens_of(fixture.read(fixture.rows, chat)) ==
        std::vector<Tokens>{fixture.plain("[The first one]"), fixture.plain("[The second]")});
}

TEST_CASE("hf-stride reads one text with its special tokens", "[evaluate]") {
  const Fixture fixture;
  WindowOptions options = method(PerplexityMethod::hf_stride, 8);
  options.stride = 3;
  CHECK(tokens_of(fixture.read(fixture.text, options)) == tokens_of(strided_windows(fixture.special(prose), 8, 3)));
  CHECK(tokens_of(fixture.read(fixture.rows, options)) ==
        tokens_of(strided_windows(fixture.special("The first one\n\n\n\nThe second"), 8, 3)));
  options.dataset.columns = {"text"};
  CHECK(test::error_of([&] { (void)fixture.read(fixture.text, options); }) == ErrorCode::invalid_argument);
  WindowOptions usual = method(PerplexityMethod::hf_stride);
  usual.context = 6;
  CHECK(tokens_of(fixture.read(fixture.text, usual)) == tokens_of(strided_windows(fixture.special(prose), 6, 6)));
}

TEST_CASE("llama.cpp's chunks begin with BOS where texts do", "[evaluate]") {
  const Fixture fixture;
  const Token bos = fixture.special("").at(0);
  const std::string_view without_end = prose.substr(0, prose.size() - 1);
  CHECK(tokens_of(fixture.read(fixture.text, method(PerplexityMethod::llama_cpp, 6))) ==
        tokens_of(half_scored_windows(fixture.special(without_end), 6, &bos)));
  const Fixture gguf(TULLE_GOLDEN "/models/gguf/f32.gguf");  // begins no text with BOS
  CHECK(tokens_of(gguf.read(gguf.text, method(PerplexityMethod::llama_cpp, 6))) ==
        tokens_of(half_scored_windows(gguf.plain(without_end), 6, nullptr)));
  CHECK(test::error_of([&] { (void)fixture.read(fixture.text, method(PerplexityMethod::llama_cpp)); }) ==
        ErrorCode::invalid_argument);
  CHECK(test::error_of([&] { (void)fixture.read(fixture.text, method(PerplexityMethod::llama_cpp, 3)); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("SparseML's samples are BOS and a text", "[evaluate]") {
  const Fixture fixture;
  const auto sample = [&](std::string_view text) {
    Tokens tokens = fixture.plain(text);
    tokens.insert(tokens.begin(), fixture.special("").at(0));
    return tokens;
  };
  const EvaluationWindows windows = fixture.read(fixture.rows, method(PerplexityMethod::sparseml));
  CHECK(tokens_of(windows) == std::vector<Tokens>{sample("The first one"), sample("The second")});
  CHECK(windows.averaging == Averaging::samples);
  CHECK(tokens_of(fixture.read(fixture.text, method(PerplexityMethod::sparseml))) ==
        std::vector<Tokens>{sample("Once upon a time there was a town."),
                            sample("Its people lived by the sea, and were glad.")});
  Tokens cut = sample("The first one");
  cut.resize(3);
  CHECK(tokens_of(fixture.read(fixture.rows, method(PerplexityMethod::sparseml, 3)))[0] == cut);
}

TEST_CASE("DeepSparse's rows are samples, and its text is in sections", "[evaluate]") {
  const Fixture fixture;
  const EvaluationWindows rows = fixture.read(fixture.rows, method(PerplexityMethod::deepsparse));
  CHECK(tokens_of(rows) == std::vector<Tokens>{fixture.special("The first one"), fixture.special("The second")});
  CHECK(rows.averaging == Averaging::samples);
  const EvaluationWindows sections = fixture.read(fixture.text, method(PerplexityMethod::deepsparse, 10));
  CHECK(sections.averaging == Averaging::windows);
  const Tokens all = fixture.special(prose);
  REQUIRE(sections.windows.size() == (all.size() + 9) / 10);
  const Tokens second(all.begin() + 10, all.begin() + 20);
  CHECK(sections.windows[1].tokens == fixture.special(fixture.tokenizer->decode(second)));
}

TEST_CASE("some windows are taken", "[evaluate]") {
  const Fixture fixture;
  WindowOptions options = method(PerplexityMethod::windows, 2);
  const auto all = tokens_of(fixture.read(fixture.text, options));
  REQUIRE(all.size() >= 8);
  options.every = 3;
  options.max_windows = 2;
  CHECK(tokens_of(fixture.read(fixture.text, options)) == std::vector<Tokens>{all[0], all[3]});
  WindowOptions first = method(PerplexityMethod::sparseml);
  first.max_windows = 1;
  CHECK(fixture.read(fixture.rows, first).windows.size() == 1);
  first.every = 2;
  CHECK(fixture.read(fixture.rows, first).windows.size() == 1);
  options.every = 0;
  CHECK(test::error_of([&] { (void)fixture.read(fixture.text, options); }) == ErrorCode::invalid_argument);
}

TEST_CASE("the longest window decides the engine's length", "[evaluate]") {
  CHECK(longest_window(whole_windows({{1, 2}, {1, 2, 3}, {1}})) == 3);
  CHECK(longest_window({}) == 0);
}
