// SPDX-License-Identifier: Apache-2.0
/// \file Functions that JavaScript provides to the engine: reading files and reporting progress. The module's user sets
///     Module.hostRead(file, offset, pointer, size)              reads into memory; 0, or an error number
///     Module.hostProgress(context, pointer, size, fraction)     the text of what is done; 0, or 1 to end loading
/// before it calls `tulle_host_load`. Neither may throw: nothing would be freed.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <emscripten/em_js.h>
#include <emscripten/emscripten.h>

#include "compiled/hub.hpp"
#include "tulle.h"
#include "tulle_experimental.h"

// Addresses and sizes are 32 bits, and arrive in JavaScript as signed numbers.
EM_JS(std::int32_t, host_read, (std::uintptr_t file, double offset, void* buffer, std::size_t size),
      { return Module['hostRead'](file, offset, buffer >>> 0, size >>> 0); });
EM_JS(std::int32_t, host_progress, (void* context, const char* what, std::size_t size, double fraction),
      { return Module['hostProgress'](context, what >>> 0, size >>> 0, fraction); });

namespace {

std::int32_t read_part(void* context, std::uint64_t offset, void* buffer, std::size_t size) {
  return host_read(reinterpret_cast<std::uintptr_t>(context), static_cast<double>(offset), buffer, size);
}

std::int32_t tell_progress(void* context, const char* what, std::size_t size, double fraction) {
  return host_progress(context, what, size, fraction);
}

}  // namespace

/// A page loads models by address, not from the hub's cache.
std::string local_model(const std::string& model, const tulle::Progress&, tulle::HubPart) {
  return model;
}

extern "C" {

/// Loads a model from files that `Module.hostRead` reads; file number i is names[i], of sizes[i] bytes.
/// For the status and the error see `tulle_model_load_files`.
EMSCRIPTEN_KEEPALIVE std::int32_t tulle_host_load(const tulle_string* names, const double* sizes, std::size_t count,
                                                  const char* assembly, std::size_t assembly_size, tulle_model** model,
                                                  tulle_error* error) {
  std::vector<tulle_file> files;
  for (std::size_t i = 0; i < count; ++i) {
    files.push_back(
        {sizeof(tulle_file), 0, names[i], static_cast<std::uint64_t>(sizes[i]), read_part, reinterpret_cast<void*>(i)});
  }
  tulle_load_options options;
  (void)tulle_load_options_init(&options, sizeof options);
  options.assembly = {assembly, assembly_size};
  options.progress = tell_progress;
  return tulle_model_load_files(files.data(), files.size(), &options, model, error);
}

}  // extern "C"
