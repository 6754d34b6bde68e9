// SPDX-License-Identifier: Apache-2.0
/// \file Transforms and a choice, combined at compile time (L2).
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <tulle/core/types.hpp>
#include <tulle/sampling/greedy.hpp>
#include <tulle/sampling/sampler.hpp>
#include <tulle/sampling/temperature.hpp>

namespace tulle {
namespace detail {

template <class Tuple, class Indices>
struct AllTransforms;

template <class Tuple, std::size_t... I>
struct AllTransforms<Tuple, std::index_sequence<I...>>
    : std::bool_constant<(LogitsTransform<std::tuple_element_t<I, Tuple>> && ...)> {};

}  // namespace detail

/// Any number of transforms, then one sampler.
template <class... Stages>
concept ChainStages =
    sizeof...(Stages) > 0 &&
    Sampler<std::tuple_element_t<sizeof...(Stages) - 1, std::tuple<Stages...>>>&&
        detail::AllTransforms<std::tuple<Stages...>, std::make_index_sequence<sizeof...(Stages) - 1>>::value;

/// Applies its transforms in the order written, then lets the last stage choose:
/// `Chain chain{TopK(40), Temperature(0.8f), Multinomial()}`. A chain is a sampler, so chains nest.
template <class... Stages>
  requires ChainStages<Stages...>
class Chain {
 public:
  explicit Chain(Stages... stages) : stages_(std::move(stages)...) {}

  Token sample(std::span<float> logits, const SamplingContext& context) const noexcept {
    transform(logits, context, transform_indices());
    return std::get<sizeof...(Stages) - 1>(stages_).sample(logits, context);
  }

  void distribution(std::span<float> logits, const SamplingContext& context) const noexcept {
    transform(logits, context, transform_indices());
    std::get<sizeof...(Stages) - 1>(stages_).distribution(logits, context);
  }

 private:
  using transform_indices = std::make_index_sequence<sizeof...(Stages) - 1>;

  template <std::size_t... I>
  void transform([[maybe_unused]] std::span<float> logits, [[maybe_unused]] const SamplingContext& context,
                 std::index_sequence<I...>) const noexcept {
    (std::get<I>(stages_).apply(logits, context), ...);
  }

  std::tuple<Stages...> stages_;
};

static_assert(Sampler<Chain<Temperature, Greedy>>);

}  // namespace tulle
