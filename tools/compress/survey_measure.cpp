// SPDX-License-Identifier: Apache-2.0
#include "survey_measure.hpp"

#include <algorithm>
#include <bench/measure.hpp>
#include <memory>
#include <tulle/evaluate/perplexity.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/sampling/sampler_chain.hpp>
#include <utility>
#include <vector>

#include "tools/tulle/model_files.hpp"

namespace {

using Model = tulle::Model<tulle::AnyKernel>;

double bytes_per_weight(const Model& model) {
  double bytes = 0, weights = 0;
  const auto add = [&](const tulle::Linear<tulle::AnyKernel>& linear) {
    for (const auto& part : linear.parts) {
      bytes += static_cast<double>(part.weights.size_bytes());
      weights += static_cast<double>(part.weights.rows()) * static_cast<double>(part.weights.columns());
    }
  };
  for (const auto& layer : model.weights().layers) {
    for (const auto* linear : {&layer.query_key_value, &layer.output, &layer.up, &layer.down}) add(*linear);
    for (const auto& expert : layer.experts) {
      add(expert.up);
      add(expert.down);
    }
  }
  return weights > 0 ? bytes / weights : 0;
}

/// One engine that reads a prompt at once and then writes single tokens.
class TimedRun {
 public:
  TimedRun(tulle::Engine& engine, std::size_t prompt_size, std::size_t steps) : engine_(engine) {
    std::vector<tulle::Token> prompt(prompt_size);
    for (std::size_t i = 0; i < prompt.size(); ++i) {
      prompt[i] = static_cast<tulle::Token>((i * 7919 + 13) % engine.architecture().vocabulary);
    }
    tulle::SequenceOptions options;
    options.max_new_tokens = steps + 1;
    options.ignore_eos = true;
    id_ = engine.start(prompt, tulle::SamplerChain(), options);
  }
  ~TimedRun() { engine_.sequences().release(id_); }
  TimedRun(const TimedRun&) = delete;
  TimedRun& operator=(const TimedRun&) = delete;

  bool running() const { return engine_.running(); }
  double step() {
    return bench::seconds_of([&] { engine_.step(); });
  }

 private:
  tulle::Engine& engine_;
  tulle::SequenceId id_;
};

/// Medians over the steps of the model and of the dense one, interleaved a few at a time, so that a slow moment of the
/// machine slows both.
void measure_speed(tulle::Engine& engine, tulle::Engine& dense, std::size_t length, tulle::Json& result) {
  constexpr std::size_t rounds = 9, max_prompt = 256, max_steps = 64, in_turn = 8;
  const std::size_t prompt_size = std::min(max_prompt, length / 2), steps = std::min(max_steps, length / 4);
  std::vector<double> prefill, decode, dense_decode;
  for (std::size_t round = 0; round <= rounds; ++round) {
    TimedRun of_dense(dense, prompt_size, steps), own(engine, prompt_size, steps);
    of_dense.step();
    const double read = own.step();
    if (round != 0) prefill.push_back(read);  // the first one warms up
    while (own.running() && of_dense.running()) {
      for (const auto& [run, times] : {std::pair{&of_dense, &dense_decode}, std::pair{&own, &decode}}) {
        for (std::size_t i = 0; i < in_turn && run->running(); ++i) {
          const double seconds = run->step();
          if (round != 0) times->push_back(seconds);
        }
      }
    }
  }
  if (decode.empty()) return;
  result["prefill_tokens_per_second"] = static_cast<double>(prompt_size) / bench::median(prefill);
  result["decode_tokens_per_second"] = 1 / bench::median(decode);
  result["decode_ratio"] = bench::median(dense_decode) / bench::median(decode);
}

}  // namespace

tulle::Json measure_model(const std::string& path, const std::string& dense, const std::vector<SurveyText>& texts,
                          std::size_t threads) {
  const auto checkpoint = open_checkpoint(path);
  const std::shared_ptr<const Model> model = Model::load(*checkpoint),
                                     dense_model = Model::load(*open_checkpoint(dense));
  std::size_t longest = 512;
  for (const SurveyText& text : texts) {
    for (const auto& sequence : text.sequences) longest = std::max(longest, sequence.size());
  }
  tulle::EngineOptions options;
  options.sequence_length =
      std::min({longest, model->architecture().context_length, dense_model->architecture().context_length});
  options.max_sequences = 1;
  options.threads = threads;
  const auto engine = tulle::make_engine(model, options), dense_engine = tulle::make_engine(dense_model, options);
  tulle::Json result{{"bytes_per_weight", bytes_per_weight(*model)}, {"file_bytes", checkpoint->size_bytes()}};
  measure_speed(*engine, *dense_engine, options.sequence_length, result);
  result["texts"] = tulle::Json::array();
  for (const SurveyText& text : texts) {
    const tulle::PerplexityResult found = tulle::evaluate_perplexity(*engine, text.sequences);
    tulle::Json figures{{"name", text.name}, {"perplexity", found.perplexity.value}};
    for (const tulle::WindowScore& window : found.windows) {
      figures["tokens"].push_back(window.tokens);
      figures["nll"].push_back(window.nll);
    }
    result["texts"].push_back(std::move(figures));
  }
  return result;
}
