// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/draft_vocabulary.hpp>

#include <catch2/catch_all.hpp>
#include <set>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;
using Catch::Matchers::ContainsSubstring;
using test::error_of;

namespace {

/// A token is the text of its place.
class ListedTokens final : public Tokenizer {
 public:
  explicit ListedTokens(std::vector<std::string> pieces, std::set<Token> special = {})
      : pieces_(std::move(pieces)), special_(std::move(special)) {}

  std::vector<Token> encode(std::string_view, const EncodeOptions&) const override { return {}; }
  std::string piece(Token token) const override { return pieces_[static_cast<std::size_t>(token)]; }
  void append(Token, DecodeState&, std::string&) const override {}
  std::optional<Token> find(std::string_view) const override { return std::nullopt; }
  bool is_special(Token token) const override { return special_.contains(token); }
  std::size_t vocabulary_size() const override { return pieces_.size(); }
  std::optional<Token> bos_token() const override { return std::nullopt; }
  std::optional<Token> eos_token() const override { return std::nullopt; }

 private:
  std::vector<std::string> pieces_;
  std::set<Token> special_;
};

std::string refusal(const Json& config) {
  try {
    refuse_draft_heads(config, "models/draft");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a draft model has the tokens of its target", "[generate][draft]") {
  const ListedTokens target({"<s>", "a", "b", "c"}, {0});
  CHECK_NOTHROW(require_same_vocabulary(target, target, "draft"));
  CHECK_NOTHROW(require_same_vocabulary(target, ListedTokens({"<|endoftext|>", "a", "b", "c"}, {0}), "draft"));
  CHECK_NOTHROW(require_same_vocabulary(target, ListedTokens({"<s>", "a", "b"}, {0}), "draft"));
  const ListedTokens other({"<s>", "a", "B", "c"}, {0});
  CHECK_THROWS_WITH(require_same_vocabulary(target, other, "small"),
                    ContainsSubstring("small") && ContainsSubstring("token 2 is \"B\" there and \"b\" in the model"));
  std::vector<std::string> many{"<s>", "a", "b", "c"};
  many.resize(140, "x");
  CHECK_THROWS_WITH(require_same_vocabulary(target, ListedTokens(many, {0}), "large"),
                    ContainsSubstring("140 tokens and the model 4"));
}

TEST_CASE("draft heads of a model are refused by name", "[generate][draft]") {
  CHECK_THAT(refusal({{"architectures", {"LlamaForCausalLMEagle3"}}}), ContainsSubstring("EAGLE"));
  CHECK_THAT(refusal({{"model_type", "medusa"}}), ContainsSubstring("Medusa"));
  CHECK_THAT(refusal({{"model_type", "deepseek_mtp"}}), ContainsSubstring("multi-token prediction"));
  CHECK_THAT(refusal({{"architectures", {"MLPSpeculatorPreTrainedModel"}}, {"model_type", "mlp_speculator"}}),
             ContainsSubstring("MLP speculator"));
  CHECK_THAT(refusal({{"speculators_model_type", "eagle3"}}), ContainsSubstring("models/draft is a speculator"));
  CHECK(refusal({{"model_type", "llama"}, {"architectures", {"LlamaForCausalLM"}}}).empty());
  CHECK(refusal(Json()).empty());
}
