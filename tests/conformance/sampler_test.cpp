// SPDX-License-Identifier: Apache-2.0
#include "conformance/sampler_suite.hpp"

#include <catch2/catch_all.hpp>

#include <tulle/sampling/greedy.hpp>
#include <tulle/sampling/min_p.hpp>
#include <tulle/sampling/multinomial.hpp>
#include <tulle/sampling/sampler_chain.hpp>
#include <tulle/sampling/static_chain.hpp>
#include <tulle/sampling/top_k.hpp>
#include <tulle/sampling/top_p.hpp>
#include <tulle/sampling/typical.hpp>

using namespace tulle;

namespace {

SamplingOptions everything(SamplerOrder order) {
  SamplingOptions options;
  options.do_sample = true;
  options.temperature = 1.3f;
  options.top_k = 18;
  options.top_p = 0.95f;
  options.min_p = 0.02f;
  options.typical_p = 0.97f;
  options.repetition_penalty = 1.2f;
  options.presence_penalty = 0.2f;
  options.frequency_penalty = 0.1f;
  options.no_repeat_ngram = 2;
  options.min_new_tokens = 30;
  options.eos = {9, 500};
  options.order = order;
  return options;
}

// One type for each sampler under test, so that a new one is one line and one name in the list.
struct Largest {
  static auto make() { return Greedy(); }
};
struct Draw {
  static auto make() { return Multinomial(); }
};
struct Warm {
  static auto make() { return Chain(Temperature(0.8f), Multinomial()); }
};
struct Nucleus {
  static auto make() { return Chain(TopP(0.9f), Multinomial()); }
};
struct FewBest {
  static auto make() { return Chain(TopK(7), Temperature(1.5f), Multinomial()); }
};
struct NotImprobable {
  static auto make() { return Chain(MinP(0.1f), Multinomial()); }
};
struct LocallyTypical {
  static auto make() { return Chain(Typical(0.8f), Multinomial()); }
};
struct PenalisedLargest {
  static auto make() { return Chain(RepetitionPenalty(1.4f), NoRepeatNgram(2), Greedy()); }
};
struct Defaults {
  static auto make() { return SamplerChain(); }
};
struct PlainDraw {
  static auto make() { return SamplerChain({.do_sample = true}); }
};
struct HuggingFace {
  static auto make() { return SamplerChain(everything(SamplerOrder::hugging_face)); }
};
struct LlamaCpp {
  static auto make() { return SamplerChain(everything(SamplerOrder::llama_cpp)); }
};

}  // namespace

TEMPLATE_TEST_CASE("samplers keep the laws of their concept", "[conformance][sampler]", Largest, Draw, Warm, Nucleus,
                   FewBest, NotImprobable, LocallyTypical, PenalisedLargest, Defaults, PlainDraw, HuggingFace,
                   LlamaCpp) {
  const auto sampler = TestType::make();
  conformance::SamplerSuite(sampler).check_all();
}
