// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/q6_k.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "unit/format/encoding/block_rows.hpp"

using namespace tulle;
using testing::decoded_row;

// 210 bytes of numpy's PCG64(6) with the block's scale set to 2^-7, decoded by gguf-py 0.19.
TEST_CASE("a Q6_K block decodes to the reference's values", "[format][encoding]") {
  const std::vector<float> values =
      decoded_row(q6_k_rows,
                  "fe82ee719123c589df108c848799e057ef3336f2cc307b5e653361a82005df5f6da12d73e33"
                  "1c9fcd3f5c12fa950fca1ea5c4e6d3c7ea0acc97e75"
                  "c1297c785479e01aac76150fae7ee2b173181e7b1f1546159e7f203e0d149ccce2dd23a6d9e"
                  "702a5d8d9fe46025cf5b3f8cd8290fa682bfc956578b6"
                  "d364407ec4de9503c97ce950270c334f0cb5c8e34360bd1a358cb85f8c43cb90d900587fbfd"
                  "ffab76e60291c8b0ebda1a06e36ffc437e64d1fab733f"
                  "c7aabcb32f21d726932ef34c7f3d6a64dbcd666cc226045a2bed14348a0020",
                  256);
  const std::vector<std::pair<std::size_t, float>> some{
      {0, -8.578125f},    {1, -6.671875f}, {31, 12.421875f},   {32, 22.65625f},    {33, 0.78125f},  {63, -5.78125f},
      {64, -12.3515625f}, {65, -3.1875f},  {95, 3.984375f},    {96, -8.4375f},     {97, 21.9375f},  {127, 5.328125f},
      {128, -6.828125f},  {129, -4.75f},   {160, -17.578125f}, {192, -1.0390625f}, {224, -0.8125f}, {255, 3.6875f}};
  for (const auto& [index, value] : some) CHECK(values[index] == value);
  double sum = 0, absolute = 0;
  for (const float value : values) {
    sum += value;
    absolute += std::abs(value);
  }
  CHECK(sum == -154.3984375);
  CHECK(absolute == 2221.5390625);
}
