// SPDX-License-Identifier: Apache-2.0
/// \file A loaded model: its description and its packed weights (L4).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/compressed_tensors.hpp>
#include <tulle/kernel/kept_weights.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/families.hpp>
#include <tulle/model/weight_loader.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle {

/// Immutable, and shared by everything that generates with it.
/// Threads: const.
template <class Kernel>
class Model {
  static_assert(LinearKernel<Kernel>);

 public:
  /// Opens a Hugging Face directory or a GGUF file and packs its weights for `Kernel`, on `threads` threads (see
  /// `LoadOptions`). Errors: those of `Checkpoint::open`, `describe_model` and `load_weights`.
  [[gnu::noinline]] static std::shared_ptr<const Model> load(const std::string& path, const PackOptions& pack = {},
                                                             Progress progress = {}, std::size_t threads = 0) {
    return load(*Checkpoint::open(path), pack, std::move(progress), threads);
  }

  /// `kept`: see `LoadOptions`.
  [[gnu::noinline]] static std::shared_ptr<const Model> load(const Checkpoint& checkpoint, const PackOptions& pack = {},
                                                             Progress progress = {}, std::size_t threads = 0,
                                                             std::shared_ptr<const KeptMatrices> kept = nullptr) {
    Architecture architecture = describe_model(checkpoint.config(), checkpoint.path());
    // The eos tokens of a generation config replace those of the config.
    if (checkpoint.generation_config().contains("eos_token_id")) {
      architecture.set_eos(eos_tokens(checkpoint.generation_config(), checkpoint.path()));
    }
    if (architecture.tied_head && checkpoint.is_adapted(architecture.names.head)) {
      fail(ErrorCode::unsupported, checkpoint.path(), ": an adapter changes \"", architecture.names.head,
           "\", whose matrix is the embedding's in this model; merge it with PEFT and save the model with a head");
    }
    LoadOptions options{pack, std::move(progress), threads, std::move(kept)};
    options.pack.scale_per_input = quantizes_activations_per_token(checkpoint.config());
    return load(checkpoint, std::move(architecture), options);
  }

  /// Packs the weights that `architecture` describes out of any source. Errors: those of `load_weights` and
  /// `check_instruction_set`.
  [[gnu::noinline]] static std::shared_ptr<const Model> load(const TensorSource& source, Architecture architecture,
                                                             const LoadOptions& options = {}) {
    check_instruction_set();
    std::shared_ptr<Model> model(new Model);
    model->kept_ = options.kept;
    model->architecture_ = std::move(architecture);
    model->weights_ = load_weights<Kernel>(source, model->architecture_, options);
    return model;
  }

  const Architecture& architecture() const noexcept { return architecture_; }
  const ModelWeights<Kernel>& weights() const noexcept { return weights_; }

 private:
  Model() = default;

  std::shared_ptr<const KeptMatrices> kept_;  // what weights view
  Architecture architecture_;
  ModelWeights<Kernel> weights_;
};

}  // namespace tulle
