// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/error.hpp>

#include <catch2/catch_all.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace tulle;

TEST_CASE("fail joins its parts and keeps the code", "[core][error]") {
  try {
    fail(ErrorCode::malformed, std::string("file"), ": byte ", std::size_t{12}, std::string_view(" of "), -3);
    FAIL("fail returned");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::malformed);
    CHECK(std::string(error.what()) == "file: byte 12 of -3");
  }
  CHECK_THROWS_WITH(fail(ErrorCode::io, 0.5f, " ", true, " ", ~0ull), "0.500000 1 18446744073709551615");
  CHECK_THROWS_AS(fail(ErrorCode::io, "x"), std::runtime_error);
}

TEST_CASE("codes have their pinned numbers and a name each", "[core][error]") {
  CHECK(static_cast<int>(ErrorCode::invalid_argument) == 1);
  CHECK(static_cast<int>(ErrorCode::state) == 2);
  CHECK(static_cast<int>(ErrorCode::io) == 10);
  CHECK(static_cast<int>(ErrorCode::malformed) == 11);
  CHECK(static_cast<int>(ErrorCode::unsupported) == 12);
  CHECK(static_cast<int>(ErrorCode::not_found) == 13);
  CHECK(static_cast<int>(ErrorCode::capacity) == 20);
  CHECK(static_cast<int>(ErrorCode::memory) == 21);
  CHECK(static_cast<int>(ErrorCode::cancelled) == 30);
  CHECK(error_name(ErrorCode::not_found) == "not_found");
  CHECK(error_name(static_cast<ErrorCode>(99)) == "unknown");
}
