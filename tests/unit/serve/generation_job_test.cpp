// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/generation_job.hpp>

#include <catch2/catch_all.hpp>
#include <chrono>

using namespace tulle::serve;

TEST_CASE("who reads a job is asked for while tokens come too", "[serve]") {
  GenerationJob job({});
  job.put({});
  job.put({});
  CHECK(job.next(std::chrono::hours(1), [] { return true; }));
  CHECK_FALSE(job.cancelled());
  CHECK(job.next(std::chrono::milliseconds(0), [] { return true; }));
  CHECK(job.cancelled());
}
