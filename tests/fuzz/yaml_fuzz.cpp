// SPDX-License-Identifier: Apache-2.0
/// \file Any bytes as a recipe: planned for a small model, or refused with `tulle::Error`.
#include <cstddef>
#include <cstdint>
#include <fuzz/standalone_main.hpp>
#include <string_view>
#include <tulle/compress/recipe.hpp>
#include <tulle/compress/stage_plan.hpp>
#include <tulle/core/error.hpp>
#include <unit/compress/tiny_modules.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tulle::ModuleList modules = tiny_modules();
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto& stage : tulle::parse_recipe(text, "input").stages) tulle::plan_stage(stage, modules);
  } catch (const tulle::Error&) {
  }
  return 0;
}
