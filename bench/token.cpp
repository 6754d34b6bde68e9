// SPDX-License-Identifier: Apache-2.0
/// \file Where the time of a token goes: everything except the matrix products, each part as in the decoder, and a
/// whole token.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <tulle/generate/engine.hpp>
#include <tulle/tensor/isa.hpp>

#include "measure.hpp"
#include "tulle/synthetic_model.hpp"

namespace {

using Model = tulle::Model<tulle::AnyKernel>;
using Cache = tulle::ContiguousCache<tulle::Half>;

std::vector<float> random_floats(std::size_t count) {
  std::mt19937 random(static_cast<std::uint32_t>(count));
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// One token after `position` others, as the parts that the decoder runs between its matrix products. Every part works
/// on its own values, whose content does not matter here.
class Parts {
 public:
  Parts(const Model& model, tulle::ThreadPool& pool, tulle::Position position)
      : model_(model.architecture()),
        weights_(model.weights()),
        parallel_(pool, model_.heads, model_.kv_heads, model_.head_dim),
        cache_(tulle::cache_shape(model_), 1, position + 1),
        x_(random_floats(std::max(model_.qkv_rows(), model_.max_up_rows()))),
        y_(x_),
        logits_(random_floats(model_.vocabulary)),
        scratch_(logits_),
        input_(1, std::max({model_.hidden, model_.max_intermediate(), model_.query_rows()})) {
    for (float& logit : logits_) logit *= 4;  // about as far apart as a model's
    cache_.extend(0, position + 1);
    for (std::size_t layer = 0; layer < model_.layers.size(); ++layer) {
      for (tulle::Position at = 0; at <= position; ++at) cache_.append(layer, 0, at, x_.data(), x_.data() + 1);
    }
  }

  void norms() noexcept {
    for (const auto& layer : weights_.layers) normalize(layer.attention_norm);
    if (!parallel_residual()) {
      for (const auto& layer : weights_.layers) normalize(layer.mlp_norm);
    }
    normalize(weights_.final_norm);
  }

  void quantization() noexcept {
    for (const auto& layer : weights_.layers) {
      prepare(layer.query_key_value);
      prepare(layer.output);
      if (!parallel_residual()) prepare(layer.up);
      prepare(layer.down);
    }
    prepare(weights_.head);
  }

  void rotary_and_append() noexcept {
    const tulle::Rotary& rotary = model_.rotary_tables[model_.layers.front().rotary];
    const auto& frequencies = rotary.inverse_frequencies;
    const tulle::Position position = cache_.length(0) - 1;
    float cosines[512] = {}, sines[512] = {};
    for (std::size_t j = 0; j < frequencies.size(); ++j) {
      const auto angle = static_cast<double>(static_cast<float>(position) * frequencies[j]);
      cosines[j] = static_cast<float>(std::cos(angle));
      sines[j] = static_cast<float>(std::sin(angle));
    }
    for (std::size_t layer = 0; layer < model_.layers.size(); ++layer) {
      for (std::size_t head = 0; head < model_.heads + model_.kv_heads; ++head) {
        tulle::rotate(x_.data() + head * model_.head_dim, cosines, sines, frequencies.size(), rotary.pairing);
      }
      const float* key = x_.data() + model_.query_rows();
      cache_.append(layer, 0, position, key, key + model_.kv_rows());
    }
  }

  void activation() noexcept {
    for (std::size_t layer = 0; layer < model_.layers.size(); ++layer) {
      const std::size_t intermediate = model_.layers[layer].intermediate;
      if (model_.layers[layer].mlp == tulle::MlpKind::gated_silu) {
        tulle::silu_times(x_.data(), x_.data() + intermediate, intermediate, y_.data());
      } else {
        std::memcpy(y_.data(), x_.data(), sizeof(float) * intermediate);
        tulle::gelu_new(y_.data(), intermediate);
      }
    }
  }

  void attention() noexcept {
    const std::size_t group = model_.heads / model_.kv_heads;
    for (std::size_t layer = 0; layer < model_.layers.size(); ++layer) {
      parallel_.attend(cache_, 1, [&](std::size_t, std::size_t kv_head) noexcept {
        const std::size_t at = kv_head * group * model_.head_dim;
        return tulle::AttentionRows{.layer = layer,
                                    .window = model_.layers[layer].window,
                                    .first = cache_.length(0) - 1,
                                    .kv_head = kv_head,
                                    .group = group,
                                    .query = x_.data() + at,
                                    .out = y_.data() + at};
      });
    }
  }

  void sample(tulle::SamplerChain& sampler) {
    std::memcpy(scratch_.data(), logits_.data(), sizeof(float) * logits_.size());
    const tulle::Token history[] = {1, 2, 3};
    (void)sampler.sample(std::span(scratch_), {history, 1, 3, 7, 0});
  }

 private:
  bool parallel_residual() const noexcept { return model_.layers.front().residual == tulle::Residual::parallel; }

  void normalize(const tulle::NormWeights& norm) noexcept {
    if (model_.norm == tulle::NormKind::rms) {
      tulle::rms_norm(x_.data(), norm.weight.data(), model_.hidden, model_.norm_epsilon, y_.data());
    } else {
      tulle::layer_norm(x_.data(), norm.weight.data(), norm.bias.data(), model_.hidden, model_.norm_epsilon, y_.data());
    }
  }

  void prepare(const tulle::Linear<tulle::AnyKernel>& linear) noexcept {
    const auto& weights = linear.parts.front().weights;
    tulle::AnyKernel::start(weights, 1, input_);
    tulle::AnyKernel::prepare(weights, {x_.data(), 1, weights.columns()}, input_, {0, 1});
  }

  const tulle::Architecture& model_;
  const tulle::ModelWeights<tulle::AnyKernel>& weights_;
  tulle::ParallelAttention parallel_;
  Cache cache_;
  std::vector<float> x_, y_, logits_, scratch_;
  tulle::AnyKernel::Input input_;
};

tulle::SamplingOptions drawing(int top_k, float top_p) {
  tulle::SamplingOptions options;
  options.do_sample = true;
  options.temperature = 0.8f;
  options.top_k = top_k;
  options.top_p = top_p;
  return options;
}

/// Greedy tokens of one text that always has the same length.
class Steps {
 public:
  Steps(std::shared_ptr<const Model> model, const tulle::EngineOptions& options, std::size_t length)
      : engine_(tulle::make_engine(std::move(model), options)), length_(length) {
    tulle::SequenceOptions fill;
    fill.max_new_tokens = 0;
    one_token_.max_new_tokens = 1;
    one_token_.ignore_eos = true;
    sequence_ = engine_->start(std::vector<tulle::Token>(length, 5), tulle::SamplerChain(), fill);
    while (engine_->running()) engine_->step();
  }

  void run() {
    engine_->sequences().truncate(sequence_, length_);
    engine_->run(sequence_, tulle::SamplerChain(), one_token_);
    engine_->step();
  }

 private:
  std::unique_ptr<tulle::Engine> engine_;
  std::size_t length_;
  tulle::SequenceId sequence_;
  tulle::SequenceOptions one_token_;
};

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Where the time of a token goes, on synthetic weights");
  std::string shape = "codegen-350m", structure = "8:16-gap4";
  std::size_t threads = tulle::usable_core_count(), repeats = 31, kv_tokens = 128;
  std::vector<std::string> structures;
  for (const Pruning& pruning : balanced_prunings()) structures.emplace_back(pruning.structure);
  app.add_option("--shape", shape, "Model")->capture_default_str()->check(CLI::IsMember(synthetic_shapes));
  app.add_option("--structure", structure, "Zeros of its weights")
      ->capture_default_str()
      ->check(CLI::IsMember(structures));
  app.add_option("--threads", threads, "Threads")->capture_default_str();
  app.add_option("--num-kv-cache-tokens", kv_tokens, "Tokens before the one that is measured")->capture_default_str();
  app.add_option("--repeats", repeats, "Runs of each part")->capture_default_str();
  app.footer("TULLE_ISA=avx2 forces an instruction set.\nExample: bench_token --threads 1 --num-kv-cache-tokens 1024");
  CLI11_PARSE(app, argc, argv);

  const auto prunings = balanced_prunings();
  const Pruning pruning =
      *std::find_if(prunings.begin(), prunings.end(), [&](const Pruning& each) { return each.structure == structure; });
  const tulle::Architecture architecture = synthetic_architecture(shape);
  tulle::LoadOptions load;
  load.pack.kernel = "i8";
  const auto model = Model::load(SyntheticTensors(architecture, pruning), architecture, load);
  tulle::EngineOptions options;
  options.threads = threads;
  options.sequence_length = kv_tokens + 2;
  options.max_sequences = 1;
  Steps steps(model, options, kv_tokens + 1);
  tulle::ThreadPool pool(threads);
  Parts parts(*model, pool, static_cast<tulle::Position>(kv_tokens));
  tulle::SamplerChain greedy, temperature(drawing(0, 1)), top_p(drawing(0, 0.95f)), top_k(drawing(50, 0.95f));

  struct Task {
    const char* name;
    std::function<void()> work;
  };
  const std::vector<Task> named{{"whole token, greedy", [&] { steps.run(); }},
                                {"norms", [&] { parts.norms(); }},
                                {"quantizing activations", [&] { parts.quantization(); }},
                                {"rotary, storing keys and values", [&] { parts.rotary_and_append(); }},
                                {"activation function", [&] { parts.activation(); }},
                                {"sampling: greedy", [&] { parts.sample(greedy); }},
                                {"attention", [&] { parts.attention(); }},
                                {"sampling: temperature 0.8", [&] { parts.sample(temperature); }},
                                {"sampling: and top-p 0.95", [&] { parts.sample(top_p); }},
                                {"sampling: and top-k 50", [&] { parts.sample(top_k); }}};
  constexpr std::size_t first_part = 1, parts_end = 6;  // everything except matrix products and attention
  std::vector<std::function<void()>> tasks;
  for (const Task& task : named) tasks.push_back(task.work);
  const auto times = bench::interleaved(tasks, repeats);

  std::printf("%s, %s; %s, %s int8, %zu tokens before, %zu thread(s), %zu runs\n\n", bench::processor_name().c_str(),
              std::string(tulle::instruction_set_name(tulle::active_instruction_set())).c_str(), shape.c_str(),
              structure.c_str(), kv_tokens, threads, repeats);
  std::puts("| part | us (min - max) | share of a token |\n|---|---|---|");
  const double token = times[0].median();
  double sum = 0;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const double median = times[i].median();
    if (i >= first_part && i < parts_end) sum += median;
    std::printf("| %s | %.1f (%.1f - %.1f) | %.1f %% |\n", named[i].name, 1e6 * median, 1e6 * times[i].min(),
                1e6 * times[i].max(), 100 * median / token);
    if (i + 1 == parts_end) std::printf("| these five together | %.1f | %.1f %% |\n", 1e6 * sum, 100 * sum / token);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_token: %s\n", error.what());
  return 1;
}
