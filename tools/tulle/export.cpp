// SPDX-License-Identifier: Apache-2.0
/// \file tulle export: a model in a form that other programs read.
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <tulle/core/json.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/export/export_model.hpp>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "model_files.hpp"
#include "model_path.hpp"
#include "progress_bar.hpp"
#include "streams.hpp"

namespace {

constexpr const char* export_footer =
    R"(The model is written to DIR/deployment.

compressed-tensors  for transformers and vLLM: int8 with a scale per row, packed int4 and int8 in groups; zeros stay in
                    place; embeddings and heads are floats
bitmask             the smallest: a bit for every weight, and the nonzeros; Tulle reads it
gguf                one file for llama.cpp, of Llama, Qwen2, Qwen3, SmolLM3, Granite, OLMo 2 or StarCoder2

Examples:
  tulle export models/llama-8b-8:16 -o exported
  tulle export models/llama-8b-8:16 -o small --format bitmask
  tulle export SmolLM2-135M-Instruct.Q4_1.gguf -o for-transformers
  tulle export models/llama-8b -o for-llama.cpp --format gguf --type Q4_0
  tulle export models/llama-8b --lora adapters/sql --lora adapters/tone=0.5 -o merged)";

constexpr std::array export_forms{std::pair{"compressed-tensors", tulle::ExportForm::compressed_tensors},
                                  std::pair{"bitmask", tulle::ExportForm::bitmask},
                                  std::pair{"gguf", tulle::ExportForm::gguf}};
constexpr std::array export_types{std::pair{"Q8_0", tulle::DType::q8_0}, std::pair{"Q4_0", tulle::DType::q4_0},
                                  std::pair{"F16", tulle::DType::f16}};

struct ExportFlags {
  std::string model, directory, form = "compressed-tensors", type;
  std::vector<tulle::AdapterPath> adapters;
  bool force = false, json = false;
};

template <class Choices>
auto chosen(const Choices& choices, const std::string& name) {
  for (const auto& [known, value] : choices) {
    if (known == name) return value;
  }
  throw UsageError("\"" + name + "\" is not known");  // the flag's check came before
}

template <class Choices>
std::vector<std::string> names_of(const Choices& choices) {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.emplace_back(choice.first);
  return names;
}

int export_to(const ExportFlags& flags) {
  if (flags.directory.empty()) throw UsageError("--output is required");
  if (!flags.type.empty() && flags.form != "gguf") throw UsageError("--type belongs to --format gguf");
  const auto checkpoint = open_checkpoint(model_path(flags.model), flags.adapters);
  ProgressBar bar;
  tulle::ExportOptions options;
  options.form = chosen(export_forms, flags.form);
  if (!flags.type.empty()) options.gguf_type = chosen(export_types, flags.type);
  options.replace = flags.force;
  options.progress = bar.progress();
  const std::string directory = (std::filesystem::path(flags.directory) / "deployment").string();
  const tulle::ExportReport report =
      tulle::export_model(*checkpoint, tulle::describe_checkpoint(*checkpoint), directory, options);
  std::string text;
  if (flags.json) {
    text =
        tulle::Json{{"directory", directory}, {"files", report.files}, {"bytes", report.bytes}, {"notes", report.notes}}
            .dump(-1, ' ', false, tulle::Json::error_handler_t::replace) +
        "\n";
  } else {
    text =
        directory + ": " + std::to_string(report.files.size()) + " files, " + std::to_string(report.bytes) + " bytes\n";
    for (const std::string& note : report.notes) text += "note: " + note + "\n";
  }
  Output output;
  output.write(text);
  output.flush();
  return 0;
}

}  // namespace

Command export_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("export", "Write a model in a form that other programs read");
  app->footer(export_footer);
  const auto flags = std::make_shared<ExportFlags>();
  add_model_path(*app, flags->model);
  add_adapters(*app, flags->adapters);
  app->add_option("-o,--output", flags->directory, "The directory to write to")->type_name("DIR");
  app->add_option("--format", flags->form, "compressed-tensors, bitmask or gguf")
      ->check(CLI::IsMember(names_of(export_forms)))
      ->capture_default_str();
  app->add_option("--type", flags->type, "Of a GGUF file's matrices: Q8_0 (the default), Q4_0 or F16")
      ->check(CLI::IsMember(names_of(export_types)));
  app->add_flag("--force", flags->force, "Also write where DIR/deployment is not empty");
  app->add_flag("--json", flags->json, "Print one JSON object");
  return {app, [flags] { return export_to(*flags); }};
}
