// SPDX-License-Identifier: Apache-2.0
/// \file Grammars of texts, compiled for the tokens of one model: the interface, without an engine (L3).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <tulle/sampling/constraint.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// A JSON text in a frame, such as a tool call.
struct FramedJson {
  std::string before, schema, after;
};

/// Makes what `SamplingOptions::constraint` takes. What was compiled before is kept, up to some megabytes.
/// JSON is compact: no white space between its parts, but behind commas in values that a schema does not describe.
/// Threads: all members may be called from any thread.
/// Errors of all: invalid_argument for what is not understood, too large, or can never be met.
class Grammars {
 public:
  Grammars() = default;
  Grammars(const Grammars&) = delete;
  Grammars& operator=(const Grammars&) = delete;
  virtual ~Grammars() = default;

  /// Any JSON object.
  virtual std::shared_ptr<const Constraint> json_object() = 0;
  /// JSON that `schema` accepts: JSON Schema 2020-12 as far as `understood_schema` goes. Properties come in the order in
  /// which the schema has them.
  virtual std::shared_ptr<const Constraint> json_schema(std::string_view schema) = 0;
  /// One of several.
  virtual std::shared_ptr<const Constraint> framed_json(std::span<const FramedJson> choices) = 0;
  /// A whole text that the expression matches.
  virtual std::shared_ptr<const Constraint> regex(std::string_view pattern) = 0;
  /// EBNF as llama.cpp's GBNF writes it: `root ::= "yes" | "no"`.
  virtual std::shared_ptr<const Constraint> ebnf(std::string_view rules) = 0;
};

/// Makes grammars for a tokenizer, which must outlive them; `vocabulary`: ids below it are sampled.
using MakeGrammars = std::function<std::unique_ptr<Grammars>(const Tokenizer& tokenizer, std::size_t vocabulary)>;

}  // namespace tulle
