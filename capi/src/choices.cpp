// SPDX-License-Identifier: Apache-2.0
/// \file Versions, names of values, and what can be chosen by name.
#include <string_view>

#include <tulle/kernel/any_kernel.hpp>
#include <tulle/tensor/isa.hpp>

#include "arguments.hpp"
#include "assembly.hpp"
#include "guard.hpp"

using namespace tulle;
using namespace tulle::capi;

namespace {

/// The name number `index`; empty past the last. Errors: invalid_argument for an unknown kind.
std::string_view choice_name(std::int32_t kind, std::size_t index) {
  switch (kind) {
    case TULLE_KERNELS: return index < kernel_choices.size() ? kernel_choices[index] : "";
    case TULLE_CACHES: return index < cache_choices().size() ? std::string_view(cache_choices()[index]) : "";
    case TULLE_SAMPLERS: return index < sampler_choices.size() ? sampler_choices[index] : "";
    case TULLE_INSTRUCTION_SETS:
      return index < instruction_sets.size() ? instruction_set_name(instruction_sets[index]) : "";
    default: fail(ErrorCode::invalid_argument, "there is no kind of choice ", kind);
  }
}

}  // namespace

extern "C" {

uint32_t tulle_abi_version(void) {
  return TULLE_ABI_VERSION;
}

const char* tulle_version(void) {
  return TULLE_VERSION;
}

const char* tulle_status_name(int32_t status) {
  switch (status) {
    case TULLE_OK: return "ok";
    case TULLE_INVALID_HANDLE: return "invalid_handle";
    case TULLE_BUSY: return "busy";
    case TULLE_BUFFER_TOO_SMALL: return "buffer_too_small";
    case TULLE_OUT_OF_MEMORY: return "out_of_memory";
    case TULLE_END: return "end";
    case TULLE_INTERNAL: return "internal";
    default: return error_name(static_cast<ErrorCode>(status)).data();  // of literals, which end in 0
  }
}

int32_t tulle_choice_at(int32_t kind, uint32_t index, tulle_choice* choice, tulle_error* error) {
  return guarded(error, [&] {
    const std::string_view name = choice_name(kind, index);
    tulle_choice facts{};
    facts.runs = name.empty() || (kind == TULLE_INSTRUCTION_SETS && !machine_has(instruction_sets[index])) ? 0 : 1;
    facts.name = {name.data(), name.size()};
    write_struct(choice, facts, "tulle_choice");
    return name.empty() ? TULLE_END : TULLE_OK;
  });
}

int32_t tulle_use_instruction_set(const char* name, size_t name_size, tulle_error* error) {
  return guarded(error, [&] {
    use_instruction_set(read_text(name, name_size, "the instruction set"));
    return TULLE_OK;
  });
}

}  // extern "C"
