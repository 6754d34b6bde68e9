// SPDX-License-Identifier: Apache-2.0
#include "calibration.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <tulle/core/error.hpp>
#include <tulle/format/dataset/named_dataset.hpp>
#include <tulle/format/dataset/token_sequences.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/sampling/sampler_chain.hpp>
#include <utility>

#include "tools/tulle/model_files.hpp"

namespace {

/// Texts that the model writes by itself at temperature 1, from its first token (or one of the dataset's) on.
std::vector<std::vector<tulle::Token>> write_texts(const CalibrationFlags& flags, std::size_t threads,
                                                   const tulle::Checkpoint& checkpoint,
                                                   const std::vector<std::vector<tulle::Token>>& texts,
                                                   const tulle::Progress& progress) {
  const auto model = tulle::Model<tulle::AnyKernel>::load(checkpoint, {}, {}, threads);
  tulle::EngineOptions options;
  options.threads = threads;
  options.max_sequences = std::min<std::size_t>(flags.self_generated, 8);
  options.sequence_length = std::min(flags.max_length, model->architecture().context_length);
  const auto engine = tulle::make_engine(model, options);
  tulle::SamplingOptions sampling;
  sampling.do_sample = true;
  std::vector<std::vector<tulle::Token>> written(flags.self_generated);
  std::map<tulle::SequenceId, std::size_t> running;
  std::size_t started = 0, ended = 0;
  while (ended < written.size()) {
    for (; started < written.size() && running.size() < options.max_sequences; ++started) {
      const auto& bos = model->architecture().bos;
      written[started] = {bos ? *bos : texts[started % texts.size()].front()};
      tulle::SequenceOptions sequence;
      sequence.max_new_tokens = options.sequence_length - 1;
      sequence.ignore_eos = true;
      sequence.rng_stream = started;
      running[engine->start(written[started], tulle::SamplerChain(sampling), sequence)] = started;
    }
    for (const tulle::Emission& emission : engine->step().emissions) {
      const std::size_t index = running.at(emission.sequence);
      if (emission.token >= 0) written[index].push_back(emission.token);
      if (emission.finish == tulle::FinishReason::none) continue;
      running.erase(emission.sequence);
      engine->sequences().release(emission.sequence);
      ++ended;
      if (progress) progress("writing text", static_cast<double>(ended) / static_cast<double>(written.size()));
    }
  }
  return written;
}

}  // namespace

Calibration read_calibration(const CalibrationFlags& flags, std::size_t threads, const std::string& path,
                             const tulle::Checkpoint& checkpoint, const tulle::Progress& progress) {
  std::vector<std::string> columns;
  if (!flags.text_column.empty()) columns = tulle::parse_columns(flags.text_column);
  const tulle::NamedDataset dataset = tulle::find_dataset(flags.dataset, std::move(columns));
  const auto tokenizer = open_tokenizer(path);
  const tulle::TextEncoder encoder{*tokenizer, open_chat_template(path)};
  Calibration result;
  result.sequences = tulle::read_token_sequences(
      dataset.path, encoder, {.max_length = flags.max_length, .max_sequences = flags.samples, .chat = flags.chat},
      {.columns = dataset.columns});
  const std::size_t count = result.sequences.size();
  result.held_out =
      flags.held_out == CalibrationFlags::automatic ? std::min<std::size_t>(16, count / 8) : flags.held_out;
  if (count <= result.held_out) {
    tulle::fail(tulle::ErrorCode::invalid_argument, dataset.path, " gives ", count, " sequences of at most ",
                flags.max_length, " tokens, of which ", result.held_out,
                " are held out; give more text, a smaller --max-seq-length or --held-out");
  }
  if (flags.self_generated == 0) return result;
  auto written = write_texts(flags, threads, checkpoint, result.sequences, progress);
  // Before the held-out ones, which stay the last.
  result.sequences.insert(result.sequences.end() - static_cast<std::ptrdiff_t>(result.held_out),
                          std::make_move_iterator(written.begin()), std::make_move_iterator(written.end()));
  return result;
}
