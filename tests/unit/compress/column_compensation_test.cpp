// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/column_compensation.hpp>

#include <algorithm>
#include <array>
#include <catch2/catch_all.hpp>

#include "unit/compress/problems.hpp"

using namespace tulle;
using Catch::Matchers::WithinAbs;

namespace {

/// Two sequences of 3 tokens, 8 columns, 2 rows of weights.
struct SmallLayer {
  ThreadPool pool{2};
  std::vector<float> x{1, 2, -1, .5f, 0,   1,  -2, 1,   .5f, -1,  2,   1,     1,  0,   .5f,  -1,
                       2, 0, 1,  -1,  .5f, 1,  1,  0,   -1,  1,   .5f, 2,     -1, .5f, 0,    1,
                       1, 1, -2, 0,   2,   -1, 1,  .5f, 0,   .5f, 1,   -1.5f, 1,  2,   -.5f, 1};
  std::array<std::size_t, 1> parts{2};
  LayerStatistics statistics = collect_statistics({.inputs = {x.data(), 6, 8}}, pool);

  static BasicMatrix<double> weights() {
    BasicMatrix<double> w(2, 8);
    w.values = {.4, -.3, .2, .7, -.1, .05, .6, -.8, -.25, .9, .15, -.45, .35, -.65, .1, .55};
    return w;
  }
  BasicMatrix<double> upper() {
    // H = 2 / sequences * X^T X, here of two sequences.
    const auto problem = make_fit_problem<double>(weights(), sums_of(LayerStatistics(copy(statistics)), 6),
                                                  {.alpha = 0, .gamma = 0, .damping = {0, 0, 0.01}}, pool);
    return inverse_factor(problem.hessian);
  }
  static LayerStatistics copy(const LayerStatistics& from) {
    LayerStatistics to;
    to.columns = from.columns;
    to.hessian = AlignedBuffer<double>(from.hessian.size());
    std::copy_n(from.hessian.data(), from.hessian.size(), to.hessian.data());
    return to;
  }
};

void require_values(const BasicMatrix<double>& w, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK_THAT(w.values[i], WithinAbs(expected[i], 1.5e-6));
}

}  // namespace

TEST_CASE("The factor of the inverse Hessian") {
  SmallLayer layer;
  const auto u = layer.upper();
  const double diagonal[] = {.971656, 2.003441, 1.021492, .404021, .407277, .450339, .44155, .480882};
  const double row[] = {.971656, -1.794479, .109285, .282835, -.133078, -.748355, -.617083, 2.30044};
  for (std::size_t i = 0; i < 8; ++i) CHECK_THAT(u[i][i], WithinAbs(diagonal[i], 1e-6));
  for (std::size_t j = 0; j < 8; ++j) CHECK_THAT(u[0][j], WithinAbs(row[j], 1e-5));
}

TEST_CASE("SparseGPT of half the weights, in blocks of 8 and 4 columns") {
  SmallLayer layer;
  const auto u = layer.upper();
  const auto prune = [&](std::size_t block, double& loss) {
    const PruningPlan plan{.method = PruningMethod::sparsegpt, .sparsity = 0.5, .block_size = block};
    BasicMatrix<double> w = SmallLayer::weights();
    std::vector<std::uint8_t> mask(16, 1);
    loss = ColumnCompensation<double>(u, &plan, nullptr, layer.pool).run(w, layer.parts, mask, nullptr, false);
    return w;
  };
  double loss = 0;
  require_values(prune(8, loss),
                 {0, 0, 0, .712861, 0, 0, .690684, -1.175381, 0, 0, 0, -.238202, .393807, -.664899, 0, 1.456419});
  CHECK_THAT(loss, WithinAbs(.855928, 1e-6));
  require_values(prune(4, loss),
                 {0, 0, 0, .712861, 0, 0, .690684, -1.175381, 0, .438294, 0, -.301734, 0, 0, 0, .48838});
  CHECK_THAT(loss, WithinAbs(2.054168, 1e-6));
}

TEST_CASE("Zeros that are to be kept stay where N of M asks for more weights than there are") {
  SmallLayer layer;
  const auto u = layer.upper();
  const std::size_t gap = GENERATE(0, 2);
  const PruningPlan plan{.method = PruningMethod::sparsegpt,
                         .sparsity = 0.5,
                         .structure = {SparsityStructure::Kind::balanced, 2, 4, gap},
                         .block_size = 8,
                         .keep_existing_zeros = true};
  BasicMatrix<double> w = SmallLayer::weights();
  for (const std::size_t zero : {4, 5, 6, 9, 10, 11}) w.values[zero] = 0;
  std::vector<std::uint8_t> mask(16, 1);
  ColumnCompensation<double>(u, &plan, nullptr, layer.pool).run(w, layer.parts, mask, nullptr, false);
  for (const std::size_t zero : {4, 5, 6, 9, 10, 11}) CHECK(w.values[zero] == 0);
  CHECK(std::count(mask.begin(), mask.end(), 1) == 2 + 1 + 1 + 2);
}

TEST_CASE("SparseGPT with 2 of 4, alone and jointly with int8 codes") {
  SmallLayer layer;
  const auto u = layer.upper();
  const PruningPlan plan{
      .method = PruningMethod::sparsegpt, .structure = {SparsityStructure::Kind::balanced, 2, 4}, .block_size = 8};
  BasicMatrix<double> w = SmallLayer::weights();
  std::vector<std::uint8_t> mask(16, 1);
  double loss = ColumnCompensation<double>(u, &plan, nullptr, layer.pool).run(w, layer.parts, mask, nullptr, false);
  require_values(w, {.4, 0, 0, .741284, 0, 0, .597357, -1.229335, 0, .438294, 0, -.301734, 0, -.545269, 0, .866656});
  CHECK_THAT(loss, WithinAbs(.951488, 1e-6));

  w = SmallLayer::weights();
  mask.assign(16, 1);
  const QuantizationPlan int8{.method = QuantizationMethod::gptq, .bits = 8, .searches_scale = false, .jointly = true};
  CodedMatrix<double> coded;
  for (std::size_t row = 0; row < 2; ++row) coded.scales.push_back(find_scale<double>({w[row], 8}, nullptr, int8));
  CHECK_THAT(coded.scales[0].scale, WithinAbs(.00627451, 1e-8));
  CHECK_THAT(coded.scales[1].scale, WithinAbs(.00705882, 1e-8));
  loss = ColumnCompensation<double>(u, &plan, &int8, layer.pool).run(w, layer.parts, mask, &coded, true);
  const std::vector<std::int8_t> expected{64, 0, 0, 118, 0, 0, 95, -128, 0, 62, 0, -43, 0, -77, 0, 123};
  CHECK(coded.codes == expected);
  CHECK_THAT(loss, WithinAbs(1.345384, 1e-6));
}

TEST_CASE("GPTQ with 4 bits") {
  SmallLayer layer;
  const auto u = layer.upper();
  const QuantizationPlan int4{.method = QuantizationMethod::gptq, .bits = 4, .searches_scale = false};
  BasicMatrix<double> w = SmallLayer::weights();
  std::vector<std::uint8_t> mask(16, 1);
  CodedMatrix<double> coded;
  const double loss =
      ColumnCompensation<double>(u, nullptr, &int4, layer.pool).run(w, layer.parts, mask, &coded, false);
  const std::vector<std::int8_t> expected{4, -3, 2, 7, -1, 0, 6, -7, -2, 7, 1, -4, 3, -5, 1, 5};
  CHECK(coded.codes == expected);
  CHECK_THAT(loss, WithinAbs(.042678, 1e-6));
}
