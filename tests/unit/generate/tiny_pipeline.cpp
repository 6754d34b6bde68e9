// SPDX-License-Identifier: Apache-2.0
#include "unit/generate/tiny_pipeline.hpp"

#include <map>
#include <utility>

#include <tulle/format/tokenizer_files.hpp>
#include <tulle/generate/text_generation.hpp>

namespace tulle::testing {

namespace {

PackOptions packed_for(std::string_view kernel) {
  PackOptions pack;
  pack.kernel = kernel_choice(kernel);
  return pack;
}

std::map<std::string, std::shared_ptr<const Model<AnyKernel>>>& kept_models() {
  static std::map<std::string, std::shared_ptr<const Model<AnyKernel>>> models;
  return models;
}

}  // namespace

TinyModelsOn::TinyModelsOn(InstructionSet set) {
  kept_models().clear();
  use_instruction_set(instruction_set_name(set));
}

TinyModelsOn::~TinyModelsOn() {
  kept_models().clear();
  use_instruction_set(instruction_set_name(before_));
}

std::shared_ptr<const Model<AnyKernel>> tiny_model(const std::string& name, std::string_view kernel) {
  auto& model = kept_models()[name + " " + std::string(kernel)];
  if (model == nullptr) model = Model<AnyKernel>::load(TULLE_GOLDEN "/models/" + name, packed_for(kernel));
  return model;
}

std::unique_ptr<Engine> tiny_engine(const std::string& name, const EngineOptions& options, std::string_view kernel,
                                    std::size_t vocabulary) {
  return make_engine(tiny_model(name, kernel), options, vocabulary);
}

std::shared_ptr<const Tokenizer> tiny_tokenizer() {
  static const auto tokenizer = load_tokenizer(TULLE_GOLDEN "/models/gguf/f32.gguf");
  return tokenizer;
}

std::unique_ptr<TextGeneration> tiny_pipeline(const EngineOptions& options, std::string_view kernel) {
  return pipeline_of(tiny_model("gguf/f32.gguf", kernel), load_chat_template(TULLE_GOLDEN "/models/gguf/f32.gguf"),
                     options);
}

std::unique_ptr<TextGeneration> pipeline_from(const std::string& path, std::string_view kernel,
                                              const EngineOptions& options) {
  TextGenerationOptions all;
  all.kernel = std::string(kernel);
  all.engine = options;
  return std::make_unique<TextGeneration>(path, all);
}

std::unique_ptr<TextGeneration> pipeline_of(std::shared_ptr<const Model<AnyKernel>> model, std::string chat_template,
                                            const EngineOptions& options) {
  return std::make_unique<TextGeneration>(std::move(model), tiny_tokenizer(), std::move(chat_template), options);
}

std::vector<float> finish_logits(Engine& engine, SequenceId id) {
  std::vector<float> all;
  const auto keep = [&](SequenceId of, Position, std::span<const float> logits) {
    if (of == id) all.insert(all.end(), logits.begin(), logits.end());
  };
  while (engine.running()) engine.step(keep);
  return all;
}

std::vector<float> prompt_logits(Engine& engine, std::span<const Token> tokens) {
  const SequenceId id = engine.start(tokens, SamplerChain(), only_logits());
  std::vector<float> all = finish_logits(engine, id);
  engine.sequences().release(id);
  return all;
}

Generated finish_sequence(Engine& engine, SequenceId id) {
  Generated result;
  while (engine.running()) result.take(engine.step(), id);
  return result;
}

}  // namespace tulle::testing
