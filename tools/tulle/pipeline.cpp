// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <tulle/core/error.hpp>
#include <tulle/generate/draft/make_speculation.hpp>
#include <tulle/generate/packed_cache.hpp>
#include <tulle/tensor/isa.hpp>
#include <utility>

#include "model_files.hpp"
#include "model_path.hpp"
#include "progress_bar.hpp"
#include "tools/compiled/hub.hpp"

void choose_instruction_set(const std::string& name) {
  name.empty() ? tulle::check_instruction_set() : tulle::use_instruction_set(name);
}

tulle::PackOptions pack_options(const ModelFlags& flags) {
  tulle::PackOptions pack;
  pack.kernel = tulle::kernel_choice(flags.kernel);
  return pack;
}

std::shared_ptr<const tulle::Model<tulle::AnyKernel>> load_model(const tulle::Checkpoint& checkpoint,
                                                                 const ModelFlags& flags) {
  choose_instruction_set(flags.isa);
  ProgressBar bar;
  return tulle::load_packed<tulle::AnyKernel>(checkpoint, pack_options(flags),
                                              {flags.engine.packed_cache, flags.engine.verify_packed}, bar.progress(),
                                              flags.engine.threads);
}

std::shared_ptr<const tulle::Model<tulle::AnyKernel>> load_model(const tulle::TensorSource& source,
                                                                 const tulle::Architecture& architecture,
                                                                 tulle::LoadOptions options) {
  ProgressBar bar;
  options.progress = bar.progress();
  return tulle::Model<tulle::AnyKernel>::load(source, architecture, options);
}

std::unique_ptr<tulle::TextGeneration> load_pipeline(const ModelFlags& flags, tulle::DraftOptions draft) {
  const std::string path = model_path(flags.path);
  const auto open = [&] { return open_checkpoint(path, flags.adapters); };
  auto model = load_model(*open(), flags);  // its errors before those of the tokenizer
  auto pipeline = std::make_unique<tulle::TextGeneration>(std::move(model), open_tokenizer(path),
                                                          open_chat_template(path), flags.engine);
  ProgressBar bar;
  draft.drafter = local_drafter(draft.drafter, bar.progress());
  tulle::Engine& engine = pipeline->engine();
  engine.speculate(tulle::make_speculation({engine, pipeline->tokenizer(), flags.engine, open}, draft, bar.progress()));
  return pipeline;
}

std::unique_ptr<tulle::Engine> assemble_engine(std::shared_ptr<const tulle::Model<tulle::AnyKernel>> model,
                                               const tulle::EngineOptions& options) {
  return tulle::make_engine(std::move(model), options);
}
