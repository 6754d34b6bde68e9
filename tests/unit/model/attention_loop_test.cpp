// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/attention_loop.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include <tulle/cache/cache_layout.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"
#include "unit/model/attention_elements.hpp"

using namespace tulle;
using testing::random_floats;

namespace {

constexpr std::array<std::size_t, 9> head_sizes{1, 8, 12, 16, 64, 80, 100, 128, 256};
constexpr std::array<std::size_t, 9> counts{1, 2, 3, 4, 5, 7, 8, 63, 64};

using Cases = testing::EveryElement<testing::InstructionSets>::type;

}  // namespace

TEMPLATE_LIST_TEST_CASE("scores are dot products of the query with every key", "[model][attention_loop]", Cases) {
  using Isa = typename TestType::first_type;
  using Element = typename TestType::second_type;
  testing::require_machine<Isa>();
  for (const std::size_t size : head_sizes) {
    const auto query = random_floats(size, 21);
    for (const std::size_t count : counts) {
      const auto keys = testing::elements<Element>(count * size, 22);
      std::vector<float> scores(count + 1, 1e9f);
      detail::score_keys(Isa{}, query.data(), keys.data(), count, size, scores.data());
      for (std::size_t i = 0; i < count; ++i) {
        double wanted = 0, magnitude = 0;
        for (std::size_t d = 0; d < size; ++d) {
          const double product = static_cast<double>(query[d]) * detail::element_value(keys[i * size + d]);
          wanted += product;
          magnitude += std::fabs(product);
        }
        CAPTURE(size, count, i);
        CHECK(std::fabs(scores[i] - wanted) <= 1e-6 * magnitude);
      }
      CHECK(scores[count] == 1e9f);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a score does not depend on how many keys are scored together", "[model][attention_loop]",
                        Cases) {
  using Isa = typename TestType::first_type;
  using Element = typename TestType::second_type;
  testing::require_machine<Isa>();
  constexpr std::size_t size = 20, count = 11;
  const auto query = random_floats(size, 23);
  const auto keys = testing::elements<Element>(count * size, 24);
  std::vector<float> together(count), alone(count);
  detail::score_keys(Isa{}, query.data(), keys.data(), count, size, together.data());
  for (std::size_t i = 0; i < count; ++i)
    detail::score_keys(Isa{}, query.data(), keys.data() + i * size, 1, size, alone.data() + i);
  CHECK(together == alone);
}

TEMPLATE_LIST_TEST_CASE("values are added with their weights to what is there", "[model][attention_loop]", Cases) {
  using Isa = typename TestType::first_type;
  using Element = typename TestType::second_type;
  testing::require_machine<Isa>();
  for (const std::size_t size : head_sizes) {
    for (const std::size_t count : counts) {
      const auto weights = random_floats(count, 25, 0, 1);
      const auto values = testing::elements<Element>(count * size, 26);
      const auto before = random_floats(size, 27);
      auto out = before;
      detail::add_values(Isa{}, weights.data(), values.data(), count, size, out.data());
      for (std::size_t d = 0; d < size; ++d) {
        double wanted = before[d], magnitude = std::fabs(wanted);
        for (std::size_t i = 0; i < count; ++i) {
          const double product = static_cast<double>(weights[i]) * detail::element_value(values[i * size + d]);
          wanted += product;
          magnitude += std::fabs(product);
        }
        CAPTURE(size, count, d);
        CHECK(std::fabs(out[d] - wanted) <= 4e-6 * magnitude);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("exponentials are those of doubles and their sum is returned", "[model][attention_loop]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  alignas(64) std::array<float, attention_tile + 8> scores;
  for (const float maximum : {0.0f, 3.5f, -20.0f}) {
    for (const float span : {1.0f, 20.0f, 86.0f}) {
      for (const std::size_t count : counts) {
        const auto values = random_floats(count, 28, maximum - span, maximum);
        scores.fill(std::numeric_limits<float>::quiet_NaN());  // what lies behind `count` must not matter
        std::copy(values.begin(), values.end(), scores.begin());
        scores[count / 2] = maximum;
        const float sum = detail::exponentials(TestType{}, scores.data(), count, maximum);
        double wanted_sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
          const float difference = (i == count / 2 ? maximum : values[i]) - maximum;  // rounded once, as in the loop
          const double wanted = std::exp(static_cast<double>(difference));
          wanted_sum += wanted;
          CAPTURE(maximum, span, count, i);
          CHECK(std::fabs(scores[i] - wanted) <= 3e-7 * wanted);
        }
        CHECK(std::fabs(sum - wanted_sum) <= 1e-6 * wanted_sum);
        CHECK(scores[count / 2] == 1.0f);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("far below the maximum an exponential vanishes, and a NaN stays one", "[model][attention_loop]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  alignas(64) std::array<float, attention_tile + 8> scores{0.0f, -88.0f, -150.0f, -1e30f, -infinity};
  CHECK(detail::exponentials(TestType{}, scores.data(), 5, 0.0f) == 1.0f);
  for (std::size_t i = 1; i < 5; ++i) CHECK(scores[i] < 1e-37f);
  CHECK(scores[4] == 0.0f);
  scores = {0.0f, std::numeric_limits<float>::quiet_NaN(), -1.0f};
  CHECK(std::isnan(detail::exponentials(TestType{}, scores.data(), 3, 0.0f)));
  CHECK(scores[0] == 1.0f);
  CHECK(std::isnan(scores[1]));
}

TEMPLATE_LIST_TEST_CASE("scaled scores are products with the scales, and the largest is found",
                        "[model][attention_loop]", Cases) {
  using Isa = typename TestType::first_type;
  testing::require_machine<Isa>();
  for (const std::size_t count : counts) {
    for (std::size_t place = 0; place < count; ++place) {
      auto scores = random_floats(count + 1, 26);
      const auto before = scores;
      auto scales = random_floats(count, 27);
      for (float& scale : scales) scale = std::fabs(scale) + 0.5f;
      scores[place] = 100;
      CHECK(detail::scale_scores(Isa{}, scores.data(), count, 0.125f, scales.data()) == 100 * (0.125f * scales[place]));
      for (std::size_t i = 0; i < count; ++i) CHECK(scores[i] == (i == place ? 100 : before[i]) * (0.125f * scales[i]));
      CHECK(scores[count] == before[count]);
      scores = before;
      scores[place] = std::numeric_limits<float>::quiet_NaN();
      float largest = -std::numeric_limits<float>::infinity();
      for (std::size_t i = 0; i < count; ++i) largest = i == place ? largest : std::max(largest, before[i] * 0.125f);
      CHECK(detail::scale_scores(Isa{}, scores.data(), count, 0.125f, nullptr) == largest);
      CHECK(std::isnan(scores[place]));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("elements as floats are what they stand for", "[model][attention_loop]", Cases) {
  using Isa = typename TestType::first_type;
  using Element = typename TestType::second_type;
  testing::require_machine<Isa>();
  for (const std::size_t count : {1u, 7u, 8u, 9u, 100u}) {
    const auto from = testing::elements<Element>(count, 28);
    std::vector<float> to(count + 1, 1e9f);
    detail::to_floats(Isa{}, from.data(), count, to.data());
    for (std::size_t i = 0; i < count; ++i) CHECK(to[i] == detail::element_value(from[i]));
    CHECK(to[count] == 1e9f);
  }
}

#if defined(TULLE_X86)

TEMPLATE_TEST_CASE("a few queries by rows of a cache have the bits of one after the other", "[model][attention_loop]",
                   float, Half, std::int8_t) {
  testing::require_machine<isa::Avx2>();
  constexpr std::size_t most = detail::queries_at_once;
  for (const std::size_t size : {8, 40, 64, 80, 256}) {
    const auto query = random_floats(most * size, 42);
    for (const std::size_t count : {1, 2, 3, 5, 8, 63, 64}) {
      const auto rows = testing::elements<TestType>(count * size, 41);  // keys, and values
      for (std::size_t number = 1; number <= most; ++number) {
        CAPTURE(size, count, number);
        std::array<detail::PieceWeights, most> together{}, apart{};
        std::array<const float*, most> queries{};
        auto out = random_floats(most * size, 43);
        auto wanted = out;
        std::array<float*, most> outs{};
        for (std::size_t q = 0; q < most; ++q) {
          queries[q] = query.data() + q * size;
          outs[q] = out.data() + q * size;
        }
        detail::score_few(queries.data(), number, rows.data(), count, size, together[0].data());
        bool same = true;
        for (std::size_t q = 0; q < number; ++q) {
          detail::score_keys(isa::Avx2{}, queries[q], rows.data(), count, size, apart[q].data());
          for (std::size_t i = 0; i < count; ++i) same = same && together[q][i] == apart[q][i];
          detail::add_values(isa::Avx2{}, apart[q].data(), rows.data(), count, size, wanted.data() + q * size);
        }
        CHECK(same);
        detail::add_few(together[0].data(), number, rows.data(), count, size, outs.data());
        CHECK(out == wanted);
      }
    }
  }
}

#endif
