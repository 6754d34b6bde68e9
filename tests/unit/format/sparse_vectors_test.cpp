// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/sparse_vectors.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include "unit/format/encoding/quantized_golden.hpp"
#include "unit/format/lent_files.hpp"

using namespace tulle;

TEST_CASE("vectors that compressed-tensors 0.8 stored as nonzeros are whole again",
          "[format][sparse_vectors][golden]") {
  const std::string folder = TULLE_GOLDEN "/quantized/ct_bitmask_0_8";
  const GivenFiles lent = test::lent_files(folder);
  for (const auto& checkpoint : {Checkpoint::open(folder), Checkpoint::open(lent)}) {
    for (const std::string name : {"norm.weight", "layer.bias"}) {
      const EncodedTensor* found = checkpoint->find(name);
      REQUIRE(found != nullptr);
      CHECK(read_floats(*checkpoint, *found) == read_floats(*checkpoint, *checkpoint->find(name + ".expected")));
    }
    for (const std::string layer : {"layer", "half"}) {
      CHECK(testing::values_of(*checkpoint->matrix(layer)) ==
            read_floats(*checkpoint, *checkpoint->find(layer + ".expected")));
    }
  }
}
