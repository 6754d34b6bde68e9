// SPDX-License-Identifier: Apache-2.0
#include <tulle/evaluate/evaluation_window.hpp>

#include <catch2/catch_all.hpp>
#include <numeric>
#include <optional>
#include <unit/format/file_builder.hpp>
#include <vector>

using namespace tulle;
using Tokens = std::vector<Token>;

namespace {

Tokens first_tokens(std::size_t count) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

/// (first token, tokens, first scored token, weight) of each window of consecutive numbers.
std::vector<std::vector<double>> outline(const EvaluationWindows& windows) {
  std::vector<std::vector<double>> result;
  for (const EvaluationWindow& each : windows.windows) {
    result.push_back({static_cast<double>(each.tokens.front()), static_cast<double>(each.tokens.size()),
                      static_cast<double>(each.tokens[each.first_target]), each.weight});
  }
  return result;
}

}  // namespace

TEST_CASE("whole windows score all but the first token", "[evaluate]") {
  const EvaluationWindows windows = whole_windows({{1, 2, 3}, {4}});
  REQUIRE(windows.windows.size() == 2);
  CHECK(windows.windows[0].targets() == 2);
  CHECK(windows.windows[1].targets() == 0);
  CHECK(windows.averaging == Averaging::windows);
}

TEST_CASE("strided windows score what is new in them", "[evaluate]") {
  // Hugging Face's loop with max_length 4: begin, end - begin, first token of the loss, num_loss_tokens.
  using Outline = std::vector<std::vector<double>>;
  CHECK(outline(strided_windows(first_tokens(9), 4, 2)) ==
        Outline{{0, 4, 1, 3}, {2, 4, 4, 1}, {4, 4, 6, 1}});  // the last window's one token weighs nothing
  CHECK(outline(strided_windows(first_tokens(10), 4, 4)) == Outline{{0, 4, 1, 3}, {4, 4, 5, 3}, {8, 2, 9, 1}});
  CHECK(outline(strided_windows(first_tokens(8), 4, 3)) == Outline{{0, 4, 1, 3}, {3, 4, 4, 2}});
  CHECK(outline(strided_windows(first_tokens(3), 4, 4)) == Outline{{0, 3, 1, 2}});
  CHECK(strided_windows(first_tokens(1), 4, 4).windows.empty());
  CHECK(strided_windows({}, 4, 4).windows.empty());
  for (const std::size_t stride : {0, 5}) {
    CHECK(test::error_of([&] { (void)strided_windows(first_tokens(9), 4, stride); }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("llama.cpp's chunks score their second half, without its first token", "[evaluate]") {
  const Token bos = 77;
  const EvaluationWindows windows = half_scored_windows(first_tokens(19), 8, &bos);
  REQUIRE(windows.windows.size() == 2);
  CHECK(windows.windows[1].tokens == Tokens{77, 9, 10, 11, 12, 13, 14, 15});
  CHECK(windows.windows[1].first_target == 5);
  CHECK(windows.windows[1].targets() == 3);  // n_ctx - 1 - n_ctx / 2
  CHECK(windows.averaging == Averaging::tokens);
  CHECK(half_scored_windows(first_tokens(8), 8, nullptr).windows[0].tokens.front() == 0);
}
