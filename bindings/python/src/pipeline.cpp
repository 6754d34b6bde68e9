// SPDX-License-Identifier: Apache-2.0
/// \file Pipelines. Python's side (pipeline.py) passes arguments as JSON, in DeepSparse's names, which
/// compat/deepsparse/names.hpp reads.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compat/deepsparse/names.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/generate/draft/make_speculation.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/packed_cache.hpp>
#include <tulle/generate/text_generation.hpp>

#include "bindings.hpp"
#include "compiled/grammar.hpp"
#include "compiled/hub.hpp"
#include "gil.hpp"
#include "run.hpp"

#ifdef TULLE_WITH_SENTENCEPIECE
#include <tulle/text/sentencepiece.hpp>
using SentencePiece = tulle::SentencePieceLibrary;
#else
using SentencePiece = tulle::OwnSentencePiece;
#endif

namespace tulle::python {

/// A model, its tokenizer, an engine and named sessions.
class Pipeline {
 public:
  /// `arguments`: a JSON object. `adapters`: paths and scales of LoRA adapters. `drafter`: as `DraftOptions::drafter`.
  /// Errors: those of `apply_construction_arguments` and of loading.
  Pipeline(const std::string& arguments, const std::vector<std::pair<std::string, float>>& adapters,
           const std::string& drafter, std::size_t draft_tokens);

  /// `tokens`: the prompts as ids, where `arguments` has none. `callback` (or None) is called with every token's id;
  /// False ends its text; `progress` (or None) with how much of the prompts has been read. Both are borrowed until the run
  /// is stopped: Python's garbage collector does not look into C++ objects. `kind` ("": none) and `rules`
  /// say what every text must be. Any number of runs may be begun; one at a time goes on.
  std::unique_ptr<Run> start(const std::string& arguments, std::vector<std::vector<Token>> tokens, nb::handle callback,
                             nb::handle progress, const std::string& kind, const std::string& rules,
                             bool log_probabilities);

  /// Unknown sessions are none. While no run goes on.
  void end_session(const std::string& id) {
    std::erase_if(sessions_, [&](const auto& each) { return each.first == id; });
  }

  std::shared_ptr<const Tokenizer> tokenizer() const { return tokenizer_; }
  const std::string& chat_template() const noexcept { return chat_template_; }
  const Architecture& architecture() const noexcept { return generate_->model().architecture(); }
  std::size_t sequence_length() const { return generate_->engine().capacity(); }

 private:
  /// Errors: those of `Grammars`, which are made at the first call.
  std::shared_ptr<const Constraint> constraint(const std::string& kind, const std::string& rules);

  /// An idle one or a new one, which is in use while the pointer lives. Errors: state for one in use.
  std::shared_ptr<Session> session(const std::string& id);

  /// Until so many sequences of the engine are free: forgets the idle session that was used longest ago, or lets go on
  /// what runs.
  void make_room(std::size_t sequences);

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string chat_template_;
  GenerationOptions defaults_;
  std::unique_ptr<TextGeneration> generate_;
  std::vector<std::pair<std::string, std::shared_ptr<Session>>> sessions_;  // the last was used last
  std::mutex grammars_mutex_;
  std::unique_ptr<Grammars> grammars_;
};

namespace {

Json parse(const std::string& arguments) {
  return parse_json(arguments, "the arguments");
}

}  // namespace

Pipeline::Pipeline(const std::string& arguments, const std::vector<std::pair<std::string, float>>& adapters,
                   const std::string& drafter, std::size_t draft_tokens) {
  DeepSparseConstruction construction;
  apply_construction_arguments(parse(arguments), construction);
  if (construction.model_path.empty()) fail(ErrorCode::invalid_argument, "no model was named; give model_path=...");
  PackOptions pack;
  pack.kernel = kernel_choice(construction.options.kernel);
  std::vector<AdapterPath> paths;
  for (const auto& [adapter, scale] : adapters) paths.push_back({adapter, scale});
  const WithoutGil released;
  const Progress progress = [](std::string_view, double) { check_signals(); };
  const std::string path = local_model(construction.model_path, progress);
  for (AdapterPath& adapter : paths) adapter.path = local_model(adapter.path, progress);
  const auto open = [&] { return Checkpoint::open(path, paths); };
  const EngineOptions& options = construction.options.engine;
  auto model =
      load_packed<AnyKernel>(*open(), pack, {options.packed_cache, options.verify_packed}, progress, options.threads);
  tokenizer_ = load_tokenizer_if_any<SentencePiece>(path);
  chat_template_ = load_chat_template(path);
  defaults_ = construction.defaults;
  generate_ = std::make_unique<TextGeneration>(std::move(model), tokenizer_, chat_template_, options);
  Engine& engine = generate_->engine();
  engine.speculate(make_speculation({engine, *tokenizer_, options, open},
                                    {local_drafter(drafter, progress), {}, {draft_tokens, true}}, progress));
}

std::shared_ptr<const Constraint> Pipeline::constraint(const std::string& kind, const std::string& rules) {
  if (kind.empty()) return nullptr;
  const WithoutGil released;
  const std::lock_guard lock(grammars_mutex_);
  if (!grammars_) grammars_ = make_grammars(*tokenizer_, generate_->engine().vocabulary());
  if (kind == "json_schema") return grammars_->json_schema(rules);
  if (kind == "grammar") return grammars_->ebnf(rules);
  return kind == "regex" ? grammars_->regex(rules) : grammars_->json_object();
}

std::shared_ptr<Session> Pipeline::session(const std::string& id) {
  std::erase_if(sessions_, [](const auto& each) {  // whose first call failed
    return each.second.use_count() == 1 && each.second->history().empty();
  });
  const auto found =
      std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& each) { return each.first == id; });
  if (found == sessions_.end()) {
    make_room(1);
    return sessions_.emplace_back(id, std::make_shared<Session>(generate_->session())).second;
  }
  if (found->second.use_count() > 1) {
    fail(ErrorCode::state, "a stream of session \"", id, "\" is half read; read it to its end or close() it first");
  }
  std::rotate(found, found + 1, sessions_.end());
  return sessions_.back().second;
}

void Pipeline::make_room(std::size_t sequences) {
  Engine& engine = generate_->engine();
  while (engine.sequences().free() < std::min(sequences, engine.sequences().size())) {
    const auto idle =
        std::find_if(sessions_.begin(), sessions_.end(), [](const auto& each) { return each.second.use_count() == 1; });
    if (idle != sessions_.end()) {
      sessions_.erase(idle);
    } else if (engine.running()) {
      const WithoutGil released;
      engine.step();
      check_signals();
    } else {
      return;
    }
  }
}

std::unique_ptr<Run> Pipeline::start(const std::string& arguments, std::vector<std::vector<Token>> tokens,
                                     nb::handle callback, nb::handle progress, const std::string& kind,
                                     const std::string& rules, bool log_probabilities) {
  DeepSparseCall call;
  call.options = defaults_;
  apply_call_arguments(parse(arguments), call);
  call.options.sampling.constraint = constraint(kind, rules);
  call.options.log_probabilities = log_probabilities;
  if (!callback.is_none()) {
    call.options.callback = [callback](const TextPiece& piece) {
      const WithGil gil;
      return piece.token < 0 || !callback(piece.token).is(Py_False);  // None, as of a function without return, goes on
    };
  }
  if (!progress.is_none()) {
    call.options.progress = [progress](std::string_view, double fraction) {
      const WithGil gil;
      progress(fraction);
    };
  }
  std::deque<Run::Start> parts;
  for (std::size_t i = 0; i < call.session_ids.size(); ++i) {
    parts.push_back([this, session = std::shared_ptr<Session>(), id = call.session_ids[i], prompt = call.prompts.at(i),
                     options = call.options]() mutable {
      session = this->session(id);
      const WithoutGil released;
      return session->start(session->encode(prompt, options), options);
    });
  }
  const std::size_t copies = parts.empty() ? call.options.num_return_sequences : 1;
  if (parts.empty()) {
    const WithoutGil released;
    for (const std::string& prompt : call.prompts) {
      tokens.push_back(tokenizer_->encode(prompt, {.add_special_tokens = call.options.add_special_tokens}));
    }
    if (tokens.empty()) fail(ErrorCode::invalid_argument, "there is no prompt; give sequences=...");
    parts.push_back([this, tokens = std::move(tokens), options = std::move(call.options)] {
      make_room(options.num_return_sequences);
      return TextStream(generate_->engine(), *tokenizer_, tokens, options);
    });
  }
  return std::make_unique<Run>(std::move(parts), copies, log_probabilities);
}

void bind_pipeline(nb::module_& module) {
  nb::class_<Pipeline>(module, "Pipeline")
      .def(nb::init<const std::string&, const std::vector<std::pair<std::string, float>>&, const std::string&,
                    std::size_t>(),
           nb::arg("arguments"), nb::arg("adapters"), nb::arg("drafter"), nb::arg("draft_tokens"))
      .def("start", &Pipeline::start, nb::arg("arguments"), nb::arg("tokens"), nb::arg("callback").none(),
           nb::arg("progress").none(), nb::arg("kind"), nb::arg("rules"), nb::arg("log_probabilities"),
           nb::keep_alive<0, 1>())
      .def("end_session", &Pipeline::end_session, nb::arg("id"))
      .def_prop_ro("tokenizer", &Pipeline::tokenizer)
      .def_prop_ro("chat_template", &Pipeline::chat_template)
      .def_prop_ro("vocabulary_size", [](const Pipeline& pipeline) { return pipeline.architecture().vocabulary; })
      .def_prop_ro("sequence_length", &Pipeline::sequence_length);
}

}  // namespace tulle::python
