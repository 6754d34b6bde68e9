// SPDX-License-Identifier: Apache-2.0
/// \file Loading: from the flags to a model, an engine or a whole pipeline.
#pragma once

#include <memory>
#include <string>
#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/draft/draft_options.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/text_generation.hpp>

#include "model_flags.hpp"

/// `name` (--isa), or TULLE_ISA where that is empty. Errors: invalid_argument, unsupported.
void choose_instruction_set(const std::string& name);

/// Model, tokenizer and engine, and what drafts for it. Shows a bar on stderr when loading takes long. Errors: those of
/// loading.
std::unique_ptr<tulle::TextGeneration> load_pipeline(const ModelFlags& flags, tulle::DraftOptions draft = {});

/// What the flags say of the form of the weights. Errors: invalid_argument.
tulle::PackOptions pack_options(const ModelFlags& flags);

/// The model alone, without a tokenizer.
std::shared_ptr<const tulle::Model<tulle::AnyKernel>> load_model(const tulle::Checkpoint& checkpoint,
                                                                 const ModelFlags& flags);

/// The model that `architecture` describes, out of any source of tensors. The instruction set is chosen already.
std::shared_ptr<const tulle::Model<tulle::AnyKernel>> load_model(const tulle::TensorSource& source,
                                                                 const tulle::Architecture& architecture,
                                                                 tulle::LoadOptions options);

/// An engine without a tokenizer. Errors: those of `tulle::make_engine`.
std::unique_ptr<tulle::Engine> assemble_engine(std::shared_ptr<const tulle::Model<tulle::AnyKernel>> model,
                                               const tulle::EngineOptions& options);
