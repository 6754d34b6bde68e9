// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/requantized_tensors.hpp>

#include <bit>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include <tulle/tensor/sparsity.hpp>

#include "unit/model/random_model.hpp"

using namespace tulle;

namespace {

/// The largest sum of magnitudes of `kept` of 16 values with gaps of at most `max_gap`, by trying all choices.
double best_sum(const float* values, int kept, int max_gap) {
  double best = 0;
  for (unsigned mask = 0; mask < 65536; ++mask) {
    if (std::popcount(mask) != kept) continue;
    int last = -1;
    double sum = 0;
    bool fits = true;
    for (int i = 0; i < 16; ++i) {
      if ((mask >> i & 1) == 0) continue;
      fits = fits && i - last <= max_gap;
      last = i;
      sum += static_cast<double>(std::fabs(values[i]));
    }
    if (fits && sum > best) best = sum;
  }
  return best;
}

}  // namespace

TEST_CASE("a requantized matrix has the values of its source and no codes", "[format][requantized]") {
  testing::MemorySource source;
  source.put_random("layer.weight", DType::q4_1, 4, 64, 1);
  const RequantizedTensors tensors(source, "embedding");
  const auto base = source.matrix("layer"), rows = tensors.matrix("layer");
  CHECK(base->code_format().bits == 4);
  CHECK(rows->code_format() == CodeFormat{});
  CHECK(tensors.matrix("none") == nullptr);
  CHECK(tensors.find("layer.weight") == source.find("layer.weight"));
  std::vector<float> wanted(64), found(64), copied(64);
  base->decode_row(2, wanted.data());
  rows->decode_row(2, found.data());
  rows->copied()->decode_row(2, copied.data());
  CHECK(found == wanted);
  CHECK(copied == wanted);
}

TEST_CASE("pruning leaves the values of the largest magnitudes that a pattern allows", "[format][requantized]") {
  testing::MemorySource source;
  for (const char* name : {"layer.weight", "embedding.weight"}) source.put_random(name, DType::f32, 3, 64, 2);
  const auto structure = [&](const MagnitudePattern& pattern, const char* name) {
    return measure_sparsity(*RequantizedTensors(source, "embedding", pattern).matrix(name)).structure;
  };
  CHECK(structure({2, 4, 0}, "layer") == "2:4");
  CHECK(structure({4, 16, 0}, "layer") == "4:16");
  CHECK(structure({8, 16, 0}, "layer") == "8:16");
  CHECK(structure({8, 16, 4}, "layer") == "8:16");
  CHECK(structure({8, 16, 4}, "embedding") == "dense");

  std::vector<float> before(64), after(64);
  for (const int max_gap : {0, 4}) {
    const RequantizedTensors pruned(source, "", {8, 16, static_cast<std::size_t>(max_gap)});
    for (std::size_t row = 0; row < 3; ++row) {
      source.matrix("layer")->decode_row(row, before.data());
      pruned.matrix("layer")->decode_row(row, after.data());
      double sum = 0;
      for (std::size_t i = 0; i < 16; ++i) {
        CHECK((after[i] == 0 || after[i] == before[i]));
        sum += static_cast<double>(std::fabs(after[i]));
      }
      CHECK(sum == Catch::Approx(best_sum(before.data(), 8, max_gap == 0 ? 16 : max_gap)));
    }
  }
}
