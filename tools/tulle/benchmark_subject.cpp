// SPDX-License-Identifier: Apache-2.0
#include "benchmark_subject.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tulle/model/families.hpp>
#include <tulle/tensor/sparsity.hpp>
#include <vector>

#include "linear_tensors.hpp"
#include "model_files.hpp"
#include "pipeline.hpp"
#include "progress_bar.hpp"
#include "pruned_tensors.hpp"
#include "synthetic_model.hpp"

BenchmarkSubject BenchmarkSubject::of_shape(const std::string& shape, const Pruning& pruning) {
  BenchmarkSubject subject;
  subject.name_ = "synthetic " + shape;
  subject.caveat_ = std::string("Synthetic weights") + (pruning.prunes() ? ", pruned by magnitude" : "") +
                    ": for speed only, their text is worthless";
  subject.structure_ = pruning.structure;
  subject.sparsity_ = pruning.sparsity;
  subject.architecture_ = synthetic_architecture(shape);
  subject.source_ = std::make_shared<SyntheticTensors>(subject.architecture_, pruning);
  return subject;
}

BenchmarkSubject BenchmarkSubject::of_model(const std::string& path, const std::vector<tulle::AdapterPath>& adapters,
                                            const Pruning& pruning) {
  BenchmarkSubject subject;
  subject.name_ = subject.path_ = path;
  subject.checkpoint_ = open_checkpoint(path, adapters);
  const tulle::Json& config = subject.checkpoint_->config();
  subject.architecture_ = tulle::describe_model(config, path);
  subject.options_.pack.scale_per_input = tulle::quantizes_activations_per_token(config);
  if (!pruning.prunes()) {
    subject.source_ = subject.checkpoint_;
    subject.measure_zeros();
    return subject;
  }
  subject.caveat_ = "Quantized to int8 and pruned by magnitude in memory: for speed only, its text is worthless";
  subject.structure_ = pruning.structure;
  subject.sparsity_ = pruning.sparsity;
  subject.source_ = std::make_shared<PrunedTensors>(*subject.checkpoint_, subject.architecture_, pruning);
  subject.architecture_.tied_head = false;
  return subject;
}

void BenchmarkSubject::measure_zeros() {
  std::map<std::string_view, std::size_t> elements;  // by structure
  std::size_t zeros = 0, all = 0;
  ProgressBar bar;
  const tulle::Progress progress = bar.progress();
  const std::vector<LinearTensor> tensors = linear_tensors(architecture_);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool tied = architecture_.tied_head && i + 1 == tensors.size();
    const auto rows = source_->matrix(tied ? architecture_.names.embedding : tensors[i].name);
    if (rows == nullptr || rows->rows() != tensors[i].rows || rows->columns() != tensors[i].columns) {
      continue;  // loading reports what is wrong
    }
    const tulle::Sparsity sparsity = tulle::measure_sparsity(*rows);
    elements[sparsity.structure] += sparsity.elements;
    zeros += sparsity.zeros;
    all += sparsity.elements;
    if (progress) progress("measuring zeros", static_cast<double>(i + 1) / static_cast<double>(tensors.size()));
  }
  if (all == 0) return;
  sparsity_ = static_cast<double>(zeros) / static_cast<double>(all);
  structure_ = std::max_element(elements.begin(), elements.end(), [](const auto& a, const auto& b) {
                 return a.second < b.second;
               })->first;
}

std::shared_ptr<const tulle::Model<tulle::AnyKernel>> BenchmarkSubject::load(const std::string& kernel) const {
  tulle::LoadOptions options = options_;
  options.pack.kernel = tulle::kernel_choice(kernel);
  return load_model(*source_, architecture_, options);
}
