// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/draft_policy.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;
using Catch::Approx;

TEST_CASE("seconds of a step lie on a line through the last ones", "[generate][draft]") {
  StepSeconds seconds;
  CHECK(seconds.at(3) == 0);
  seconds.add(2, 10);
  CHECK(seconds.at(2) == 10);
  CHECK(seconds.at(4) == Approx(11));  // a slope is assumed
  for (int i = 0; i < 300; ++i) {
    seconds.add(2, 12);
    seconds.add(6, 20);
  }
  CHECK(seconds.at(1) == Approx(10).epsilon(0.01));
  CHECK(seconds.at(4) == Approx(16).epsilon(0.01));
  CHECK(seconds.at(20) == Approx(48).epsilon(0.01));
}

TEST_CASE("steps off the line are learned by their number of rows", "[generate][draft]") {
  StepSeconds seconds;
  for (int i = 0; i < 60; ++i) {
    seconds.add(2, 10);
    seconds.add(3, 14);
    seconds.add(8, 17);
  }
  CHECK(seconds.at(2) == Approx(10).epsilon(0.02));
  CHECK(seconds.at(3) == Approx(14).epsilon(0.02));
  CHECK(seconds.at(8) == Approx(17).epsilon(0.02));
}

TEST_CASE("a step that was interrupted hardly counts", "[generate][draft]") {
  StepSeconds seconds;
  for (int i = 0; i < 20; ++i) seconds.add(1, 1);
  seconds.add(1, 1000);
  CHECK(seconds.at(1) < 1.1);
}

TEST_CASE("accepted shares are kept apart by confidence", "[generate][draft]") {
  AcceptedShare share;
  CHECK(share.at(0.5f) == Approx(0.5));
  for (int i = 0; i < 1000; ++i) {
    share.learn(0.9f, i % 4 != 0);
    share.learn(0.1f, false);
  }
  CHECK(share.at(0.9f) == Approx(0.75).margin(0.03));
  CHECK(share.at(0.1f) < 0.02);
  CHECK(share.at(1) == Approx(1));
}

TEST_CASE("a drafter that is right more often than it says is believed", "[generate][draft]") {
  AcceptedShare share;
  for (int i = 0; i < 100; ++i) share.learn(0.8f, i % 20 != 0);
  CHECK(share.at(0.4f) > 0.8);  // never seen
}

TEST_CASE("drafts are as long as it pays", "[generate][draft]") {
  // The table of models.md: v = 1 + 0.05 (m - 1), c = 0.05 and a = 0.8 have their best length at 6.
  DraftPolicy policy;
  for (std::size_t rows = 1; rows <= 32; ++rows) {
    policy.target.add(rows, 1 + 0.05 * (static_cast<double>(rows) - 1));
  }
  policy.plain.add(1, 1);
  policy.learn_draft(100, 5);
  policy.learn_step(2.47, 1);
  std::size_t length = 0;
  double reach = 1;
  while (policy.pays(reach, 0.8, 1, 1 + length, 1)) {
    ++length;
    reach *= 0.8;
  }
  CHECK(length == 6);
}

TEST_CASE("what costs more than it gains is not drafted", "[generate][draft]") {
  DraftPolicy policy;
  for (int i = 0; i < 50; ++i) {
    policy.plain.add(1, 1);
    policy.target.add(2, 1.1);
    policy.target.add(8, 1.5);
  }
  policy.learn_draft(100, 60);
  CHECK(policy.pays(1, 0.9, 7, 1, 1));
  CHECK_FALSE(policy.pays(1, 0.5, 7, 1, 1));
}

TEST_CASE("long drafts that do not pay leave short ones possible", "[generate][draft]") {
  DraftPolicy policy;
  for (int i = 0; i < 3; ++i) {
    policy.learn_target(1, false, 8);
    policy.learn_step(1, 8);
  }
  policy.learn_target(8, true, 20);
  policy.learn_draft(7, 14);
  policy.learn_step(2, 34);
  policy.learn_target(1, false, 8);
  policy.learn_step(1, 8);
  CHECK(policy.plain.at(1) == Approx(8));
  CHECK(policy.step_seconds(2, 1) < 11);
  CHECK(policy.pays(1, 0.7, 1, 1, 1));
  CHECK_FALSE(policy.pays(1, 0.2, 7, 1, 1));
}

TEST_CASE("one slow step with drafts does not end drafting", "[generate][draft]") {
  DraftPolicy policy;
  for (int i = 0; i < 3; ++i) {
    policy.learn_target(1, false, 8);
    policy.learn_step(1, 8);
  }
  policy.learn_target(3, true, 12);
  policy.learn_draft(2, 5);
  policy.learn_step(1, 17);
  CHECK(policy.pays(0.9, 0.66, 7, 1, 1));
  for (int i = 0; i < 20; ++i) policy.learn_target(3, true, 12);
  CHECK_FALSE(policy.pays(0.9, 0.66, 7, 1, 1));
}
