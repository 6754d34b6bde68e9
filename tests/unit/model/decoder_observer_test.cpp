// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/decoder_observer.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/paged.hpp>
#include <tulle/cache/sliding.hpp>
#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/model/decoder.hpp>
#include <tulle/model/weight_loader.hpp>

#include "unit/model/random_model.hpp"

using namespace tulle;

namespace {

constexpr std::size_t max_rows = 64;

std::vector<Row> rows_of(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
  std::vector<Row> rows;
  for (std::size_t i = begin; i < end; ++i) rows.push_back({0, static_cast<Position>(i), tokens[i], true});
  return rows;
}

/// A model of random floats, its decoder, and a cache of one sequence.
template <class Cache>
struct Toy {
  Toy(const Architecture& model, Cache space)
      : architecture(model),
        source(testing::random_tensors(model)),
        weights(load_weights<DenseF32>(source, architecture)),
        pool(2),
        cache(std::move(space)),
        decoder(architecture, weights, pool, max_rows),
        logits(max_rows * model.vocabulary) {}

  MatrixView<float> view() { return {logits.data(), max_rows, architecture.vocabulary}; }

  std::vector<float> run(const std::vector<Token>& tokens, std::size_t chunk) {
    std::vector<float> all;
    for (std::size_t begin = 0; begin < tokens.size(); begin += chunk) {
      const std::size_t end = std::min(begin + chunk, tokens.size());
      REQUIRE(cache.extend(0, static_cast<Position>(end)));
      REQUIRE(decoder.forward(rows_of(tokens, begin, end), cache, view()));
      all.insert(all.end(), logits.begin(),
                 logits.begin() + static_cast<std::ptrdiff_t>((end - begin) * architecture.vocabulary));
    }
    cache.release(0);
    return all;
  }

  Architecture architecture;
  testing::MemorySource source;
  ModelWeights<DenseF32> weights;
  ThreadPool pool;
  Cache cache;
  Decoder<DenseF32, Cache> decoder;
  std::vector<float> logits;
};

Architecture architecture_of(bool codegen) {
  return describe_model(codegen ? testing::codegen_config() : testing::llama_config(), "config.json");
}

/// Every second layer sees the last 9 positions; the last layer rotates nothing.
Architecture alternating_windows(std::size_t head_dim = 16) {
  Json config = testing::llama_config();
  config["num_hidden_layers"] = 4;
  config["head_dim"] = head_dim;
  Architecture model = describe_model(config, "config.json");
  model.rotary_tables.push_back({RotaryPairing::halves, {}});
  for (const std::size_t layer : {1, 3}) model.layers[layer].window = {9};
  model.layers[3].rotary = 1;
  model.layers[2].intermediate = 64;
  return model;
}

struct Seen {
  std::size_t layer;
  LinearRole role;
  std::vector<float> x;
  bool operator==(const Seen&) const = default;
};

struct Recorder final : DecoderObserver {
  std::vector<Seen> seen;
  void observe(std::size_t layer, LinearRole role, std::span<const Row> rows,
               MatrixView<const float> x) noexcept override {
    Seen& last = seen.emplace_back(Seen{layer, role, {}});
    if (role != LinearRole::head) CHECK(x.rows == rows.size());
    for (std::size_t row = 0; row < x.rows; ++row) last.x.insert(last.x.end(), x[row], x[row] + x.columns);
  }
  const std::vector<float>& of(std::size_t layer, LinearRole role) const {
    for (const Seen& each : seen) {
      if (each.layer == layer && each.role == role) return each.x;
    }
    FAIL("nothing was seen of layer " << layer);
    return seen.front().x;
  }
};

using Values = std::vector<double>;

/// y = W x + bias with the rows of a tensor.
Values times(const testing::MemorySource& source, const std::string& name, const Values& x, std::size_t rows) {
  Values y(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto weights = source.row(name + ".weight", row);
    for (std::size_t i = 0; i < x.size(); ++i) y[row] += x[i] * weights[i];
  }
  return y;
}

Values normed(const testing::MemorySource& source, const std::string& name, const Values& x) {
  const EncodedTensor& tensor = *source.find(name + ".weight");
  std::vector<float> weight(x.size());
  std::memcpy(weight.data(), tensor.bytes.data(), tensor.bytes.size());
  double squares = 0;
  for (const double value : x) squares += value * value;
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = x[i] / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5) * weight[i];
  }
  return y;
}

void turn(double* head, const Rotary& rotary, std::size_t position) {
  const std::size_t pairs = rotary.inverse_frequencies.size();
  for (std::size_t j = 0; j < pairs; ++j) {
    const double angle = static_cast<double>(position) * rotary.inverse_frequencies[j], x = head[j],
                 y = head[j + pairs];
    head[j] = x * std::cos(angle) - y * std::sin(angle);
    head[j + pairs] = y * std::cos(angle) + x * std::sin(angle);
  }
}

/// The logits of a Llama in plain doubles, one position after the other, each seeing what its layer's window says.
std::vector<Values> reference(const Architecture& model, const testing::MemorySource& source,
                              const std::vector<Token>& tokens) {
  const std::size_t size = model.head_dim, group = model.heads / model.kv_heads;
  std::vector<Values> stream, logits;
  for (const Token token : tokens) {
    const auto row = source.row("model.embed_tokens.weight", static_cast<std::size_t>(token));
    stream.emplace_back(row.begin(), row.end());
  }
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const LayerSpec& spec = model.layers[layer];
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    std::vector<Values> keys, values;
    for (std::size_t position = 0; position < tokens.size(); ++position) {
      Values& x = stream[position];
      const Values input = normed(source, prefix + "input_layernorm", x);
      Values query = times(source, prefix + "self_attn.q_proj", input, model.query_rows());
      keys.push_back(times(source, prefix + "self_attn.k_proj", input, model.kv_rows()));
      values.push_back(times(source, prefix + "self_attn.v_proj", input, model.kv_rows()));
      const Rotary& rotary = model.rotary_tables[spec.rotary];
      for (std::size_t head = 0; head < model.heads; ++head) turn(query.data() + head * size, rotary, position);
      for (std::size_t head = 0; head < model.kv_heads; ++head)
        turn(keys.back().data() + head * size, rotary, position);
      Values attended(model.query_rows());
      const std::size_t window = spec.window.positions;
      const std::size_t begin = window == 0 || position < window ? 0 : position - window + 1;
      for (std::size_t head = 0; head < model.heads; ++head) {
        double sum = 0;
        Values out(size);
        for (std::size_t at = begin; at <= position; ++at) {
          double score = 0;
          for (std::size_t d = 0; d < size; ++d) score += query[head * size + d] * keys[at][head / group * size + d];
          const double weight = std::exp(score / std::sqrt(static_cast<double>(size)));
          sum += weight;
          for (std::size_t d = 0; d < size; ++d) out[d] += weight * values[at][head / group * size + d];
        }
        for (std::size_t d = 0; d < size; ++d) attended[head * size + d] = out[d] / sum;
      }
      const Values projected = times(source, prefix + "self_attn.o_proj", attended, model.hidden);
      for (std::size_t i = 0; i < model.hidden; ++i) x[i] += projected[i];
      const Values second = normed(source, prefix + "post_attention_layernorm", x);
      Values gate = times(source, prefix + "mlp.gate_proj", second, spec.intermediate);
      const Values up = times(source, prefix + "mlp.up_proj", second, spec.intermediate);
      for (std::size_t i = 0; i < spec.intermediate; ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
      const Values down = times(source, prefix + "mlp.down_proj", gate, model.hidden);
      for (std::size_t i = 0; i < model.hidden; ++i) x[i] += down[i];
    }
  }
  for (const Values& x : stream) {
    logits.push_back(times(source, "lm_head", normed(source, "model.norm", x), model.vocabulary));
  }
  return logits;
}

}  // namespace

TEST_CASE("layers see what their windows say, on every layout and in every chunk", "[model][decoder_observer]") {
  for (const std::size_t head_dim : {16, 256}) {
    const Architecture model = alternating_windows(head_dim);
    const auto tokens = testing::random_tokens(80, model.vocabulary, 3);
    Toy contiguous(model, ContiguousCache<float>(cache_shape(model), 1, 80));
    const auto found = contiguous.run(tokens, 16);
    const auto wanted = reference(model, contiguous.source, tokens);
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double value = wanted[i / model.vocabulary][i % model.vocabulary];
      largest = std::max(largest, std::fabs(value));
      difference = std::max(difference, std::fabs(found[i] - value));
    }
    CAPTURE(head_dim, largest, difference);
    CHECK(difference < 1e-4 * largest);
    for (const std::size_t chunk : {1, 7, 64}) CHECK(contiguous.run(tokens, chunk) == found);
    Toy paged(model, PagedCache<float>(cache_shape(model), 1, 2));
    CHECK(paged.run(tokens, 20) == found);
    Toy sliding(model, SlidingCache<float>(cache_shape(model), 1, 80, 0, 20));  // its window is never full
    CHECK(sliding.run(tokens, 20) == found);
    CHECK(sliding.run(tokens, 3) == found);
  }
}

TEST_CASE("a sliding layout keeps of a layer its window and no more", "[model][decoder_observer]") {
  const Architecture model = alternating_windows();
  SlidingCache<float> cache(cache_shape(model), 1, 200, 0, 20);
  REQUIRE(cache.extend(0, 1));
  CHECK(cache.size_bytes() == 2 * 2 * 16 * sizeof(float) * (2 * 256 + 2 * 64));  // rings of 200 + 20 and of 9 + 20
}

TEST_CASE("the steps of a decoder are its forward pass", "[model][decoder_observer]") {
  for (const bool codegen : {false, true}) {
    const Architecture model = architecture_of(codegen);
    const auto tokens = testing::random_tokens(12, model.vocabulary, 4);
    const auto rows = rows_of(tokens, 0, 12);
    Toy toy(model, ContiguousCache<float>(cache_shape(model), 1, 12));
    const auto wanted = toy.run(tokens, 12);
    REQUIRE(toy.cache.extend(0, 12));
    toy.decoder.embed(rows);
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
      toy.decoder.queries_keys_values(layer, rows);
      toy.decoder.attend(layer, rows, toy.cache, layer);
      toy.decoder.output(layer, rows);
      toy.decoder.up(layer, rows);
      toy.decoder.down(layer, rows);
    }
    toy.decoder.head(rows, toy.view());
    CAPTURE(codegen);
    CHECK(std::memcmp(toy.logits.data(), wanted.data(), sizeof(float) * wanted.size()) == 0);
  }
}

TEST_CASE("an observer sees what every linear layer reads, in order", "[model][decoder_observer]") {
  for (const bool codegen : {false, true}) {
    const Architecture model = architecture_of(codegen);
    const auto tokens = testing::random_tokens(5, model.vocabulary, 5);
    Toy toy(model, ContiguousCache<float>(cache_shape(model), 1, 8));
    const auto wanted = toy.run(tokens, 5);
    Recorder recorder;
    toy.decoder.set_observer(&recorder);
    CHECK(toy.run(tokens, 5) == wanted);
    toy.decoder.set_observer(nullptr);
    CHECK(toy.run(tokens, 5) == wanted);
    CHECK(recorder.seen.size() == 4 * model.layers.size() + 1);
    CHECK(recorder.seen.back().layer == model.layers.size());
    CHECK(recorder.of(1, LinearRole::output).size() == 5 * model.query_rows());
    CHECK(recorder.of(1, LinearRole::down).size() == 5 * model.layers[1].intermediate);
    if (codegen) CHECK(recorder.of(0, LinearRole::up) == recorder.of(0, LinearRole::query_key_value));
    // The head's product of what was seen gives the logits.
    const auto& x = recorder.of(model.layers.size(), LinearRole::head);
    for (std::size_t token = 0; token < model.vocabulary; ++token) {
      std::vector<float> row(model.hidden);
      DenseF32::unpack_row(toy.weights.head.parts.front().weights, token, row.data());
      double sum = toy.weights.head.bias.empty() ? 0 : toy.weights.head.bias[token];
      for (std::size_t i = 0; i < model.hidden; ++i) sum += static_cast<double>(row[i]) * x[4 * model.hidden + i];
      CHECK(std::fabs(sum - wanted[4 * model.vocabulary + token]) < 1e-4);
    }
  }
}

TEST_CASE("a matrix is replaced between two steps, over a cache of one layer", "[model][decoder_observer]") {
  const Architecture model = architecture_of(false);
  const auto tokens = testing::random_tokens(10, model.vocabulary, 6);
  const auto rows = rows_of(tokens, 0, 10);
  // What a model that has the other matrix from the start gives after its second layer.
  Toy other(model, ContiguousCache<float>(cache_shape(model), 1, 10));
  other.weights.layers[1].output = std::move(load_weights<DenseF32>(other.source, model).layers[0].output);
  REQUIRE(other.cache.extend(0, 10));
  other.decoder.embed(rows);
  other.decoder.run_layer(0, rows, other.cache);
  other.decoder.run_layer(1, rows, other.cache);
  const float* end = other.decoder.residual(10).data;
  const std::vector<float> wanted(end, end + 10 * model.hidden);

  Toy toy(model, ContiguousCache<float>(CacheShape(1, cache_shape(model, 1)), 1, 10));
  Toy first(model, ContiguousCache<float>(CacheShape(1, cache_shape(model, 0)), 1, 10));
  REQUIRE(first.cache.extend(0, 10));
  REQUIRE(toy.cache.extend(0, 10));
  first.decoder.embed(rows);
  first.decoder.run_layer(0, rows, first.cache, 0);
  const MatrixView<float> stream = toy.decoder.residual(10);
  std::memcpy(stream.data, first.decoder.residual(10).data, sizeof(float) * 10 * model.hidden);
  toy.decoder.place(rows);
  toy.decoder.queries_keys_values(1, rows);
  toy.decoder.attend(1, rows, toy.cache, 0);
  toy.weights.layers[1].output = std::move(load_weights<DenseF32>(toy.source, model).layers[0].output);
  toy.decoder.output(1, rows);
  toy.decoder.up(1, rows);
  toy.decoder.down(1, rows);
  CHECK(std::memcmp(stream.data, wanted.data(), sizeof(float) * wanted.size()) == 0);
}
