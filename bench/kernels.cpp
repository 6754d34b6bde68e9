// SPDX-License-Identifier: Apache-2.0
/// \file Speed of the kernels on the matrices of a model: decode (1 row) from main memory, prefill (a batch of rows).
///
/// Synthetic weights and sparsity patterns: for speed only. All kernels run interleaved in one process, on the same
/// sizes.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <tulle/core/thread_pool.hpp>
#include <tulle/format/encoding/blocks_of_256.hpp>
#include <tulle/format/encoding/blocks_of_32.hpp>
#include <tulle/format/encoding/i8.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>

#include "measure.hpp"

namespace {

struct Shape {
  std::size_t rows, columns, count;
};

/// The linear layers of a whole model, as the decoder stacks them; the last makes logits.
const std::map<std::string, std::vector<Shape>> models{
    {"codegen-350m", {{3072, 1024, 20}, {1024, 1024, 20}, {4096, 1024, 20}, {1024, 4096, 20}, {51200, 1024, 1}}},
    {"tinyllama-1.1b", {{2560, 2048, 22}, {2048, 2048, 22}, {11264, 2048, 22}, {2048, 5632, 22}, {32000, 2048, 1}}},
    {"smollm2-135m", {{960, 576, 30}, {576, 576, 30}, {3072, 576, 30}, {576, 1536, 30}, {49152, 576, 1}}}};

/// A kernel and the sparsity pattern that it runs on, or the type of blocks that its codes and scales are read from.
struct Form {
  std::string zeros;  ///< "", "50 %" (unstructured), "50 % uneven" (in some rows more) or "2:4"
  std::string kernel;
  const tulle::RowEncoding* blocks = nullptr;

  std::string name() const { return kernel + (blocks == nullptr ? "" : " " + std::string(dtype_name(blocks->dtype))); }
};

const std::vector<Form> forms{{"", "dense_f32"},
                              {"", "dense_f16"},
                              {"", "dense_i8"},
                              {"", "dense_i4"},
                              {"2:4", "2:4_i8"},
                              {"8:16", "8:16_gap4_i8"},
                              {"8:16", "8:16_i8"},
                              {"8:16", "bitmask_i8"},
                              {"4:16", "4:16_i8"},
                              {"4:16", "bitmask_i8"},
                              {"2:4", "2:4_i4"},
                              {"8:16", "8:16_gap4_i4"},
                              {"4:16", "4:16_i4"},
                              {"30 %", "bitmask_i8"},
                              {"50 %", "bitmask_i8"},
                              {"60 %", "bitmask_i8"},
                              {"70 %", "bitmask_i8"},
                              {"80 %", "bitmask_i8"},
                              {"90 %", "bitmask_i8"},
                              {"95 %", "bitmask_i8"},
                              {"50 %", "ell_i8"},
                              {"60 %", "ell_i8"},
                              {"70 %", "ell_i8"},
                              {"80 %", "ell_i8"},
                              {"90 %", "ell_i8"},
                              {"95 %", "ell_i8"},
                              {"80 % uneven", "ell_i8"},
                              {"90 % uneven", "ell_i8"},
                              {"60 % uneven", "ell_i4"},
                              {"80 % uneven", "ell_i4"},
                              {"70 %", "ell_i4"},
                              {"80 %", "ell_i4"},
                              {"90 %", "ell_i4"},
                              {"", "dense_i4", &tulle::q4_0_rows},
                              {"", "dense_i4", &tulle::q4_1_rows},
                              {"", "dense_i4", &tulle::q4_k_rows},
                              {"", "dense_i4", &tulle::q2_k_rows},
                              {"", "dense_i4", &tulle::q3_k_rows},
                              {"", "dense_i8", &tulle::q8_0_rows},
                              {"", "dense_i8", &tulle::q5_0_rows},
                              {"", "dense_i8", &tulle::q5_1_rows},
                              {"", "dense_i8", &tulle::q5_k_rows},
                              {"", "dense_i8", &tulle::q6_k_rows}};

class Random {
 public:
  std::uint64_t operator()() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1Du;
  }

 private:
  std::uint64_t state_ = 88172645463325252u;
};

/// Many masks of 16 columns with the given sparsity pattern.
std::vector<std::uint16_t> masks_of(const std::string& zeros, Random& random) {
  std::vector<std::uint16_t> masks;
  const auto good = [&](std::uint16_t mask) {
    if (zeros == "2:4") {
      for (int four = 0; four < 4; ++four) {
        if (std::popcount(static_cast<unsigned>(mask >> 4 * four & 15)) != 2) return false;
      }
      return true;
    }
    if (zeros == "4:16") return std::popcount(mask) == 4;
    if (std::popcount(mask) != 8 || (mask & 15) == 0) return false;
    for (int start = 0; start + 4 < 16; ++start) {  // gaps of at most 4 columns
      if ((mask >> start & 1) != 0 && (mask >> (start + 1)) != 0 && (mask >> (start + 1) & 15) == 0) return false;
    }
    return true;
  };
  while (masks.size() < 16384) {
    auto mask = static_cast<std::uint16_t>(random() >> 48);
    if (zeros.empty()) {
      mask = 0xFFFF;
    } else if (zeros.ends_with('%')) {
      mask = 0;
      for (unsigned bit = 0; bit < 16; ++bit) {
        if ((random() >> 32) % 100 >= std::stoul(zeros)) mask = static_cast<std::uint16_t>(mask | 1u << bit);
      }
    } else if (!good(mask)) {
      continue;
    }
    masks.push_back(mask);
  }
  return masks;
}

/// Masks of four kinds of rows. Uneven rows have from half to seven fourths of the average's nonzeros.
using RowMasks = std::array<std::vector<std::uint16_t>, 4>;

RowMasks row_masks_of(const std::string& zeros, Random& random) {
  if (!zeros.ends_with(" uneven")) {
    const std::vector<std::uint16_t> masks = masks_of(zeros, random);
    return {masks, masks, masks, masks};
  }
  constexpr std::array fourths{2u, 3u, 4u, 7u};
  RowMasks masks;
  for (std::size_t kind = 0; kind < masks.size(); ++kind) {
    const unsigned long kept = (100 - std::stoul(zeros)) * fourths[kind] / 4;
    masks[kind] = masks_of(std::to_string(100 - kept) + " %", random);
  }
  return masks;
}

/// int8 codes with these zeros and a scale per row.
std::shared_ptr<const tulle::WeightSource> random_codes(const Shape& shape, const RowMasks& masks, Random& random) {
  std::vector<std::byte> codes(shape.rows * shape.columns);
  const std::vector<std::uint16_t>* of_row = nullptr;
  for (std::size_t at = 0; at < codes.size(); at += 16) {
    if (at % shape.columns == 0) of_row = &masks[random() >> 62];
    const unsigned mask = (*of_row)[random() >> 50];
    for (std::size_t k = 0; k < 16; k += 8) {
      const std::uint64_t eight = random();
      for (std::size_t i = 0; i < 8; ++i) {
        const auto code = static_cast<std::byte>(eight >> 8 * i | 1);  // never zero by chance
        codes[at + k + i] = mask >> (k + i) & 1 ? code : std::byte{0};
      }
    }
  }
  const tulle::MatrixBytes bytes(codes);
  return tulle::i8_rows(bytes.copied(), shape.rows, shape.columns, {.scales = {0.001f}});
}

/// Random bytes, without those that would make an f16 scale of 2 and more.
std::shared_ptr<const tulle::WeightSource> random_blocks(const Shape& shape, const tulle::RowEncoding& encoding,
                                                         Random& random) {
  std::vector<std::byte> blocks(tulle::dtype_bytes(encoding.dtype, shape.rows * shape.columns, "a matrix"));
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random() >> 56 & 0x3F);
  const tulle::MatrixBytes bytes(blocks);
  return std::make_shared<const tulle::FileRows>(encoding, bytes.copied(), shape.rows, shape.columns);
}

/// All matrices of a model in one form.
class Model {
 public:
  Model(const std::vector<Shape>& shapes, const Form& form, std::size_t layers, std::size_t inputs) {
    Random random;
    const RowMasks masks = row_masks_of(form.zeros, random);
    std::size_t max_columns = 0, max_rows = 0;
    for (const Shape& shape : shapes) {
      const auto rows =
          form.blocks == nullptr ? random_codes(shape, masks, random) : random_blocks(shape, *form.blocks, random);
      for (std::size_t i = 0; i < std::min(shape.count, layers); ++i) {
        matrices_.push_back(tulle::AnyKernel::pack(*rows, {.kernel = tulle::kernel_choice(form.kernel)}));
        elements_ += shape.rows * shape.columns;
        bytes_ += matrices_.back().size_bytes();
      }
      max_columns = std::max(max_columns, shape.columns);
      max_rows = std::max(max_rows, shape.rows);
    }
    x_.resize(inputs * max_columns);
    for (float& value : x_) value = static_cast<float>(random() >> 40) * 0x1p-24f - 0.5f;
    y_.resize(inputs * max_rows);
    input_ = std::make_unique<tulle::AnyKernel::Input>(inputs, max_columns);
    inputs_ = inputs;
  }

  std::size_t elements() const noexcept { return elements_; }
  std::size_t bytes() const noexcept { return bytes_; }

  /// Prepares the activations (a batch on all threads), then multiplies.
  void run(tulle::ThreadPool& pool) noexcept {
    for (const auto& weights : matrices_) {
      const tulle::MatrixView<const float> x(x_.data(), inputs_, weights.columns());
      const tulle::MatrixView<float> y(y_.data(), inputs_, weights.rows());
      tulle::AnyKernel::start(weights, inputs_, *input_);
      if (inputs_ <= tulle::tile_inputs) {
        tulle::AnyKernel::prepare(weights, x, *input_, {0, inputs_});
      } else {
        pool.run([&](std::size_t worker) noexcept {
          const auto share = tulle::share_of(inputs_, tulle::tile_inputs, worker, pool.size());
          tulle::AnyKernel::prepare(weights, x, *input_, {share.begin, share.end});
        });
      }
      pool.run([&](std::size_t worker) noexcept {
        tulle::AnyKernel::multiply(weights, *input_, y, tulle::row_share(weights, inputs_, worker, pool.size()));
      });
    }
  }

 private:
  std::vector<tulle::AnyKernel::Weights> matrices_;
  std::unique_ptr<tulle::AnyKernel::Input> input_;
  std::vector<float> x_, y_;
  std::size_t elements_ = 0, bytes_ = 0, inputs_ = 1;
};

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("The kernels on the matrices of a model, interleaved; ratios of medians");
  std::string shape = "codegen-350m", only;
  std::size_t threads = 2, repeats = 9, inputs = 1, layers = 1000;
  app.add_option("--shape", shape, "codegen-350m, tinyllama-1.1b or smollm2-135m")->capture_default_str();
  app.add_option("--threads", threads, "Threads")->capture_default_str();
  app.add_option("--repeats", repeats, "Runs of each kernel")->capture_default_str();
  app.add_option("--inputs", inputs, "Rows of activations: 1 for decode, 512 for prefill")->capture_default_str();
  app.add_option("--layers", layers, "At most so many matrices of each shape (few of them stay in the cache)");
  app.add_option("--only", only, "Kernels whose name, type of blocks or sparsity contains this; dense_i8 always runs");
  app.footer("TULLE_ISA=avx2 forces an instruction set.\nExample: bench_kernels --inputs 512 --layers 2 --only i8");
  CLI11_PARSE(app, argc, argv);
  if (!models.contains(shape)) return std::fprintf(stderr, "unknown shape %s\n", shape.c_str()), 1;

  std::vector<Shape> shapes = models.at(shape);
  if (inputs > tulle::tile_inputs) shapes.pop_back();  // a prompt needs the logits of its last token only

  tulle::ThreadPool pool(threads);
  bench::BandwidthProbe probe(pool);
  std::vector<Form> chosen;
  std::vector<std::unique_ptr<Model>> built;
  std::vector<std::function<void()>> tasks{[&] { probe(); }};
  std::optional<std::size_t> float_at, int8_at;
  for (const Form& form : forms) {
    if (form.name() != "dense_i8" && (form.name() + " " + form.zeros).find(only) == std::string::npos) continue;
    const std::size_t in_block = form.blocks == nullptr ? 1 : tulle::dtype_info(form.blocks->dtype).block_elements;
    const auto is_whole = [&](const Shape& each) { return each.columns % in_block == 0; };
    if (!std::all_of(shapes.begin(), shapes.end(), is_whole)) continue;
    if (form.name() == "dense_f32") float_at = tasks.size();
    if (form.name() == "dense_i8") int8_at = tasks.size();
    std::fprintf(stderr, "packing %s %s\n", form.name().c_str(), form.zeros.c_str());
    chosen.push_back(form);
    built.push_back(std::make_unique<Model>(shapes, form, layers, inputs));
    tasks.push_back([&pool, model = built.back().get()] { model->run(pool); });
  }
  const auto times = bench::interleaved(tasks, repeats);

  const auto set = tulle::instruction_set_name(tulle::active_instruction_set());
  const double bandwidth = static_cast<double>(probe.bytes()) / times[0].median();
  std::printf("%s, %s; %s, %.1f M weights, %zu input(s), %zu thread(s), %zu runs; read bandwidth %.1f GB/s\n\n",
              bench::processor_name().c_str(), std::string(set).c_str(), shape.c_str(),
              static_cast<double>(built.front()->elements()) / 1e6, inputs, threads, repeats, bandwidth / 1e9);
  std::puts(
      "| kernel | sparsity | bytes/weight | ms (min - max) | GMAC/s | share of bandwidth | x dense_i8 | x dense_f32 |");
  std::puts("|---|---|---|---|---|---|---|---|");
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Model& model = *built[i];
    const double median = times[i + 1].median();
    const auto ratio = [&](std::optional<std::size_t> to) {
      return to ? std::to_string(times[*to].median() / median).substr(0, 4) : std::string("-");
    };
    std::printf("| %s | %s | %.3f | %.2f (%.2f - %.2f) | %.1f | %.2f | %s | %s |\n", chosen[i].name().c_str(),
                chosen[i].zeros.c_str(), static_cast<double>(model.bytes()) / static_cast<double>(model.elements()),
                median * 1e3, times[i + 1].min() * 1e3, times[i + 1].max() * 1e3,
                static_cast<double>(model.elements() * inputs) / median / 1e9,
                static_cast<double>(model.bytes()) / median / bandwidth, ratio(int8_at).c_str(),
                ratio(float_at).c_str());
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_kernels: %s\n", error.what());
  return 1;
}
