// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/speculative.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/generate/draft/model_drafter.hpp>
#include <tulle/generate/draft/ngram_drafter.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/text_generation.hpp>
#include <tulle/kernel/any_kernel.hpp>

#include "unit/generate/tiny_pipeline.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using testing::Numbers;
using Policies = Engine::Policies;
using AnyModel = std::shared_ptr<const Model<AnyKernel>>;

namespace {

constexpr std::size_t vocabulary = 288;  // of the tiny tokenizer

AnyModel random_model(std::uint32_t seed, std::string_view kernel = "auto") {
  Json config = testing::llama_config();
  config["vocab_size"] = vocabulary;
  config["hidden_size"] = 32;
  config["num_hidden_layers"] = 1;
  config["intermediate_size"] = 32;
  config["head_dim"] = 8;
  const Architecture architecture = describe_model(config, "config.json");
  testing::MemorySource tensors = testing::random_tensors(architecture);
  tensors.put_random("lm_head.weight", DType::f32, vocabulary, 32, 1000 + seed);
  tensors.put_random("model.embed_tokens.weight", DType::f32, vocabulary, 32, 3000 + seed);
  LoadOptions load;
  load.pack.kernel = kernel_choice(kernel);
  load.threads = 1;
  return Model<AnyKernel>::load(tensors, architecture, load);
}

/// Guesses what one of the texts says that begin like the history, each token wrong with some probability.
class NoisyOracle {
 public:
  NoisyOracle(std::vector<std::vector<Token>> texts, double right, std::uint32_t seed)
      : texts_(std::move(texts)), right_(right), numbers_(seed) {}

  void begin(Draft<SamplerChain>&) noexcept {}
  void extend(std::span<Draft<SamplerChain>* const> drafts) {
    for (Draft<SamplerChain>* draft : drafts) {
      const std::span<const Token> history = draft->context.history;
      const std::size_t next = history.size() + draft->tokens.size();
      Token token = static_cast<Token>(numbers_.below(vocabulary));
      for (const auto& text : texts_) {
        const bool follows = next < text.size() && std::equal(history.begin(), history.end(), text.begin());
        if (follows && numbers_.between(0, 1) < right_) token = text[next];
      }
      draft->add(token, numbers_.between(0, 1));
      draft->ended = draft->ended || numbers_.below(40) == 0;
    }
  }
  void end(Draft<SamplerChain>&) noexcept {}

 private:
  std::vector<std::vector<Token>> texts_;
  double right_;
  Numbers numbers_;
};

/// Guesses what a text says.
class Oracle {
 public:
  explicit Oracle(std::vector<Token> text) : text_(std::move(text)) {}
  void begin(Draft<SamplerChain>&) noexcept {}
  void extend(std::span<Draft<SamplerChain>* const> drafts) {
    for (auto* draft : drafts) draft->add(text_[draft->context.history.size() + draft->tokens.size()], 1);
  }
  void end(Draft<SamplerChain>& draft) {
    if (first_length_ == 0) first_length_ = draft.tokens.size();
  }
  std::size_t first_length() const noexcept { return first_length_; }

 private:
  std::vector<Token> text_;
  std::size_t first_length_ = 0;
};

template <class DrafterType>
auto speculation_of(DrafterType drafter, const SpeculationOptions& options = {}) {
  return std::make_unique<Speculative<Policies, DrafterType>>(std::move(drafter), options);
}

std::unique_ptr<Speculation<Policies>> model_speculation(AnyModel model, const EngineOptions& options,
                                                         const SpeculationOptions& speculation, bool stacked,
                                                         bool is_copy = false) {
  auto engine = make_engine(std::move(model), options, vocabulary);
  if (stacked) engine->speculate(speculation_of(NgramDrafter(), speculation));
  return speculation_of(ModelDrafter<Engine, SamplerChain>(std::move(engine), is_copy), speculation);
}

struct Texts {
  std::vector<GeneratedText> generations;
  std::vector<std::string> pieces;
};

/// Several prompts, two texts each; now and then a sequence loses what the cache holds of it.
Texts generate(TextGeneration& pipeline, std::span<const std::string> prompts, const GenerationOptions& options,
               std::uint32_t evictions) {
  Numbers numbers(evictions);
  TextStream stream = pipeline.stream(prompts, options);
  Texts texts;
  texts.pieces.resize(prompts.size() * options.num_return_sequences);
  while (const auto piece = stream.next()) {
    texts.pieces[piece->generation] += piece->text;
    const auto running = pipeline.engine().sequences().running();
    if (evictions != 0 && !running.empty() && numbers.below(20) == 0) {
      pipeline.engine().sequences().evict(running[numbers.below(running.size())]);
    }
  }
  texts.generations = stream.results();
  return texts;
}

void require_equal(const Texts& found, const Texts& wanted) {
  REQUIRE(found.generations.size() == wanted.generations.size());
  CHECK(found.pieces == wanted.pieces);
  for (std::size_t i = 0; i < wanted.generations.size(); ++i) {
    const GeneratedText &a = found.generations[i], &b = wanted.generations[i];
    REQUIRE(a.tokens == b.tokens);
    CHECK(a.text == b.text);
    CHECK(a.finish_reason == b.finish_reason);
    CHECK(testing::same_bits(a.log_probabilities, b.log_probabilities));
    CHECK(a.logits.rows == b.logits.rows);
    CHECK(testing::same_bits(a.logits.values, b.logits.values));
    CHECK(a.accepted_draft_tokens <= a.draft_tokens);
  }
}

}  // namespace

TEST_CASE("drafts change no bit of a text", "[generate][speculative]") {
  // Random models, caches, samplers, ends of texts, drafters, lengths of drafts and preemptions.
  const char* all_seeds = std::getenv("H5_SEEDS");
  for (std::uint32_t seed = 0; seed < (all_seeds ? std::stoul(all_seeds) : 24); ++seed) {
    Numbers numbers(seed);
    const std::string_view kernels[]{"auto", "i8", "i4"};
    const AnyModel model = random_model(seed, kernels[seed % 3]);
    EngineOptions engine = testing::small_engine();
    engine.cache = std::string(cache_names[seed % cache_names.size()]);
    engine.cache_dtype = std::string(cache_dtype_names[1 + numbers.below(3)]);
    engine.sequence_length = 48 + 16 * numbers.below(3);
    engine.window = 24 + numbers.below(16);
    engine.prefill_chunk = 4 + numbers.below(16);
    engine.max_sequences = 3 + numbers.below(3);
    engine.cache_positions = 64 * (1 + numbers.below(4));
    engine.share_prefixes = engine.cache == "paged" && numbers.below(2) == 0;
    const auto pipeline = testing::pipeline_of(model, "", engine);

    GenerationOptions options;
    options.max_new_tokens = 1 + numbers.below(60);
    options.num_return_sequences = 1 + numbers.below(2);
    options.log_probabilities = options.return_logits = true;
    options.seed = seed;
    options.sampling.do_sample = numbers.below(3) != 0;
    options.sampling.temperature = 0.2f + numbers.between(0, 1);
    options.sampling.top_k = numbers.below(2) == 0 ? 0 : static_cast<int>(1 + numbers.below(40));
    options.sampling.repetition_penalty = numbers.below(2) == 0 ? 1.0f : 1.1f;
    options.sampling.presence_penalty = numbers.below(2) == 0 ? 0.0f : 0.4f;
    options.sampling.min_new_tokens = static_cast<int>(numbers.below(8));
    const std::vector<std::string> prompts{"the answer", "in 12 1212 and", "one two one two one"};
    const Texts all = generate(*pipeline, prompts, options, 0);
    const auto& text = all.generations[numbers.below(all.generations.size())];
    if (numbers.below(3) == 0) options.stop = {text.text.substr(text.text.size() / 2, 2)};
    if (!options.stop.empty() && options.stop[0].empty()) options.stop.clear();
    options.sampling.eos = {text.tokens[numbers.below(text.tokens.size())]};
    options.force_max_tokens = numbers.below(3) == 0;
    const Texts plain = generate(*pipeline, prompts, options, 0);

    std::vector<std::vector<Token>> known;
    for (std::size_t i = 0; i < plain.generations.size(); ++i) {
      known.push_back(pipeline->tokenizer().encode(prompts[i / options.num_return_sequences],
                                                   {.add_special_tokens = options.add_special_tokens}));
      known.back().insert(known.back().end(), plain.generations[i].tokens.begin(), plain.generations[i].tokens.end());
    }
    for (std::uint32_t kind = 0; kind < 6; ++kind) {
      const SpeculationOptions speculation{numbers.below(17), numbers.below(3) == 0};
      CAPTURE(seed, kind, speculation.max_tokens, speculation.adaptive, engine.cache);
      std::unique_ptr<Speculation<Policies>> drafts;
      switch (kind) {
        case 0: drafts = speculation_of(NgramDrafter(1), speculation); break;
        case 1: drafts = speculation_of(NoisyOracle(known, 0.8, seed), speculation); break;
        case 2: drafts = speculation_of(NoisyOracle(known, 1, seed), speculation); break;
        case 3: drafts = model_speculation(model, engine, speculation, false, numbers.below(2) == 0); break;
        case 4: drafts = model_speculation(random_model(seed, "i4"), engine, speculation, true, true); break;
        default: drafts = model_speculation(random_model(seed + 100), engine, speculation, numbers.below(2) == 0);
      }
      pipeline->engine().speculate(std::move(drafts));
      require_equal(generate(*pipeline, prompts, options, kind % 2 == 0 ? 0 : seed + 1), plain);
      const SpeculationFigures& figures = pipeline->engine().speculation()->figures();
      CHECK(figures.accepted <= figures.examined);
      CHECK(figures.accepted + figures.passes >= figures.tokens);
      if (speculation.max_tokens == 0) CHECK(figures.drafted == 0);
      if (options.sampling.do_sample) continue;
      options.verification = Verification::rejection;  // of a greedy choice: the same
      require_equal(generate(*pipeline, prompts, options, 0), plain);
      options.verification = Verification::coupled;
    }
    pipeline->engine().speculate(nullptr);
  }
}

TEST_CASE("right drafts save passes and are counted", "[generate][speculative]") {
  const auto pipeline = testing::pipeline_of(random_model(1), "", testing::small_engine());
  GenerationOptions options;
  options.max_new_tokens = 33;
  options.force_max_tokens = true;
  const std::string prompt = "the answer";
  const GeneratedText plain = (*pipeline)(prompt, options).generations[0];
  std::vector<Token> text = pipeline->tokenizer().encode(prompt, {.add_special_tokens = true});
  text.insert(text.end(), plain.tokens.begin(), plain.tokens.end());

  pipeline->engine().speculate(speculation_of(Oracle(text), {7, false}));
  const GeneratedText drafted = (*pipeline)(prompt, options).generations[0];
  CHECK(drafted.tokens == plain.tokens);
  CHECK(drafted.draft_tokens == 28);
  CHECK(drafted.accepted_draft_tokens == 28);
  const SpeculationFigures& figures = pipeline->engine().speculation()->figures();
  CHECK(figures.passes == 5);  // the prompt's, and four with drafts of 7
  CHECK(figures.mean_accepted() == Catch::Approx(33.0 / 5 - 1));
  CHECK(figures.acceptance() == 1);
  CHECK(figures.histogram == std::vector<std::size_t>{1, 0, 0, 0, 0, 0, 0, 4});
}

TEST_CASE("adaptive drafts begin behind a prompt of a single token, with two tokens", "[generate][speculative]") {
  const auto pipeline = testing::pipeline_of(random_model(1), "", testing::small_engine());
  GenerationOptions options;
  options.max_new_tokens = 20;
  options.force_max_tokens = true;
  const GeneratedText plain = (*pipeline)("a", options).generations[0];
  std::vector<Token> text = pipeline->tokenizer().encode("a", {.add_special_tokens = true});
  REQUIRE(text.size() == 1);
  text.insert(text.end(), plain.tokens.begin(), plain.tokens.end());
  auto speculation = speculation_of(Oracle(text), {7, true});
  const Oracle& oracle = speculation->drafter();
  pipeline->engine().speculate(std::move(speculation));
  const GeneratedText drafted = (*pipeline)("a", options).generations[0];
  CHECK(drafted.tokens == plain.tokens);
  CHECK(oracle.first_length() == 2);
  CHECK(drafted.accepted_draft_tokens >= 2);
}

TEST_CASE("an error of a drafter leaves none of its drafts behind", "[generate][speculative]") {
  class FailsOnce {
   public:
    explicit FailsOnce(std::unique_ptr<Engine> engine) : drafter_(std::move(engine)) {}
    void begin(Draft<SamplerChain>& draft) { drafter_.begin(draft); }
    void extend(std::span<Draft<SamplerChain>* const> drafts) {
      if (!std::exchange(failed_, true)) throw std::bad_alloc();
      drafter_.extend(drafts);
    }
    void end(Draft<SamplerChain>& draft) { drafter_.end(draft); }

   private:
    ModelDrafter<Engine, SamplerChain> drafter_;
    bool failed_ = false;
  };
  const AnyModel model = random_model(1);
  const auto pipeline = testing::pipeline_of(model, "", testing::small_engine());
  const std::vector<std::string> prompts{"the answer", "one two one"};
  GenerationOptions options;
  options.max_new_tokens = 16;
  options.force_max_tokens = true;
  const Texts plain = generate(*pipeline, prompts, options, 0);
  pipeline->engine().speculate(
      speculation_of(FailsOnce(make_engine(model, testing::small_engine(), vocabulary)), {5, false}));
  CHECK_THROWS_AS(generate(*pipeline, prompts, options, 0), std::bad_alloc);
  require_equal(generate(*pipeline, prompts, options, 0), plain);
  CHECK(pipeline->engine().speculation()->figures().acceptance() == 1);
}

namespace {

/// Draws from a distribution over five tokens that the history alone decides. `claimed`: what it says it drew from.
class OwnLaw {
 public:
  explicit OwnLaw(bool honest) : honest_(honest) {}

  void begin(Draft<SamplerChain>&) noexcept {}
  void extend(std::span<Draft<SamplerChain>* const> drafts) {
    for (Draft<SamplerChain>* draft : drafts) {
      std::vector<Token> history(draft->context.history.begin(), draft->context.history.end());
      history.insert(history.end(), draft->tokens.begin(), draft->tokens.end());
      std::vector<float> law = law_of(history);
      const Token token =
          draw(law, 1, uniform(draft->context.seed, draft->context.sequence, static_cast<Position>(history.size())));
      if (!honest_) law.assign(5, 0.2f);
      draft->distributions.insert(draft->distributions.end(), law.begin(), law.end());
      draft->add(token, law[static_cast<std::size_t>(token)]);
      draft->ended = draft->ended || law[static_cast<std::size_t>(token)] < 0.1f;
    }
  }
  void end(Draft<SamplerChain>&) noexcept {}

 private:
  static std::vector<float> law_of(std::span<const Token> history) {
    std::uint32_t seed = 17;
    for (const Token token : history) seed = seed * 31 + static_cast<std::uint32_t>(token);
    Numbers numbers(seed);
    std::vector<float> law(5);
    float sum = 0;
    for (float& each : law) sum += each = numbers.between(0.02f, 1);
    for (float& each : law) each /= sum;
    return law;
  }
  bool honest_;
};

constexpr std::size_t law_tokens = 5, law_length = 3;

/// The probabilities of all texts of three tokens.
std::vector<double> joint_law(Engine& engine, const std::vector<Token>& prompt, const SamplerChain& sampler) {
  std::vector<double> law(1, 1);
  std::vector<std::vector<Token>> prefixes{prompt};
  for (std::size_t length = 0; length < law_length; ++length) {
    std::vector<double> longer;
    std::vector<std::vector<Token>> extended;
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      const std::vector<float> logits = testing::prompt_logits(engine, prefixes[i]);
      std::vector<float> row(logits.end() - static_cast<std::ptrdiff_t>(vocabulary), logits.end());
      row.resize(law_tokens);
      sampler.distribution(row, {prefixes[i], prompt.size(), static_cast<Position>(prefixes[i].size()), 0, 0});
      for (std::size_t token = 0; token < law_tokens; ++token) {
        longer.push_back(law[i] * static_cast<double>(row[token]));
        extended.push_back(prefixes[i]);
        extended.back().push_back(static_cast<Token>(token));
      }
    }
    law = std::move(longer);
    prefixes = std::move(extended);
  }
  return law;
}

double chi_square(Engine& engine, const std::vector<Token>& prompt, const SamplerChain& sampler,
                  const std::vector<double>& law, std::uint64_t count, Verification verification) {
  std::vector<double> found(law.size());
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    SequenceOptions options;
    options.max_new_tokens = law_length;
    options.seed = seed;
    options.verification = verification;
    const SequenceId id = engine.start(prompt, sampler, options);
    std::size_t cell = 0;
    for (const Token token : testing::finish_sequence(engine, id).tokens) {
      cell = cell * law_tokens + static_cast<std::size_t>(token);
    }
    engine.sequences().release(id);
    ++found[cell];
  }
  double sum = 0;
  for (std::size_t cell = 0; cell < law.size(); ++cell) {
    const double expected = law[cell] * static_cast<double>(count);
    sum += (found[cell] - expected) * (found[cell] - expected) / expected;
  }
  return sum;
}

}  // namespace

TEST_CASE("texts of rejection sampling have the joint law of the model", "[generate][speculative]") {
  constexpr std::uint64_t count = 4000;
  constexpr double limit = 124 + 5 * 15.7;  // 124 degrees of freedom: mean and five standard deviations
  const auto engine = make_engine(random_model(5), testing::small_engine(), law_tokens);
  const std::vector<Token> prompt{7, 8, 9};
  SamplingOptions options;
  options.do_sample = true;
  options.temperature = 2;
  options.presence_penalty = 0.5f;
  const SamplerChain sampler(options);
  const std::vector<double> law = joint_law(*engine, prompt, sampler);
  for (const auto& speculation : {SpeculationOptions{3, false}, SpeculationOptions{3, true}}) {
    engine->speculate(speculation_of(OwnLaw(true), speculation));
    CHECK(chi_square(*engine, prompt, sampler, law, count, Verification::rejection) < limit);
    const SpeculationFigures& figures = engine->speculation()->figures();
    if (!speculation.adaptive) CHECK(figures.acceptance() > 0.4);
    if (!speculation.adaptive) CHECK(figures.acceptance() < 0.95);
  }
  // Another model drafts, with its own distributions.
  EngineOptions small = testing::small_engine();
  auto other = make_engine(random_model(6), small, law_tokens);
  other->speculate(speculation_of(NgramDrafter(1), {2, false}));
  engine->speculate(speculation_of(ModelDrafter<Engine, SamplerChain>(std::move(other)), {2, false}));
  CHECK(chi_square(*engine, prompt, sampler, law, count, Verification::rejection) < limit);

  // Drafts that were drawn from something else than they say.
  engine->speculate(speculation_of(OwnLaw(false), {3, false}));
  CHECK(chi_square(*engine, prompt, sampler, law, count, Verification::rejection) > 2 * limit);
}
