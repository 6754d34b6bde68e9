// SPDX-License-Identifier: Apache-2.0
#include "grammar_flags.hpp"

#include <tulle/core/error.hpp>
#include <tulle/generate/engine.hpp>

#include "streams.hpp"
#include "tools/compiled/grammar.hpp"

namespace {

/// What `make` makes of the text of a file, whose name is put before its errors.
template <class Make>
std::shared_ptr<const tulle::Constraint> constraint_of_file(const std::string& path, Make&& make) {
  const std::string text = read_file(path);
  try {
    return make(text);
  } catch (const tulle::Error& error) {
    tulle::fail(error.code(), path, ": ", error.what());
  }
}

}  // namespace

void GrammarFlags::add_to(CLI::App& flags) {
  const char* group = "Structured output (one of them)";
  CLI::Option* schema = flags.add_option(flag_names("--json-schema"), schema_, "Compact JSON that this schema accepts")
                            ->type_name("FILE")
                            ->group(group);
  CLI::Option* object = flags.add_flag(flag_names("--json-object"), json_object_, "A JSON object")->group(group);
  CLI::Option* grammar =
      flags.add_option("--grammar", grammar_, "A text of this EBNF grammar (root ::= \"yes\" | \"no\")")
          ->type_name("FILE")
          ->group(group);
  CLI::Option* regex = flags.add_option("--regex", regex_, "A text that this regular expression matches as a whole")
                           ->type_name("REGEX")
                           ->group(group);
  schema->excludes(object, grammar, regex);
  object->excludes(grammar, regex);
  grammar->excludes(regex);
}

std::shared_ptr<const tulle::Constraint> GrammarFlags::constraint(tulle::TextGeneration& pipeline) const {
  if (schema_.empty() && grammar_.empty() && regex_.empty() && !json_object_) return nullptr;
  const auto grammars = make_grammars(pipeline.tokenizer(), pipeline.engine().vocabulary());
  if (!schema_.empty()) {
    return constraint_of_file(schema_, [&](const std::string& text) { return grammars->json_schema(text); });
  }
  if (!grammar_.empty()) {
    return constraint_of_file(grammar_, [&](const std::string& text) { return grammars->ebnf(text); });
  }
  return regex_.empty() ? grammars->json_object() : grammars->regex(regex_);
}
