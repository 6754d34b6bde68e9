// SPDX-License-Identifier: Apache-2.0
/// \file tulle inspect: the parts of a model and its memory.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <tulle/core/json.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/tensor/isa.hpp>

#include "command_line.hpp"
#include "model_files.hpp"
#include "model_flags.hpp"
#include "model_path.hpp"
#include "model_report.hpp"
#include "model_storage.hpp"
#include "pipeline.hpp"
#include "streams.hpp"

namespace {

constexpr const char* inspect_footer =
    R"(Sparsity is measured: the share of exact zeros in every linear matrix, and the pattern they keep: 1:4, 4:16,
2:4, 4:8, 8:16 (at most N of every M columns are not zero), unstructured, or dense. The model is loaded, and
one token is run, to tell what it takes. Notes say where keeping every value takes much more memory than the file, and
what integer kernels would make of the zeros in matrices of floats.

Examples:
  tulle inspect -m model.gguf
  tulle inspect -m models/llama-8b --kernel dense_i8 --cache-dtype i8 --sequence-length 8192 --json)";

struct InspectFlags {
  ModelFlags model;
  bool json = false;
};

int inspect(const InspectFlags& flags) {
  const auto checkpoint = open_checkpoint(model_path(flags.model.path), flags.model.adapters);
  const auto model = load_model(*checkpoint, flags.model);
  tulle::EngineOptions options = flags.model.engine;
  options.max_sequences = 1;
  const auto engine = assemble_engine(model, options);
  tulle::SequenceOptions one_token;
  one_token.max_new_tokens = 0;
  const tulle::Token token = 0;
  (void)engine->start(std::span(&token, 1), tulle::SamplerChain(),
                      one_token);  // caches allocate their memory with the first token
  engine->step();

  const std::size_t longest = std::min<std::size_t>(engine->capacity(), engine->architecture().context_length);
  OrderedJson report{{"model", checkpoint->path()},
                     {"format", checkpoint->format_name()},
                     {"instruction_set", tulle::instruction_set_name(tulle::active_instruction_set())},
                     {"adapters", OrderedJson::array()},
                     {"architecture", describe(model->architecture())}};
  for (const tulle::AdapterPath& each : checkpoint->adapters()) {
    report["adapters"].push_back({{"path", each.path}, {"scale", each.scale}});
  }
  describe_tensors(*checkpoint, *model, report);
  report["storage"] = describe_storage(*checkpoint, *model, report["tensors"], flags.model.kernel == "auto");
  const std::size_t weights = model->weights().size_bytes();
  report["memory"] = {{"weights_bytes", weights},
                      {"cache_bytes", engine->cache_bytes()},
                      {"workspace_bytes", engine->memory_bytes() - engine->cache_bytes()},
                      {"total_bytes", weights + engine->memory_bytes()},
                      {"sequence_length", options.sequence_length != 0 ? options.sequence_length : longest},
                      {"cache", options.cache},
                      {"cache_dtype", tulle::chosen_cache_dtype(options, *model)}};
  Output output;
  output.write(flags.json ? report.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n"
                          : as_text(report));
  output.flush();
  return 0;
}

}  // namespace

Command inspect_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("inspect", "Tell what a model is made of: tensors, sparsity, kernels, memory");
  app->footer(inspect_footer);
  const auto flags = std::make_shared<InspectFlags>();
  flags->model.add_to(*app);
  app->add_flag("--json", flags->json, "Print one JSON object");
  return {app, [flags] { return inspect(*flags); }};
}
