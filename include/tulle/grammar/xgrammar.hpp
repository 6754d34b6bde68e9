// SPDX-License-Identifier: Apache-2.0
/// \file Grammars by xgrammar: the only include of it (L3). Who includes this links tulle::grammar.
#pragma once

#include <dlpack/dlpack.h>
#include <xgrammar/xgrammar.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/grammar/gbnf.hpp>
#include <tulle/grammar/grammars.hpp>
#include <tulle/grammar/json_schema.hpp>
#include <tulle/grammar/regex_subset.hpp>
#include <tulle/sampling/constraint.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// A matcher, and the bits of one position.
class XGrammarState final : public ConstraintState {
 public:
  XGrammarState(xgrammar::GrammarMatcher matcher, std::size_t words, std::vector<std::uint32_t> end)
      : matcher_(std::move(matcher)), words_(words), end_(std::move(end)) {}

  std::unique_ptr<ConstraintState> clone() const override {
    return std::make_unique<XGrammarState>(matcher_.Fork(), words_.size(), end_);
  }
  bool accept(Token token) noexcept override try { return matcher_.AcceptToken(token); } catch (...) {
    return false;
  }
  void rollback(std::size_t tokens) noexcept override try { matcher_.Rollback(static_cast<int>(tokens)); } catch (...) {
    failed_ = true;
  }
  std::span<const std::uint32_t> allowed() noexcept override try {
    if (failed_ || matcher_.IsTerminated()) return end_;
    std::int64_t size = static_cast<std::int64_t>(words_.size());
    DLTensor bits{words_.data(), {kDLCPU, 0}, 1, xgrammar::GetBitmaskDLType(), &size, nullptr, 0};
    matcher_.FillNextTokenBitmask(&bits);
    // Where no token goes on, the vocabulary cannot write what the grammar wants: the text ends.
    return std::all_of(words_.begin(), words_.end(), [](std::uint32_t word) { return word == 0; }) ? end_ : words_;
  } catch (...) {
    return end_;
  }

 private:
  xgrammar::GrammarMatcher matcher_;
  std::vector<std::uint32_t> words_, end_;  // the second: of eos tokens alone
  bool failed_ = false;
};

class XGrammarConstraint final : public Constraint {
 public:
  XGrammarConstraint(xgrammar::CompiledGrammar grammar, std::size_t vocabulary)
      : grammar_(std::move(grammar)), vocabulary_(vocabulary) {}

  std::unique_ptr<ConstraintState> begin(std::span<const Token> eos) const override {
    const std::size_t words = (vocabulary_ + 31) / 32;
    std::vector<int> stops;
    std::vector<std::uint32_t> end(words);
    for (const Token token : eos) {
      if (token < 0 || static_cast<std::size_t>(token) >= vocabulary_) continue;
      stops.push_back(token);
      end[static_cast<std::size_t>(token) / 32] |= std::uint32_t{1} << (token % 32);
    }
    if (stops.empty())
      fail(ErrorCode::invalid_argument, "a text that follows a grammar needs an eos token to end with");
    return std::make_unique<XGrammarState>(xgrammar::GrammarMatcher(grammar_, std::move(stops)), words, std::move(end));
  }

 private:
  xgrammar::CompiledGrammar grammar_;
  std::size_t vocabulary_;
};

/// Special tokens are in no text that follows a grammar.
class XGrammars final : public Grammars {
 public:
  /// `vocabulary`: ids below it are sampled. Takes a tenth of a second for a large vocabulary. Errors: unsupported for a
  /// model without a tokenizer.
  XGrammars(const Tokenizer& tokenizer, std::size_t vocabulary)
      : vocabulary_(vocabulary), compiler_(vocabulary_of(tokenizer, vocabulary), 1, true, cache_bytes) {}

  std::shared_ptr<const Constraint> json_object() override {
    return json_schema(R"({"type":"object","additionalProperties":true})");
  }
  std::shared_ptr<const Constraint> json_schema(std::string_view schema) override {
    const std::string understood = understood_schema(schema);
    return compiled([&] {
      return compiler_.CompileJSONSchema(understood, false, std::nullopt,
                                         std::pair<std::string, std::string>(",", ":"));
    });
  }
  std::shared_ptr<const Constraint> framed_json(std::span<const FramedJson> choices) override {
    return compiled([&] {
      std::vector<xgrammar::Grammar> all;
      for (const FramedJson& choice : choices) {
        all.push_back(xgrammar::Grammar::Concat({literal(choice.before), json(choice.schema), literal(choice.after)}));
      }
      return compiler_.CompileGrammar(all.size() == 1 ? all.front() : xgrammar::Grammar::Union(all));
    });
  }
  std::shared_ptr<const Constraint> regex(std::string_view pattern) override {
    const std::string followed = followed_regex(pattern);
    return compiled([&] { return compiler_.CompileRegex(followed); });
  }
  std::shared_ptr<const Constraint> ebnf(std::string_view rules) override {
    return compiled([&] { return compiler_.CompileGrammar(explicit_gbnf(rules)); });
  }

 private:
  static constexpr std::int64_t cache_bytes = std::int64_t{64} << 20;

  static xgrammar::TokenizerInfo vocabulary_of(const Tokenizer& tokenizer, std::size_t vocabulary) {
    if (tokenizer.vocabulary_size() == 0) fail(ErrorCode::unsupported, "tokens without a text can follow no grammar");
    std::vector<std::string> pieces(vocabulary);
    for (std::size_t id = 0; id < vocabulary; ++id) {
      const auto token = static_cast<Token>(id);
      if (!tokenizer.is_special(token)) pieces[id] = tokenizer.piece(token);
    }
    return xgrammar::TokenizerInfo(pieces, xgrammar::VocabType::RAW, static_cast<int>(vocabulary),
                                   std::vector<std::int32_t>());
  }

  static xgrammar::Grammar json(const std::string& schema) {
    return xgrammar::Grammar::FromJSONSchema(understood_schema(schema), false, std::nullopt,
                                             std::pair<std::string, std::string>(",", ":"));
  }

  /// A text as EBNF.
  static xgrammar::Grammar literal(std::string_view text) {
    std::string rules = "root ::= \"";
    for (const char c : text) {
      if (c == '"' || c == '\\') rules += '\\';
      rules += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return xgrammar::Grammar::FromEBNF(rules + '"');
  }

  /// xgrammar's errors as ours.
  template <class Compile>
  std::shared_ptr<const Constraint> compiled(Compile&& compile) const try {
    const xgrammar::CompiledGrammar grammar = compile();
    XGrammarState first(xgrammar::GrammarMatcher(grammar, std::vector<int>{0}), (vocabulary_ + 31) / 32, {});
    if (first.allowed().empty())
      fail(ErrorCode::invalid_argument, "the grammar cannot be followed: no text of this vocabulary begins as it says");
    return std::make_shared<XGrammarConstraint>(grammar, vocabulary_);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail(ErrorCode::invalid_argument, "the grammar cannot be followed: ", error.what());
  }

  std::size_t vocabulary_;
  xgrammar::GrammarCompiler compiler_;
};

}  // namespace tulle
