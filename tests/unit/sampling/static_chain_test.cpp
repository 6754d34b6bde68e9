// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/static_chain.hpp>

#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/sampling/multinomial.hpp>
#include <tulle/sampling/top_k.hpp>
#include <tulle/sampling/top_p.hpp>

using namespace tulle;

static_assert(ChainStages<Greedy> && ChainStages<TopK, Temperature, Multinomial>);
static_assert(!ChainStages<> && !ChainStages<TopK> && !ChainStages<Greedy, Multinomial> && !ChainStages<Greedy, TopK>);

TEST_CASE("a chain applies its transforms in the order written", "[sampling][chain]") {
  // Temperature 2 flattens {4, 2, 0} so far that top-p 0.8 keeps two tokens; applied later, only one is left.
  std::vector<float> first{4, 2, 0};
  std::vector<float> second = first;
  Chain(Temperature(2), TopP(0.8f), Multinomial()).distribution(first, {});
  Chain(TopP(0.8f), Temperature(2), Multinomial()).distribution(second, {});
  CHECK(first[1] > 0);
  CHECK(first[2] == 0);
  CHECK(second == std::vector<float>{1, 0, 0});
}

TEST_CASE("chains nest, and a chain of a choice alone is that choice", "[sampling][chain]") {
  const Chain nested{Temperature(0.7f), Chain<TopK, Multinomial>{TopK(2), Multinomial()}};
  const Chain flat{Temperature(0.7f), TopK(2), Multinomial()};
  const Chain<Greedy> alone{Greedy()};
  static_assert(Sampler<decltype(nested)>);
  SamplingContext context;
  for (context.position = 0; context.position < 50; ++context.position) {
    std::vector<float> one{0.1f, 1, 0.9f, 0.5f};
    std::vector<float> two = one;
    std::vector<float> three = one;
    REQUIRE(nested.sample(one, context) == flat.sample(two, context));
    REQUIRE(alone.sample(three, context) == 1);
  }
}
