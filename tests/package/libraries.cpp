// SPDX-License-Identifier: Apache-2.0
// A little of what tulle::compress, tulle::dataset and tulle::grammar are linked for: OpenBLAS, yaml-cpp, zlib,
// xgrammar.
#include <array>
#include <iostream>

#include <tulle/compress/linear_algebra.hpp>
#include <tulle/format/dataset/dataset_input.hpp>
#include <tulle/format/yaml/parse_yaml.hpp>

#if __has_include(<xgrammar/xgrammar.h>)
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/grammar/xgrammar.hpp>

/// Whether a text that is yes or no may begin with some token, and with these letters alone.
bool follows_a_grammar(const char* model) {
  const auto tokenizer = tulle::load_tokenizer(model);
  const std::size_t vocabulary = tokenizer->vocabulary_size();
  tulle::XGrammars grammars(*tokenizer, vocabulary);
  const std::array<tulle::Token, 1> eos{*tokenizer->eos_token()};
  const auto state = grammars.regex("yes|no")->begin(eos);
  bool found = false;
  for (std::size_t id = 0; id < vocabulary; ++id) {
    if ((state->allowed()[id / 32] >> id % 32 & 1) == 0) continue;
    const std::string piece = tokenizer->piece(static_cast<tulle::Token>(id));
    if (piece.empty() || (piece[0] != 'y' && piece[0] != 'n')) return false;
    found = true;
  }
  return found;
}
#endif

int main(int, char** arguments) {
  std::array<double, 4> matrix{4, 2, 2, 2};
  if (!tulle::factor_cholesky(tulle::MatrixView<double>(matrix.data(), 2, 2)) || matrix[0] != 2) return 1;
  (void)tulle::parse_yaml("stage: {sparsity: 0.5}", "a recipe");
#if __has_include(<xgrammar/xgrammar.h>)
  if (!follows_a_grammar(arguments[2])) return 1;
#endif
  std::cout << tulle::DatasetInput(arguments[1], 1u << 20).next().substr(0, 80) << '\n';
}
