// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/progress.hpp>

#include <string>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

void work(const Progress& progress) {
  for (const double fraction : {0.0, 0.5, 1.0}) {
    if (progress) progress("loading", fraction);
  }
}

}  // namespace

TEST_CASE("progress gets the name of the work and the fraction that is done", "[core][progress]") {
  std::vector<double> fractions;
  std::string last;
  work([&](std::string_view what, double fraction) {
    last = what;
    fractions.push_back(fraction);
  });
  CHECK(last == "loading");
  CHECK(fractions == std::vector{0.0, 0.5, 1.0});
}

TEST_CASE("an empty progress is silence", "[core][progress]") {
  CHECK_NOTHROW(work({}));
  CHECK_NOTHROW(work(nullptr));
}
