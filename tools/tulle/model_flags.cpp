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

}  // namespace

void ModelFlags::add_to(CLI::App& flags) {
  add_model_path(flags, path);
  add_adapters(flags, adapters);
  std::vector<std::string> kernels, sets;
  kernels.assign(tulle::kernel_choices.begin(), tulle::kernel_choices.end());
  for (const tulle::InstructionSet set : tulle::instruction_sets) sets.emplace_back(tulle::instruction_set_name(set));

  const auto add = [&](const char* names, auto& value, const char* what) {
    return flags.add_option(flag_names(names), value, what)->capture_default_str()->group("Model");
  };
  const auto add_name = [&](const char* names, std::string& value, const std::vector<std::string>& known,
                            const char* what) {
    return add(names, value, what)
        ->check(CLI::IsMember(known).description(""))
        ->type_name(CLI::detail::join(known, "|"));
  };
  add_name("--kernel", kernel, kernels, "Form of the weight matrices; auto keeps every value of the file");
  add_name("--cache", engine.cache, to_strings(tulle::cache_names), "Where keys and values of past tokens live");
  add_name("--cache-dtype", engine.cache_dtype, to_strings(tulle::cache_dtype_names),
           "Their type; auto is f32 for float kernels, f16 for quantized ones");
  const auto threads = CLI::Range(std::size_t{0}, std::size_t{1024}).description("");
  add("--threads,--num-cores", engine.threads, "Worker threads; 0: one per core that may be used")
      ->check(threads)
      ->type_name("N");
  flags.add_flag("--pin", engine.pin_threads, "Bind worker threads to cores of their own; the first one stays free")
      ->group("Model");
  const auto positive = CLI::Range(std::size_t{1}, std::size_t{1} << 20).description("");
  add("--prompt-sequence-length,--prompt-processing-sequence-length,--pl", engine.prefill_chunk,
      "Prompt tokens in one forward pass")
      ->check(positive)
      ->type_name("N");
  const auto size = CLI::Range(std::size_t{0}, std::size_t{1} << 30).description("");
  add("--sequence-length,--cl", engine.sequence_length,
      "Tokens that prompt and text may reach; 0: the model's, at most 4096")
      ->check(size)
      ->type_name("N");
  add("--window", engine.window, "Last tokens that the sliding cache keeps; 0: --sequence-length")
      ->check(size)
      ->type_name("N");
  add("--sinks", engine.sinks, "First tokens that the sliding cache keeps")->check(size)->type_name("N");
  add_name("--isa", isa, sets, "Instruction set; without it TULLE_ISA, or the machine's best");
}
