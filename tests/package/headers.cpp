// SPDX-License-Identifier: Apache-2.0
// The headers that include other libraries.
#include <tulle/core/json.hpp>
#include <tulle/tensor/simd.hpp>

int main() {
  return tulle::parse_json("{}", "an empty object").empty() ? 0 : 1;
}
