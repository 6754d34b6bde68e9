// SPDX-License-Identifier: Apache-2.0
/// \file What xgrammar's sources name and this build leaves out: its Lark and tag converters and printing; and where
/// its messages go: errors are thrown, warnings dropped (the schemas that cause them are refused before).
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lark_converter.h"
#include "structural_tag.h"
#include "support/logging.h"
#include "testing.h"

namespace xgrammar {

void LogFatalImpl(const std::string&, int, const std::string& message) {
  throw std::runtime_error(message);
}
void LogMessageImpl(const std::string&, int, int, const std::string&) {}

Grammar LarkToGrammar(const std::string&, const std::optional<TokenizerInfo>&, const std::vector<NamedGrammar>&) {
  throw std::runtime_error("built without Lark grammars");
}
Result<Grammar, StructuralTagError> StructuralTagToGrammar(const std::string&, const std::optional<TokenizerInfo>&) {
  throw std::runtime_error("built without structural tags");
}
std::string PrintTokenByIds(const std::vector<int>&, const TokenizerInfo&, int) {
  return {};
}

}  // namespace xgrammar
