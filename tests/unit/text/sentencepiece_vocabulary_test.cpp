// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/sentencepiece_vocabulary.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#ifdef TULLE_WITH_SENTENCEPIECE
#include <tulle/text/sentencepiece.hpp>
#endif

#include "unit/text/golden_texts.hpp"
#include "unit/text/sentencepiece_models.hpp"

using namespace tulle;
using test::SentencePieceModel;

namespace {

using Tokens = std::vector<Token>;

constexpr const char* models[] = {"spm-bpe", "spm-unigram", "spm-bpe-map", "spm-unigram-bare"};

std::string golden_model(const std::string& name) {
  return golden::read(name + "/tokenizer.model");
}

std::unique_ptr<Tokenizer> ours(const std::string& model) {
  return tokenizer_from_vocabulary(sentencepiece_vocabulary(model, "m"));
}

ErrorCode code_of(const std::string& model) {
  try {
    (void)ours(model);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t count) {
  return random() % count;
}

}  // namespace

TEST_CASE("ids and texts of BPE and unigram models are the sentencepiece library's",
          "[text][sentencepiece_vocabulary]") {
  const VocabularySpec spec = sentencepiece_vocabulary(golden_model("spm-bpe"), "spm-bpe");
  CHECK(spec.tokens.size() == 800);
  CHECK(spec.tokens.at(1) == "<s>");
  CHECK((spec.unk == 0 && spec.bos == 1 && spec.eos == 2));
  for (const char* name : models) {
    INFO(name);
    golden::compare(*ours(golden_model(name)), name, {.parse_special_tokens = false});
  }
}

#ifdef TULLE_WITH_SENTENCEPIECE

namespace {

/// Up to `longest` parts of few kinds, so that they often make pieces, rules of the map, runs of spaces, broken UTF-8.
std::string random_text(Random& random, std::size_t longest) {
  static const std::vector<std::string> parts = {"a",
                                                 "b",
                                                 "c",
                                                 "ab",
                                                 "abc",
                                                 " ",
                                                 " ",
                                                 "  ",
                                                 "\u2581",
                                                 "\u00E9",
                                                 "e\u0301",
                                                 "\u4E16",
                                                 "\U0001F600",
                                                 "\u2764\uFE0F",
                                                 "\u2026",
                                                 "\uFF21",
                                                 "\uFB01",
                                                 "\u00A0",
                                                 "\u3000",
                                                 "\t",
                                                 "\n",
                                                 "\r\n",
                                                 "\u00AD",
                                                 "\u200D",
                                                 "\uFFFD",
                                                 "\xFF",
                                                 "\xC3",
                                                 "\xE2\x96",
                                                 "\xED\xA0\x80",
                                                 "\xF0\x9F\x98",
                                                 "<s>",
                                                 "</s>",
                                                 "<unk>",
                                                 "<0x41>",
                                                 "<sep>",
                                                 "<ctl>",
                                                 std::string(1, '\0')};
  std::string text;
  for (std::size_t count = below(random, longest + 1); count > 0; --count) text += parts[below(random, parts.size())];
  return text;
}

/// Pieces over few characters, with scores that are often equal. As in models that were trained, BPE has a piece for
/// every character of its pieces.
SentencePieceModel random_model(Random& random, const std::string& map) {
  static const std::vector<std::string> characters = {"a",      "b",      "c",      "e", "\u2581",
                                                      "\u00E9", "\u4E16", "\uFFFD", ".", "<"};
  SentencePieceModel model;
  model.kind = below(random, 2) == 0 ? SentencePieceModel::unigram : SentencePieceModel::bpe;
  model.adds_space = below(random, 4) > 0;
  model.is_suffix = below(random, 4) == 0;
  model.squeezes = below(random, 2) == 0;
  model.escapes = below(random, 8) > 0;
  if (below(random, 2) == 0) model.map = map;
  if (below(random, 2) == 0) model.add_bytes();
  if (below(random, 3) == 0) model.unknown_surface = below(random, 2) == 0 ? "?" : "";
  const bool is_unigram = model.kind == SentencePieceModel::unigram;
  std::vector<std::string> known;
  if (!is_unigram) {
    known = characters;
    for (const std::string& character : characters) model.pieces.push_back({character, -100});
  }
  for (std::size_t count = 5 + below(random, 60); count > 0; --count) {
    std::string content;
    for (std::size_t length = 1 + below(random, 4); length > 0; --length)
      content += characters[below(random, characters.size())];
    if (count % 3 == 0) content = characters[below(random, characters.size())];
    if (std::find(known.begin(), known.end(), content) != known.end()) continue;
    known.push_back(content);
    const std::size_t kind = below(random, 20);
    const int type = kind == 0                 ? SentencePieceModel::user_defined
                     : kind == 1 && is_unigram ? SentencePieceModel::unused
                                               : SentencePieceModel::normal;
    const float score =
        below(random, 2) == 0 ? -static_cast<float>(below(random, 6)) : -0.37f * static_cast<float>(below(random, 60));
    model.pieces.push_back({content, score, type});
  }
  return model;
}

/// The library's tokenizer and ours say the same of random texts and tokens.
void compare_at_random(const std::string& model, Random& random, std::size_t texts, std::size_t longest) {
  const auto own = ours(model), library = tokenizer_from_sentencepiece(model);
  REQUIRE(own->vocabulary_size() == library->vocabulary_size());
  CHECK((own->bos_token() == library->bos_token() && own->eos_token() == library->eos_token()));
  for (; texts > 0; --texts) {
    const std::string text = random_text(random, longest);
    const EncodeOptions options{.parse_special_tokens = texts % 2 == 0};
    const Tokens tokens = library->encode(text, options);
    if (own->encode(text, options) != tokens) {
      CAPTURE(text);
      REQUIRE(own->encode(text, options) == tokens);
    }
    Tokens any = tokens;
    for (Token& token : any) {
      if (texts % 3 == 0) token = static_cast<Token>(below(random, own->vocabulary_size()));
    }
    if (own->decode(any) != library->decode(any)) {
      CAPTURE(any);
      REQUIRE(own->decode(any) == library->decode(any));
    }
  }
}

}  // namespace

TEST_CASE("the library says the same of random texts", "[text][sentencepiece_vocabulary]") {
  Random random(1);
  for (const char* name : models) {
    INFO(name);
    compare_at_random(golden_model(name), random, 500, 40);
    compare_at_random(golden_model(name), random, 3, 20000);
  }
}

TEST_CASE("the library says the same with random models", "[text][sentencepiece_vocabulary]") {
  const std::string map = test::character_map_of(golden_model("spm-unigram"));
  REQUIRE(map.size() > 1000);
  for (unsigned seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    const SentencePieceModel model = random_model(random, map);
    compare_at_random(model.bytes(), random, 60, 12);
  }
}

#endif

TEST_CASE("a megabyte of text is encoded in about linear time", "[text][sentencepiece_vocabulary][long]") {
  const auto tokenizer = ours(golden_model("spm-unigram"));
  CHECK(tokenizer->encode(std::string(1 << 20, 'a')).size() > 1000);
  CHECK(tokenizer->encode(std::string(1 << 20, ' ')).empty());
  CHECK(tokenizer->encode(std::string(1 << 20, '\xFF')).size() > 1000);
}

TEST_CASE("models that cannot be are errors", "[text][sentencepiece_vocabulary]") {
  SentencePieceModel model;
  model.pieces.push_back({"a", -1});
  CHECK(ours(model.bytes())->encode("a b") == Tokens{0, 3, 0});
  model.pieces.back().score = std::numeric_limits<float>::quiet_NaN();
  CHECK(code_of(model.bytes()) == ErrorCode::malformed);
  model.pieces.back() = {std::string(2000, 'a'), -1};
  CHECK(code_of(model.bytes()) == ErrorCode::malformed);
  model.pieces.back() = {"a", -1, 7};
  CHECK(code_of(model.bytes()) == ErrorCode::malformed);
  model.pieces.back() = {"a", -1};
  model.kind = SentencePieceModel::word;
  CHECK(code_of(model.bytes()) == ErrorCode::unsupported);
  model.kind = SentencePieceModel::unigram;
  model.map = "no map";
  CHECK(code_of(model.bytes()) == ErrorCode::malformed);
  CHECK(code_of("") == ErrorCode::malformed);
  CHECK(code_of("no model") == ErrorCode::malformed);
  std::string cut = golden_model("spm-bpe");
  cut.resize(cut.size() - 3);
  CHECK(code_of(cut) == ErrorCode::malformed);
}

TEST_CASE("scores beyond numbers do no harm", "[text][sentencepiece_vocabulary]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  SentencePieceModel model;
  model.pieces.insert(model.pieces.end(), {{"a", infinity}, {"ab", -infinity}, {"b", 3e38f}, {"bb", 3e38f}});
  CHECK(ours(model.bytes())->encode("abbba c").size() >= 4);
  model.pieces.resize(3);
  CHECK(ours(model.bytes())->encode("a c") == Tokens{0});
}

TEST_CASE("a model with broken bytes is an error or harmless", "[text][sentencepiece_vocabulary]") {
  const std::string whole = golden_model("spm-unigram");
  const std::string text = "A \uFF21\uFB01 e\u0301 \u2764\uFE0F \xFF\xE2 <sep> long words, and\u2026 \U0001F600";
  Random random(2);
  for (int round = 0; round < 1000; ++round) {
    std::string broken = whole;
    for (std::size_t count = 1 + below(random, 4); count > 0; --count) {
      broken[below(random, broken.size())] = static_cast<char>(random());
    }
    try {
      const auto tokenizer = ours(broken);
      CHECK(tokenizer->decode(tokenizer->encode(text)).size() < 100'000);
    } catch (const Error& error) {
      CHECK(error.code() != ErrorCode::io);
    }
  }
}
