// SPDX-License-Identifier: Apache-2.0
#include "assembly.hpp"

#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/kernel/any_kernel.hpp>

namespace tulle::capi {

namespace {

std::vector<std::string> make_cache_choices() {
  std::vector<std::string> names;
  for (const std::string_view layout : cache_names) {
    names.emplace_back(layout);
    for (const std::string_view element : cache_dtype_names) {
      if (element != "auto") names.push_back(std::string(layout) + "_" + std::string(element));
    }
  }
  return names;
}

}  // namespace

std::span<const std::string> cache_choices() {
  static const std::vector<std::string> names = make_cache_choices();
  return names;
}

Assembly parse_assembly(std::string_view name) {
  Assembly assembly;
  std::array<std::string*, 3> parts{&assembly.kernel, &assembly.cache, &assembly.sampler};
  std::string_view rest = name;
  for (std::size_t part = 0;; ++part) {
    if (part == parts.size())
      fail(ErrorCode::invalid_argument, "an assembly is KERNEL[/CACHE[/SAMPLER]], not \"", name, "\"");
    const std::size_t slash = rest.find('/');
    if (slash != 0 && !rest.empty()) *parts[part] = rest.substr(0, slash);
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  (void)kernel_choice(assembly.kernel);
  detail::require_name(cache_choices(), assembly.cache, "cache");
  if (!assembly.sampler.empty()) detail::require_name(sampler_choices, assembly.sampler, "sampler");
  return assembly;
}

void choose_cache(std::string_view name, EngineOptions& options) {
  detail::require_name(cache_choices(), name, "cache");
  const std::size_t mark = name.find('_');
  options.cache = name.substr(0, mark);
  options.cache_dtype = mark == std::string_view::npos ? "auto" : std::string(name.substr(mark + 1));
}

void choose_sampler(std::string_view name, SamplingOptions& options) {
  detail::require_name(sampler_choices, name, "sampler");
  options.do_sample = name != sampler_choices.front();
  if (options.do_sample) options.order = sampler_order(name);
}

}  // namespace tulle::capi
