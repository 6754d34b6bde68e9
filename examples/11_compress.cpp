// SPDX-License-Identifier: Apache-2.0
// Lesson 11: from a dense model to a sparse one with int8 weights, written for transformers, vLLM and Tulle.
//   usage: 11_compress MODEL TEXT_FILE DIRECTORY
#include <iostream>

#include <tulle/compress/compress.hpp>
#include <tulle/compress/stage_plan.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/dataset/token_sequences.hpp>
#include <tulle/format/export/export_model.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/model/families.hpp>

int main(int count, char** arguments) try {
  if (count < 4) tulle::fail(tulle::ErrorCode::invalid_argument, "usage: 11_compress MODEL TEXT_FILE DIRECTORY");
  const auto dense = tulle::Checkpoint::open(arguments[1]);
  const tulle::Architecture model = tulle::describe_model(dense->config(), dense->path());
  const auto tokenizer = tulle::load_tokenizer(arguments[1]);
  const auto sequences = tulle::read_token_sequences(arguments[2], tulle::TextEncoder{*tokenizer},
                                                     {.max_length = 128, .max_sequences = 128});

  // Half of the weights become zero, the others int8. parse_recipe and plan_stage make the plan of a recipe instead.
  const tulle::StagePlan plan = tulle::plan_of_flags(tulle::module_list(model), 0.5, "", 8);
  tulle::CompressionOptions options;
  options.held_out = sequences.size() / 8;  // sequences that only measure the loss
  const tulle::CompressedModel compressed = tulle::compress(*dense, model, sequences, plan, options);
  tulle::export_model(*compressed.tensors, tulle::describe_checkpoint(*dense), arguments[3], {.replace = true});

  std::cout << compressed.layers.size() << " matrices, perplexity " << compressed.held_out.dense_perplexity
            << " became " << compressed.held_out.perplexity << "\n";
} catch (const tulle::Error& error) {
  std::cerr << "11_compress: " << error.what() << "\n";
  return 1;
}
