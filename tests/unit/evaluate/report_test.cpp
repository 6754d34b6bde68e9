// SPDX-License-Identifier: Apache-2.0
#include <tulle/evaluate/report.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <vector>

using namespace tulle;

TEST_CASE("a perplexity is reported with its errors and windows", "[evaluate]") {
  WindowScore a, b;
  a.tokens = b.tokens = 2;
  a.weight = b.weight = 2;
  a.nll = 2;
  b.nll = 4;
  a.reference_nll = 2;
  b.reference_nll = 2;
  a.kl = 0.5;
  a.same_top = b.same_top = 1;
  const auto plain = report_json(perplexity_result({a, b}, Averaging::windows, false));
  CHECK(plain["mean_nll"] == 1.5);
  CHECK(plain["mean_nll_standard_error"] == 0.5);
  CHECK(plain["perplexity"] == std::exp(1.5));
  CHECK(plain["tokens"] == 4);
  CHECK(plain["windows"] == 2);
  CHECK(plain["window_nll"] == std::vector<double>{1, 2});
  CHECK_FALSE(plain.contains("reference"));
  const auto compared = report_json(perplexity_result({a, b}, Averaging::windows, true))["reference"];
  CHECK(compared["perplexity"] == std::exp(1));
  CHECK(compared["perplexity_ratio"] == std::exp(0.5));
  CHECK(compared["perplexity_ratio_standard_error"] == std::exp(0.5) * 0.5);
  CHECK(compared["kl"] == 0.125);
  CHECK(compared["same_top"] == 0.5);
}

TEST_CASE("multiple choice is reported with what was chosen", "[evaluate]") {
  MultipleChoiceResult result;
  result.accuracy = share(1, 2);
  result.questions = {{{-1, -2}, 0, 1, 0}, {{-3, -2}, 1, 1, 0}};
  const auto object = report_json(result);
  CHECK(object["accuracy"] == 0.5);
  CHECK(object["accuracy_standard_error"] == 0.5);
  CHECK(object["questions"] == 2);
  CHECK(object["chosen"][1]["log_likelihoods"] == std::vector<double>{-3, -2});
  CHECK(object["chosen"][0]["chosen_per_letter"] == 1);
}
