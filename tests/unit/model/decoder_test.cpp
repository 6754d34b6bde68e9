// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/decoder.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/paged.hpp>
#include <tulle/cache/sliding.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/model/weight_loader.hpp>

#include "unit/kernel/instruction_sets.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using testing::MemorySource;

namespace {

constexpr std::size_t max_rows = 96;

/// A packed model with a decoder and a cache of three sequences.
template <class Kernel, class Cache>
struct Setup {
  Setup(const Architecture& model, const TensorSource& source, Cache space, std::size_t threads,
        const PackOptions& pack = {})
      : architecture(model),
        weights(load_weights<Kernel>(source, architecture, {.pack = pack})),
        pool(threads),
        cache(std::move(space)),
        decoder(architecture, weights, pool, max_rows),
        logits(max_rows * architecture.vocabulary) {}

  /// Runs rows that all want logits and returns those [rows, vocabulary].
  std::vector<float> forward(const std::vector<Row>& rows) {
    for (const Row& row : rows) REQUIRE(cache.extend(row.sequence, row.position + 1));
    REQUIRE(decoder.forward(rows, cache, {logits.data(), max_rows, architecture.vocabulary}));
    return {logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(rows.size() * architecture.vocabulary)};
  }

  Architecture architecture;
  ModelWeights<Kernel> weights;
  ThreadPool pool;
  Cache cache;
  Decoder<Kernel, Cache> decoder;
  std::vector<float> logits;
};

std::vector<Row> rows_of(SequenceId sequence, const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
  std::vector<Row> rows;
  for (std::size_t i = begin; i < end; ++i) rows.push_back({sequence, static_cast<Position>(i), tokens[i], true});
  return rows;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <class Kernel, class CacheType, bool Codegen>
struct Combination {
  using KernelType = Kernel;
  using Cache = CacheType;
  static constexpr bool codegen = Codegen;
};

// Kernels by themselves; every cache and element is run through `AnyKernel` in the tests of the engine.
using Combinations =
    std::tuple<Combination<DenseF32, ContiguousCache<float>, true>,
               Combination<DenseI8, PagedCache<std::int8_t>, false>, Combination<DenseI8, ContiguousCache<float>, true>,
               Combination<DenseI4, PagedCache<std::int8_t>, false>>;

template <class Cache>
Cache make_cache(const Architecture& model) {
  const CacheShape shape = cache_shape(model);
  if constexpr (requires(Cache c) { c.blocks(); }) {
    return Cache(shape, 3, 12);
  } else {
    return Cache(shape, 3, 128);
  }
}

/// Logits of `tokens` in chunks.
template <class Any>
std::vector<float> run_chunks(Any& machine, SequenceId sequence, const std::vector<Token>& tokens, std::size_t chunk) {
  std::vector<float> all;
  for (std::size_t begin = 0; begin < tokens.size(); begin += chunk) {
    const auto part = machine.forward(rows_of(sequence, tokens, begin, std::min(begin + chunk, tokens.size())));
    all.insert(all.end(), part.begin(), part.end());
  }
  machine.cache.release(sequence);
  return all;
}

Architecture architecture_of(bool codegen) {
  return describe_model(codegen ? testing::codegen_config() : testing::llama_config(), "config.json");
}

using Plain = Setup<AnyKernel, ContiguousCache<float>>;

Plain plain_machine(const Architecture& model, const TensorSource& source) {
  return Plain(model, source, make_cache<ContiguousCache<float>>(model), 1);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the bits of logits depend on neither chunks, neighbours nor threads", "[model][decoder]",
                        Combinations) {
  using Cache = typename TestType::Cache;
  const Architecture model = architecture_of(TestType::codegen);
  const MemorySource source = testing::random_tensors(model);
  const auto tokens = testing::random_tokens(80, model.vocabulary, 5),
             other = testing::random_tokens(30, model.vocabulary, 6);
  const InstructionSet usual = active_instruction_set();
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::ActiveSet active(set);
    CAPTURE(instruction_set_name(set));
    std::vector<float> plain;
    for (const std::size_t threads : {1, 2, 3}) {
      Setup<typename TestType::KernelType, Cache> machine(model, source, make_cache<Cache>(model), threads);
      if (plain.empty()) plain = run_chunks(machine, 0, tokens, tokens.size());
      CAPTURE(threads);
      const bool thorough = threads == 1 && set == usual;
      const std::vector<std::size_t> chunks =
          thorough ? std::vector<std::size_t>{1, 2, 3, 5, 8, 16, 33, 64, 80} : std::vector<std::size_t>{7, 64};
      for (const std::size_t chunk : chunks) {
        CAPTURE(chunk);
        CHECK(same_bits(run_chunks(machine, 1, tokens, chunk), plain));
      }
      // In the middle of others, who are ahead and behind.
      std::vector<float> batched;
      for (std::size_t begin = 0; begin < 80; begin += 20) {
        auto rows = rows_of(2, other, begin / 4, begin / 4 + 5);
        const auto ours = rows_of(0, tokens, begin, begin + 20);
        const auto behind = rows_of(1, tokens, begin / 2, begin / 2 + 10);
        rows.insert(rows.end(), ours.begin(), ours.end());
        rows.insert(rows.end(), behind.begin(), behind.end());
        const auto all = machine.forward(rows);
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(5 * model.vocabulary);
        batched.insert(batched.end(), first, first + static_cast<std::ptrdiff_t>(20 * model.vocabulary));
      }
      CHECK(same_bits(batched, plain));
    }
  }
}

TEST_CASE("rows that want no logits get none and change none", "[model][decoder]") {
  const Architecture model = architecture_of(false);
  const MemorySource source = testing::random_tensors(model);
  Plain machine = plain_machine(model, source);
  const auto tokens = testing::random_tokens(12, model.vocabulary, 7);
  const auto all = run_chunks(machine, 0, tokens, 12);
  auto rows = rows_of(0, tokens, 0, 12);
  for (Row& row : rows) row.wants_logits = row.position == 3 || row.position == 11;
  std::fill(machine.logits.begin(), machine.logits.end(), 777.0f);
  (void)machine.forward(rows);
  const auto line = [&](const std::vector<float>& from, std::size_t index) {
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(index * model.vocabulary);
    return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(model.vocabulary));
  };
  CHECK(same_bits(line(machine.logits, 0), line(all, 3)));
  CHECK(same_bits(line(machine.logits, 1), line(all, 11)));
  CHECK(machine.logits[2 * model.vocabulary] == 777.0f);
  machine.cache.release(0);
  for (Row& row : rows) row.wants_logits = false;
  (void)machine.forward(rows);
  CHECK(machine.logits[2 * model.vocabulary] == 777.0f);
}

TEST_CASE("a cancelled pass writes no logits, and the rows can be run again", "[model][decoder]") {
  const Architecture model = architecture_of(false);
  const MemorySource source = testing::random_tensors(model);
  Plain machine = plain_machine(model, source);
  const auto tokens = testing::random_tokens(10, model.vocabulary, 8);
  const auto wanted = run_chunks(machine, 0, tokens, 10);
  const auto rows = rows_of(0, tokens, 0, 10);
  std::atomic<bool> cancel = true;
  REQUIRE(machine.cache.extend(0, 10));
  std::fill(machine.logits.begin(), machine.logits.end(), 777.0f);
  CHECK_FALSE(
      machine.decoder.forward(rows, machine.cache, {machine.logits.data(), max_rows, model.vocabulary}, &cancel));
  CHECK(std::all_of(machine.logits.begin(), machine.logits.end(), [](float value) { return value == 777.0f; }));
  machine.cache.truncate(0, 0);
  CHECK(same_bits(run_chunks(machine, 0, tokens, 10), wanted));
}

TEST_CASE("after truncating or forking, the same tokens give the same bits", "[model][decoder]") {
  const Architecture model = architecture_of(false);
  const MemorySource source = testing::random_tensors(model);
  const auto tokens = testing::random_tokens(75, model.vocabulary, 9);
  Setup<DenseI8, PagedCache<Half>> machine(model, source, PagedCache<Half>({2, {2, 16}}, 3, 12), 1);
  const auto plain = run_chunks(machine, 0, tokens, 75);
  const std::vector<float> tail(plain.begin() + static_cast<std::ptrdiff_t>(40 * model.vocabulary), plain.end());
  (void)machine.forward(rows_of(0, tokens, 0, 40));
  (void)machine.forward({{0, 40, 1, true}, {0, 41, 2, true}, {0, 42, 3, true}});
  machine.cache.truncate(0, 40);
  REQUIRE(machine.cache.fork(0, 1));
  CHECK(same_bits(machine.forward(rows_of(0, tokens, 40, 75)), tail));
  CHECK(same_bits(machine.forward(rows_of(1, tokens, 40, 75)), tail));
}

TEST_CASE("separate query, key and value matrices give the logits of the fused one", "[model][decoder]") {
  // CodeGen once as it is and once with three tensors, cut out of the fused one as transformers does: block, then
  // query, value, key. With another order the logits must differ.
  const Architecture fused = architecture_of(true);
  MemorySource source = testing::random_tensors(fused);
  Architecture separate = fused;
  separate.names.query_key_value.clear();
  separate.query_order = separate.key_order = separate.value_order = {};
  separate.names.query = "q";
  separate.names.key = "k";
  separate.names.value = "v";
  const auto cut = [&](std::array<const char*, 3> order) {
    for (std::size_t layer = 0; layer < fused.layers.size(); ++layer) {
      const std::string prefix = "transformer.h." + std::to_string(layer) + ".";
      for (std::size_t third = 0; third < 3; ++third) {
        std::vector<float> values;
        for (std::size_t row = 0; row < 64; ++row) {
          const auto part = source.row(prefix + "attn.qkv_proj.weight", row / 32 * 96 + third * 32 + row % 32);
          values.insert(values.end(), part.begin(), part.end());
        }
        source.put_floats(prefix + order[third] + ".weight", {64, 64}, values);
      }
    }
  };
  const auto tokens = testing::random_tokens(20, fused.vocabulary, 10);
  Plain whole = plain_machine(fused, source);
  const auto wanted = run_chunks(whole, 0, tokens, 20);
  cut({"q", "v", "k"});
  Plain parts = plain_machine(separate, source);
  CHECK(same_bits(run_chunks(parts, 0, tokens, 20), wanted));
  cut({"q", "k", "v"});
  Plain wrong = plain_machine(separate, source);
  CHECK_FALSE(same_bits(run_chunks(wrong, 0, tokens, 20), wanted));
}

TEST_CASE("a stack of float and integer parts is computed as each part by itself", "[model][decoder]") {
  // The value matrix as Q8_0 beside query and key in F32, and the other way round: the same file decoded to F32
  // throughout differs by the rounding of activations alone.
  const Architecture model = architecture_of(false);
  const auto tokens = testing::random_tokens(40, model.vocabulary, 11);
  for (const bool integer_first : {false, true}) {
    const auto dtype_of = [&](std::string_view name) {
      return name.ends_with(integer_first ? "q_proj" : "v_proj") || (integer_first && name.ends_with("up_proj"))
                 ? DType::q8_0
                 : DType::f32;
    };
    const MemorySource source = testing::random_tensors(model, dtype_of);
    Plain mixed = plain_machine(model, source);
    REQUIRE(mixed.weights.layers[0].query_key_value.parts.size() == 3);
    Setup<DenseF32, ContiguousCache<float>> reference(model, source, make_cache<ContiguousCache<float>>(model), 1);
    const auto found = run_chunks(mixed, 0, tokens, 40), wanted = run_chunks(reference, 0, tokens, 40);
    double squares = 0, difference = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      squares += static_cast<double>(wanted[i]) * wanted[i];
      difference += (static_cast<double>(found[i]) - wanted[i]) * (static_cast<double>(found[i]) - wanted[i]);
    }
    CAPTURE(integer_first);
    CHECK(std::sqrt(difference / squares) < 0.06);
    CHECK(difference > 0);
    CHECK(same_bits(run_chunks(mixed, 1, tokens, 7), found));
  }
}

TEST_CASE("every family's bits depend on neither chunks, neighbours nor threads", "[model][decoder]") {
  for (const Family& family : families()) {
    Json config = family.model_type == "codegen" || family.model_type == "gptj" ? testing::codegen_config()
                                                                                : testing::mixture_config();
    config["model_type"] = family.model_type;
    config.merge_patch({{"n_layer", 2},
                        {"n_layers", 2},
                        {"num_layers", 2},
                        {"n_head", 4},
                        {"n_heads", 4},
                        {"num_heads", 4},
                        {"n_embd", 64},
                        {"d_model", 64},
                        {"n_inner", 96},
                        {"ffn_dim", 96},
                        {"n_positions", 128},
                        {"sliding_window", 20},
                        {"window_size", 20},
                        {"num_local_experts", 5},
                        {"layer_types", nullptr},
                        {"attention_types", Json::array({Json::array({Json::array({"global", "local"}), 1})})}});
    const Architecture model = describe_model(config, "config.json");
    const MemorySource source = testing::random_tensors(model);
    const auto tokens = testing::random_tokens(60, model.vocabulary, 5),
               other = testing::random_tokens(20, model.vocabulary, 6);
    Plain alone = plain_machine(model, source);
    Plain threads(model, source, make_cache<ContiguousCache<float>>(model), 3);
    const auto wanted = run_chunks(alone, 0, tokens, 60);
    CAPTURE(family.model_type);
    CHECK(same_bits(run_chunks(alone, 1, tokens, 7), wanted));
    CHECK(same_bits(run_chunks(threads, 2, tokens, 11), wanted));
    std::vector<Row> mixed = rows_of(0, other, 0, 20);  // the rows of two sequences in turn
    const std::vector<Row> own = rows_of(1, tokens, 0, 20);
    for (std::size_t i = 0; i < own.size(); ++i) {
      mixed.insert(mixed.begin() + static_cast<std::ptrdiff_t>(2 * i), own[i]);
    }
    const auto both = threads.forward(mixed);
    for (std::size_t i = 0; i < own.size(); ++i) {
      CHECK(std::memcmp(&both[2 * i * model.vocabulary], &wanted[i * model.vocabulary],
                        model.vocabulary * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("the buffers between the layers are counted", "[model][decoder]") {
  const Architecture model = architecture_of(false);
  const MemorySource source = testing::random_tensors(model);
  const Plain machine = plain_machine(model, source);
  CHECK(machine.decoder.max_rows() == max_rows);
  const std::size_t activations = AnyKernel::Input(max_rows, 96).size_bytes();
  CHECK(activations >= max_rows * 96);
  CHECK(machine.decoder.workspace_bytes() >=
        max_rows * (3 * model.hidden + model.qkv_rows() + model.max_up_rows()) * sizeof(float) + activations);
}
