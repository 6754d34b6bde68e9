// SPDX-License-Identifier: Apache-2.0
// Lesson 2: your own sampler. This one uses a low temperature where the model is certain and a high one where it is
// not.   usage: 02_own_sampler MODEL [PROMPT]
#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>
#include <string>

#include <tulle/cache/contiguous.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/sampling/multinomial.hpp>
#include <tulle/text/token_stream.hpp>

// A sampler turns one row of logits into a token, or into the probabilities that it would draw from. It keeps no state:
// everything it may use is in the context, so a sequence that is rolled back draws the same tokens again.
class CoolWhenSure {
 public:
  explicit CoolWhenSure(double hottest) : hottest_(hottest) {}

  tulle::Token sample(std::span<float> logits, const tulle::SamplingContext& context) const noexcept {
    cool(logits);
    return draw_.sample(logits, context);
  }
  void distribution(std::span<float> logits, const tulle::SamplingContext& context) const noexcept {
    cool(logits);
    draw_.distribution(logits, context);
  }

 private:
  // Divides by a temperature between 0 and `hottest_` that grows with the entropy of the row, in nats.
  void cool(std::span<float> logits) const noexcept {
    const double largest = *std::max_element(logits.begin(), logits.end());
    if (!std::isfinite(largest)) return;  // every token is banned, or the model failed: left to `draw_`
    double total = 0, weighted = 0;
    for (const float logit : logits) {
      const double weight = std::exp(logit - largest);
      total += weight;
      if (weight > 0) weighted += weight * (logit - largest);  // a banned token is -inf and has weight 0
    }
    const double entropy = std::log(total) - weighted / total;
    const double temperature = std::max(0.05, hottest_ * entropy / (entropy + 1));
    for (float& logit : logits) logit = static_cast<float>((logit - largest) / temperature);
  }

  double hottest_;
  tulle::Multinomial draw_;
};
static_assert(tulle::Sampler<CoolWhenSure>);  // reports in one line what is missing

int main(int count, char** arguments) try {
  if (count < 2) tulle::fail(tulle::ErrorCode::invalid_argument, "usage: 02_own_sampler MODEL [PROMPT]");
  const std::string prompt = count > 2 ? arguments[2] : "Once upon a time";
  const auto tokenizer = tulle::load_tokenizer(arguments[1]);
  const auto model = tulle::Model<tulle::AnyKernel>::load(arguments[1]);
  const tulle::Architecture& architecture = model->architecture();
  tulle::ThreadPool pool;

  // Kernel, cache and sampler are chosen when this file is compiled. Input and output are tokens; text is up to the
  // program.
  using Generator = tulle::Generator<tulle::AnyKernel, tulle::ContiguousCache<tulle::Half>, CoolWhenSure>;
  const tulle::CacheShape shape = tulle::cache_shape(architecture);
  Generator generator(architecture, model->weights(), pool, {shape, 1, 512}, 256, tokenizer->vocabulary_size());
  generator.start(tokenizer->encode(prompt, {.add_special_tokens = true}), CoolWhenSure(1),
                  {.max_new_tokens = 64, .eos = architecture.eos, .seed = 7});

  std::cout << prompt;
  tulle::TokenStream text(*tokenizer, true);
  while (generator.running()) {
    for (const tulle::Emission& emission : generator.step(generator.plan()).emissions) {
      if (emission.token >= 0) std::cout << text.push(emission.token) << std::flush;
    }
  }
  std::cout << text.finish() << "\n";
} catch (const tulle::Error& error) {
  std::cerr << "02_own_sampler: " << error.what() << "\n";
  return 1;
}
