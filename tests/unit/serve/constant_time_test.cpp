// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/constant_time.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::serve;

TEST_CASE("A key is equal to itself alone", "[serve]") {
  CHECK(equal_in_constant_time("secret", "secret"));
  for (const char* key : {"", "s", "secre", "secret2", "Secret", "secretsecret"}) {
    CHECK_FALSE(equal_in_constant_time(key, "secret"));
  }
  CHECK(equal_in_constant_time("", ""));
  CHECK_FALSE(equal_in_constant_time("a", ""));
}
