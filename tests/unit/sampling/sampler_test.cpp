// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/sampler.hpp>

#include <array>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

struct Whole {
  Token sample(std::span<float>, const SamplingContext&) const noexcept { return 0; }
  void distribution(std::span<float>, const SamplingContext&) const noexcept {}
};
struct WithoutDistribution {
  Token sample(std::span<float>, const SamplingContext&) const noexcept { return 0; }
};
struct Throwing {
  Token sample(std::span<float>, const SamplingContext&) const { return 0; }
  void distribution(std::span<float>, const SamplingContext&) const noexcept {}
};
struct Stateful {
  Token sample(std::span<float>, const SamplingContext&) noexcept { return 0; }
  void distribution(std::span<float>, const SamplingContext&) noexcept {}
};
struct Transform {
  void apply(std::span<float>, const SamplingContext&) const noexcept {}
};

static_assert(Sampler<Whole> && !Sampler<WithoutDistribution> && !Sampler<Throwing> && !Sampler<Stateful>);
static_assert(LogitsTransform<Transform> && !LogitsTransform<Whole> && !Sampler<Transform>);

}  // namespace

TEST_CASE("generated is what follows the prompt, also when the prompt length is too large", "[sampling][sampler]") {
  const std::array<Token, 4> history{1, 2, 3, 4};
  SamplingContext context;
  CHECK(context.generated().empty());
  context.history = history;
  CHECK(context.generated().size() == 4);
  context.prompt_length = 3;
  REQUIRE(context.generated().size() == 1);
  CHECK(context.generated()[0] == 4);
  context.prompt_length = 9;
  CHECK(context.generated().empty());
}
