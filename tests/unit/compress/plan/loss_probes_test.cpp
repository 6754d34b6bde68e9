// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/plan/loss_probes.hpp>

#include <memory>
#include <vector>

#include <catch2/catch_all.hpp>
#include <tulle/compress/edited_tensors.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/model/families.hpp>
#include <tulle/model/weight_loader.hpp>

using namespace tulle;

TEST_CASE("a probe's stream tells at the end of the model what its layer has changed", "[compress][plan]") {
  const auto checkpoint = Checkpoint::open(TULLE_GOLDEN "/models/llama-tiny-gqa");
  const Architecture model = describe_model(checkpoint->config(), checkpoint->path());
  const std::vector<std::vector<Token>> sequences{{5, 9, 2, 77, 30}, {8, 8, 61, 4, 100}};
  const TokenBatch batch(sequences, model.vocabulary);
  ThreadPool pool(2);
  prepare_blas();
  LoadOptions options;
  options.threads = 1;
  const WeightLoader<BlasLinear> loader(*checkpoint, model, options);
  const std::string name = "model.layers.0.self_attn.o_proj";
  const auto dense = checkpoint->matrix(name);
  const auto zeros = std::make_shared<const std::vector<float>>(dense->rows() * dense->columns());
  EditedTensors edited(checkpoint.get());
  edited.replace(name, std::make_shared<const MatrixOfFloats>(dense->rows(), dense->columns(), DType::f32,
                                                              std::as_bytes(std::span(*zeros)), zeros));

  BlockChain chain(model, batch, pool);
  chain.embed(loader.load_entry());
  const MatrixView<const float> stream = chain.residual();
  const std::vector<float> entered(stream.data, stream.data + stream.rows * stream.columns);
  LossProbes probes(model, sequences, pool), resumed(model, sequences, pool);
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const LayerWeights<BlasLinear> weights = loader.load_layer(layer);
    probes.pass(layer, weights);
    resumed.pass(layer, weights);
    if (layer == 0) {
      probes.add(0, weights, entered);
      probes.add(0, WeightLoader<BlasLinear>(edited, model, options).load_layer(0), entered);
      resumed.restore(probes.last(2));
    }
    chain.enter(layer, weights);
    for (const LinearRole role : {LinearRole::output, LinearRole::down}) chain.run(role);
  }
  CHECK(probes.error(0, chain.residual()) == 0);
  CHECK(probes.error(1, chain.residual()) > 1e-4);
  CHECK(resumed.error(1, chain.residual()) == probes.error(1, chain.residual()));
}
