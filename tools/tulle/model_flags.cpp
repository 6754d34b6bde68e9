// SPDX-License-Identifier: Apache-2.0
#include "model_flags.hpp"

#include <string>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/tensor/isa.hpp>
#include <vector>

#include "model_path.hpp"

namespace {

template <class Names>
std::vector<std::string> to_strings(const Names& names) {
  return {names.begin(), names.end()};
}

template <class Value>
CLI::Option* add(CLI::App& flags, const char* names, Value& value, const char* what) {
  return flags.add_option(flag_names(names), value, what)->capture_default_str()->group("Model");
}

void add_name(CLI::App& flags, const char* names, std::string& value, const std::vector<std::string>& known,
              const char* what) {
  add(flags, names, value, what)->check(CLI::IsMember(known).description(""))->type_name(CLI::detail::join(known, "|"));
}

}  // namespace

void ModelFlags::add_kernel_to(CLI::App& flags) {
  std::vector<std::string> kernels, sets;
  kernels.assign(tulle::kernel_choices.begin(), tulle::kernel_choices.end());
  for (const tulle::InstructionSet set : tulle::instruction_sets) sets.emplace_back(tulle::instruction_set_name(set));
  add_name(flags, "--kernel", kernel, kernels, "Form of the weight matrices; auto keeps every value of the file");
  add_name(flags, "--isa", isa, sets, "Instruction set; without it TULLE_ISA, or the machine's best");
  add(flags, "--threads,--num-cores", engine.threads, "Worker threads; 0: one per core that may be used")
      ->check(in_range(std::size_t{0}, std::size_t{1024}))
      ->type_name("N");
}

void ModelFlags::add_to(CLI::App& flags) {
  add_model_path(flags, path);
  add_adapters(flags, adapters);
  add_kernel_to(flags);
  add_name(flags, "--cache", engine.cache, to_strings(tulle::cache_names), "Where keys and values of past tokens live");
  add_name(flags, "--cache-dtype", engine.cache_dtype, to_strings(tulle::cache_dtype_names),
           "Their type; auto is f32 for float kernels, f16 for quantized ones");
  flags.add_flag("--pin", engine.pin_threads, "Bind worker threads to cores of their own; the first one stays free")
      ->group("Model");
  const auto positive = in_range(std::size_t{1}, std::size_t{1} << 20);
  add(flags, "--prompt-sequence-length,--prompt-processing-sequence-length,--pl", engine.prefill_chunk,
      "Prompt tokens in one forward pass")
      ->check(positive)
      ->type_name("N");
  const auto size = in_range(std::size_t{0}, std::size_t{1} << 30);
  add(flags, "--sequence-length,--cl", engine.sequence_length,
      "Tokens that prompt and text may reach; 0: the model's, at most 4096. Beyond its original length a model with\n"
      "dynamic or longrope positions uses the frequencies of long texts for short ones too")
      ->check(size)
      ->type_name("N");
  add(flags, "--window", engine.window, "Last tokens that the sliding cache keeps; 0: --sequence-length")
      ->check(size)
      ->type_name("N");
  add(flags, "--sinks", engine.sinks, "First tokens that the sliding cache keeps")->check(size)->type_name("N");
  flags.callback([this] {
    const tulle::EngineOptions usual;
    if (engine.cache == "sliding" || (engine.window == usual.window && engine.sinks == usual.sinks)) return;
    throw UsageError("--window (of evaluate: --cache-window) and --sinks are of --cache sliding");
  });
  engine.packed_cache = "auto";
  add(flags, "--packed-cache", engine.packed_cache,
      "Where packed weights are kept, so that a model starts at once: on (the user's cache folder), off, auto (on from "
      "200 MB) or a file that 'tulle pack' made")
      ->type_name("on|off|auto|FILE");
  flags.add_flag("--verify-packed", engine.verify_packed, "Hash all of what was kept before it is used")
      ->group("Model");
}
