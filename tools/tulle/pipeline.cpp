// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <tulle/tensor/isa.hpp>
#include <utility>

#include "model_files.hpp"
#include "model_path.hpp"
#include "progress_bar.hpp"

template class tulle::Decoder<tulle::AnyKernel, tulle::AnyCache>;

std::shared_ptr<const tulle::Model<tulle::AnyKernel>> load_model(const tulle::Checkpoint& checkpoint,
                                                                 const ModelFlags& flags) {
  if (!flags.isa.empty()) tulle::use_instruction_set(flags.isa);
  tulle::PackOptions pack;
  pack.kernel = tulle::kernel_choice(flags.kernel);
  ProgressBar bar;
  return tulle::Model<tulle::AnyKernel>::load(checkpoint, pack, bar.progress());
}

std::unique_ptr<tulle::TextGeneration> load_pipeline(const ModelFlags& flags) {
  const std::string path = model_path(flags.path);
  const auto checkpoint = open_checkpoint(path);
  auto tokenizer = open_tokenizer(path);
  std::string chat_template = open_chat_template(path);
  return std::make_unique<tulle::TextGeneration>(load_model(*checkpoint, flags), std::move(tokenizer),
                                                 std::move(chat_template), flags.engine);
}

std::unique_ptr<tulle::Engine> assemble_engine(std::shared_ptr<const tulle::Model<tulle::AnyKernel>> model,
                                               const tulle::EngineOptions& options) {
  return tulle::make_engine(std::move(model), options);
}
