// SPDX-License-Identifier: Apache-2.0
/// \file tulle pack: a model's packed weights in a file, from which it starts at once.
#include <filesystem>
#include <memory>
#include <string>
#include <tulle/format/packed_file.hpp>
#include <tulle/generate/packed_cache.hpp>
#include <tulle/kernel/any_kernel.hpp>

#include "command_line.hpp"
#include "model_files.hpp"
#include "model_flags.hpp"
#include "model_path.hpp"
#include "pipeline.hpp"
#include "streams.hpp"

namespace {

constexpr const char* pack_footer =
    R"(The file holds the weight matrices as the kernels read them. It is mapped when the model is loaded, and processes
share it. It serves this model file, in this place and unchanged, with the same --kernel and --isa; the model itself is
still needed. Models of 200 MB and more are kept without this command, in ~/.cache/tulle/packed: see --packed-cache.

Example:
  tulle pack model.gguf -o model.packed
  tulle generate -m model.gguf --packed-cache model.packed --prompt "Once upon a time")";

struct PackFlags {
  ModelFlags model;
  std::string output;
};

int pack(const PackFlags& flags) {
  if (flags.output.empty()) throw UsageError("--output is required");
  const std::string path = tulle::behind_links(flags.output);
  tulle::require_replaceable(path, tulle::PackedFileHeader::expected_magic);
  ModelFlags model = flags.model;
  model.engine.packed_cache = "off";
  const auto checkpoint = open_checkpoint(model_path(model.path), {});
  choose_instruction_set(model.isa);
  const std::string key = tulle::packed_key(checkpoint->path(), pack_options(model));
  const auto loaded = load_model(*checkpoint, model);
  tulle::write_packed_file(path, key, tulle::kept_weights(loaded->weights()));
  Output output;
  output.write(flags.output + ": " + std::to_string(std::filesystem::file_size(path)) + " bytes\n");
  output.flush();
  return 0;
}

}  // namespace

Command pack_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("pack", "Keep packed weights in a file, from which a model starts at once");
  app->footer(pack_footer);
  const auto flags = std::make_shared<PackFlags>();
  add_model_path(*app, flags->model.path);
  app->add_option("-o,--output", flags->output, "The file to write")->type_name("FILE");
  flags->model.add_kernel_to(*app);
  return {app, [flags] { return pack(*flags); }};
}
