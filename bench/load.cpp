// SPDX-License-Identifier: Apache-2.0
/// \file How long does it take to load a model: to read its file and to pack its weights?
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/kernel/any_kernel.hpp>

#include "measure.hpp"

namespace {

struct Contestant {
  std::string kernel;
  std::size_t threads;
  double bytes_per_weight = 0;
  double weights = 0;  // in linear layers
};

void load(const std::string& path, Contestant& contestant) {
  tulle::PackOptions pack;
  pack.kernel = tulle::kernel_choice(contestant.kernel);
  const auto model = tulle::Model<tulle::AnyKernel>::load(path, pack, {}, contestant.threads);
  double weights = 0, bytes = 0;
  model->weights().for_each_linear([&](const auto& linear) {
    weights += static_cast<double>(linear.rows()) * static_cast<double>(linear.columns());
    bytes += static_cast<double>(linear.size_bytes());
  });
  contestant.weights = weights;
  contestant.bytes_per_weight = bytes / weights;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("How long loading a model takes");
  std::string path;
  std::vector<std::string> kernels{"auto"};
  std::vector<std::size_t> threads{1, tulle::usable_core_count()};
  std::size_t repeats = 3;
  app.add_option("MODEL", path, "A GGUF file or a directory")->required();
  app.add_option("--kernels", kernels, "What to pack it for")->capture_default_str();
  app.add_option("--threads", threads, "Threads that pack")->capture_default_str();
  app.add_option("--repeats", repeats, "Loads of each")->capture_default_str();
  app.footer("The file should be in the system's cache. Example: bench_load model.gguf --kernels dense_i8 ell_i8");
  CLI11_PARSE(app, argc, argv);

  std::vector<Contestant> contestants;
  for (const std::string& kernel : kernels) {
    for (const std::size_t count : threads) contestants.push_back({kernel, count});
  }
  std::vector<std::function<void()>> tasks;
  for (Contestant& contestant : contestants) tasks.push_back([&] { load(path, contestant); });
  const auto times = bench::interleaved(tasks, repeats);
  std::printf(
      "%s, %s\n\n| kernel | threads | seconds (min-max) | G weights/s | bytes/weight |\n|---|---|---|---|---|\n",
      bench::processor_name().c_str(), path.c_str());
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    const Contestant& each = contestants[i];
    std::printf("| %s | %zu | %.2f (%.2f-%.2f) | %.2f | %.2f |\n", each.kernel.c_str(), each.threads, times[i].median(),
                times[i].min(), times[i].max(), each.weights * 1e-9 / times[i].median(), each.bytes_per_weight);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_load: %s\n", error.what());
  return 1;
}
