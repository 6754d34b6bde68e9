// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/limits.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;
using tulle::ErrorCode;

namespace {

template <class Work>
ErrorCode code_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::state;
}

}  // namespace

TEST_CASE("a budget gives what its limits allow and no more", "[text][jinja_limits]") {
  Budget budget(Limits{.steps = 10, .bytes = 100, .levels = 2});
  budget.spend(4);
  budget.spend(6);
  CHECK(code_of([&] { budget.spend(1); }) == ErrorCode::capacity);
  budget.allocate(60);
  CHECK(code_of([&] { budget.allocate(41); }) == ErrorCode::capacity);
  budget.allocate(40);
  CHECK(code_of([&] { budget.allocate(1); }) == ErrorCode::capacity);
}

TEST_CASE("a product of sizes that overflows is too much", "[text][jinja_limits]") {
  Budget budget(Limits{.steps = 10, .bytes = 100, .levels = 2});
  CHECK(code_of([&] { budget.allocate(SIZE_MAX / 2, 4); }) == ErrorCode::capacity);
  budget.allocate(SIZE_MAX, 0);
  budget.allocate(25, 4);
  CHECK(code_of([&] { budget.allocate(1, 1); }) == ErrorCode::capacity);
}

TEST_CASE("levels are given back when they end", "[text][jinja_limits]") {
  Budget budget(Limits{.steps = 10, .bytes = 100, .levels = 2});
  for (int i = 0; i < 3; ++i) {
    const Budget::Level outer(budget);
    const Budget::Level inner(budget);
    CHECK(code_of([&] { const Budget::Level third(budget); }) == ErrorCode::capacity);
  }
}
