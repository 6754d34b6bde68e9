// SPDX-License-Identifier: Apache-2.0
/// \file Cost of attention: one token over caches of several lengths and element types, and a prompt.
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <tulle/cache/contiguous.hpp>
#include <tulle/core/half.hpp>
#include <tulle/model/parallel_attention.hpp>

#include "measure.hpp"

namespace {

struct Shape {
  std::size_t layers = 20, kv_heads = 16, group = 1,
              head_dim = 64;  ///< `group`: query heads that share a key-value head
};

/// Attention of all layers, split among the threads as in the decoder.
class Attention {
 public:
  virtual ~Attention() = default;
  /// Of `rows` rows that end a text of `length`.
  virtual void run(std::size_t length, std::size_t rows) noexcept = 0;
};

template <class Element>
class AttentionOver final : public Attention {
 public:
  AttentionOver(tulle::ThreadPool& pool, const Shape& shape, std::size_t longest, std::size_t max_rows)
      : parallel_(pool, shape.kv_heads * shape.group, shape.kv_heads, shape.head_dim),
        shape_(shape),
        cache_({shape.layers, {shape.kv_heads, shape.head_dim}}, 1, static_cast<tulle::Position>(longest)),
        queries_(max_rows * width()),
        out_(queries_.size()) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : queries_) value = normal(random);
    const std::size_t elements = shape.kv_heads * shape.head_dim;
    std::vector<float> values(64 * elements);  // enough different rows
    for (float& value : values) value = normal(random);
    cache_.extend(0, cache_.capacity());
    for (std::size_t layer = 0; layer < shape.layers; ++layer) {
      for (tulle::Position position = 0; position < cache_.capacity(); ++position) {
        const float* row = values.data() + (position * 7 + layer) % 64 * elements;
        cache_.append(layer, 0, position, row, row);
      }
    }
  }

  void run(std::size_t length, std::size_t rows) noexcept override {
    const std::size_t at_once = tulle::attention_block / shape_.group, blocks = (rows + at_once - 1) / at_once;
    for (std::size_t layer = 0; layer < shape_.layers; ++layer) {
      parallel_.attend(cache_, blocks, [&](std::size_t block, std::size_t kv_head) noexcept {
        const std::size_t first = block * at_once, at = first * width() + kv_head * shape_.group * shape_.head_dim;
        return tulle::AttentionRows{.layer = layer,
                                    .first = static_cast<tulle::Position>(length - rows + first),
                                    .rows = std::min(at_once, rows - first),
                                    .kv_head = kv_head,
                                    .group = shape_.group,
                                    .query = queries_.data() + at,
                                    .query_stride = width(),
                                    .out = out_.data() + at,
                                    .out_stride = width()};
      });
    }
  }

 private:
  std::size_t width() const noexcept { return shape_.kv_heads * shape_.group * shape_.head_dim; }

  tulle::ParallelAttention parallel_;
  Shape shape_;
  tulle::ContiguousCache<Element> cache_;
  std::vector<float> queries_, out_;
};

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Attention of all layers: one token, and a prompt");
  Shape shape;
  std::size_t threads = tulle::usable_core_count(), repeats = 15, prompt = 512, longest = 4096;
  app.add_option("--threads", threads, "Threads")->capture_default_str();
  app.add_option("--repeats", repeats, "Runs of each measurement")->capture_default_str();
  app.add_option("--longest", longest, "Length of the longest cache")
      ->capture_default_str()
      ->check(CLI::Range(128, 1 << 16));
  app.add_option("--prompt", prompt, "Tokens of the prompt")->capture_default_str()->check(CLI::Range(1, 1 << 16));
  app.add_option("--layers", shape.layers, "Layers; these four are CodeGen-350M's")->capture_default_str();
  app.add_option("--kv-heads", shape.kv_heads, "Heads of keys and values")->capture_default_str();
  app.add_option("--group", shape.group, "Query heads that share one of them")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, tulle::attention_block));
  app.add_option("--head-dim", shape.head_dim, "Elements of a head")->capture_default_str();
  app.footer(
      "TULLE_ISA=avx2 forces an instruction set.\nExamples: bench_attention --threads 1 --longest 1024\n"
      "          bench_attention --layers 30 --kv-heads 3 --group 3   (SmolLM2-135M)");
  CLI11_PARSE(app, argc, argv);

  tulle::ThreadPool pool(threads);
  const std::size_t capacity = std::max(longest, prompt);
  const std::vector<std::string> names{"f32", "f16", "i8"};
  std::vector<std::unique_ptr<Attention>> caches;
  caches.push_back(std::make_unique<AttentionOver<float>>(pool, shape, capacity, prompt));
  caches.push_back(std::make_unique<AttentionOver<tulle::Half>>(pool, shape, capacity, prompt));
  caches.push_back(std::make_unique<AttentionOver<std::int8_t>>(pool, shape, capacity, prompt));

  std::vector<std::size_t> lengths;
  for (std::size_t length = 128; length <= longest; length *= 2) lengths.push_back(length);
  std::vector<std::function<void()>> tasks;
  for (const auto& cache : caches) {
    for (const std::size_t length : lengths) tasks.push_back([&cache, length] { cache->run(length, 1); });
    tasks.push_back([&cache, prompt] { cache->run(prompt, prompt); });
  }
  tulle::check_instruction_set();
  const auto times = bench::interleaved(tasks, repeats);

  const auto set = tulle::instruction_set_name(tulle::active_instruction_set());
  std::printf("%s, %s; %zu thread(s), %zu runs\n\n| cache |", bench::processor_name().c_str(), std::string(set).c_str(),
              threads, repeats);
  for (const std::size_t length : lengths) std::printf(" %zu: us (ns a position) |", length);
  std::printf(" prompt of %zu: ms (us a token) |\n|---|", prompt);
  for (std::size_t i = 0; i <= lengths.size(); ++i) std::printf("---|");
  for (std::size_t i = 0, task = 0; i < caches.size(); ++i) {
    std::printf("\n| %s |", names[i].c_str());
    for (const std::size_t length : lengths) {
      const double seconds = times[task++].median();
      std::printf(" %.0f (%.0f) |", 1e6 * seconds, 1e9 * seconds / static_cast<double>(length));
    }
    const double seconds = times[task++].median();
    std::printf(" %.1f (%.1f) |", 1e3 * seconds, 1e6 * seconds / static_cast<double>(prompt));
  }
  std::puts("");
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_attention: %s\n", error.what());
  return 1;
}
