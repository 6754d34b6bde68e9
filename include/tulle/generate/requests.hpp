// SPDX-License-Identifier: Apache-2.0
/// \file Prompts that wait for a sequence, and completions that sequences fill (L4).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include <tulle/generate/completion.hpp>
#include <tulle/generate/generator.hpp>

namespace tulle {

/// All that is generated with one generator, by any number of callers: whoever steps it, every token goes to the
/// completion of its sequence. Prompts wait in order of arrival until as many sequences are free as they have
/// completions.
///
/// Completions must stay in place until they are finished or ended, those of `resume` until they are ended.
/// Threads: one at a time.
template <class GeneratorType>
class Requests {
 public:
  using Sampling = typename GeneratorType::Sampling;

  /// `generator` must outlive it.
  explicit Requests(GeneratorType& generator) : generator_(generator), filled_(generator.sequences().size()) {}

  bool running() const noexcept { return !waiting_.empty() || generator_.running(); }

  /// Continues a prompt once for every completion. They share its prefill and draw from consecutive random streams.
  /// Errors: those of `Sequences::check`, invalid_argument without tokens, capacity for more completions than
  /// sequences.
  void submit(std::vector<Token> prompt, Sampling sampling, SequenceOptions options,
              std::span<Completion> completions) {
    if (prompt.empty()) fail(ErrorCode::invalid_argument, "the prompt is empty; give at least one token");
    generator_.sequences().check(prompt);
    if (completions.size() > filled_.size()) {
      fail(ErrorCode::capacity, completions.size(), " continuations of a prompt do not fit the engine's ",
           filled_.size(), " sequences; ask for fewer or for a larger engine");
    }
    waiting_.push_back({std::move(prompt), std::move(sampling), std::move(options), completions});
  }

  /// Continues an open sequence, which stays open afterwards, with more tokens (perhaps none).
  /// Errors: those of `Sequences::append` and `Generator::run`, which leave the sequence as it was.
  void resume(SequenceId id, std::span<const Token> tokens, Sampling sampling, SequenceOptions options,
              Completion& completion) {
    auto& sequences = generator_.sequences();
    const std::size_t before = sequences.history(id).size();
    options.prompt_from = static_cast<Position>(before);
    sequences.append(id, tokens);
    try {
      generator_.run(id, std::move(sampling), std::move(options));
    } catch (...) {
      sequences.truncate(id, before);
      throw;
    }
    fill(id, completion, before + tokens.size(), true);
  }

  /// One step of everything that runs. Its errors are those of `Generator::step`; what goes wrong for one completion
  /// alone is thrown where that is read.
  StepReport step(const LogitsObserver& observe = {}) {
    admit();
    const auto show = [this, &observe](SequenceId id, Position position, std::span<const float> logits) {
      if (observe) observe(id, position, logits);
      if (Completion* completion = filled_[id].completion) completion->observe(position, logits);
    };
    const StepReport report = generator_.step(generator_.plan(), show);
    for (const Emission& emission : report.emissions) split(emission.sequence, &emission);
    for (std::size_t at = 0; at < report.emissions.size(); ++at) {
      const Emission& emission = report.emissions[at];
      Completion* completion = filled_[emission.sequence].completion;
      if (completion == nullptr) continue;
      if (completion->tokens() == 0) completion->set_cached_prompt_tokens(cached_prompt_tokens(emission.sequence));
      completion->accept(emission);
      if (!completion->finished()) continue;
      const std::size_t behind = emissions_behind(report.emissions, at);
      completion->forget_logits(behind);
      at += behind;
      if (filled_[emission.sequence].stays) {
        settle(emission.sequence);
      } else {
        leave(emission.sequence);
      }
    }
    return report;
  }

  /// Takes a completion out, where it waits (then all of its prompt) or is filled. Its sequence is released, or, where
  /// it was resumed, stays with the tokens of the completion.
  void end(Completion& completion) noexcept {
    if (const auto id = completion.sequence(); id && filled_[*id].completion == &completion) {
      split(*id, nullptr);
      leave(*id);
    } else if (!completion.finished()) {
      std::erase_if(waiting_, [&](const Request& each) {
        return std::any_of(each.completions.begin(), each.completions.end(),
                           [&](const Completion& one) { return &one == &completion; });
      });
      completion.leave();
    }
  }

 private:
  struct Request {
    std::vector<Token> prompt;
    Sampling sampling;
    SequenceOptions options;
    std::span<Completion> completions;
  };
  struct Filled {
    Completion* completion = nullptr;
    std::size_t prompt_length = 0;  // of the history
    bool stays = false;             // open, when the completion ends
  };
  /// An open sequence that becomes a copy of another as soon as that has its first token.
  struct Fork {
    SequenceId from, to;
    Sampling sampling;
    SequenceOptions options;
  };

  /// Tokens of the same sequence behind emission `at`: accepted drafts that the text ends before.
  static std::size_t emissions_behind(std::span<const Emission> emissions, std::size_t at) noexcept {
    std::size_t end = at + 1;
    while (end < emissions.size() && emissions[end].sequence == emissions[at].sequence) ++end;
    return end - at - 1;
  }

  void fill(SequenceId id, Completion& completion, std::size_t prompt_length, bool stays) noexcept {
    filled_[id] = {&completion, prompt_length, stays};
    completion.enter(id);
  }

  void leave(SequenceId id) noexcept {
    if (filled_[id].stays) {
      settle(id);
    } else {
      generator_.sequences().release(id);
    }
    std::exchange(filled_[id], {}).completion->leave();
    std::erase_if(forks_, [&](const Fork& each) { return each.to == id; });
  }

  /// A resumed sequence stops and keeps the tokens of its completion.
  void settle(SequenceId id) noexcept {
    generator_.sequences().stop(id);
    generator_.sequences().truncate(id, filled_[id].prompt_length + filled_[id].completion->tokens());
  }

  /// What the sequence of a completion adopted, without the history before its prompt.
  std::size_t cached_prompt_tokens(SequenceId id) const {
    const Filled& filled = filled_[id];
    const std::size_t before = filled.prompt_length - filled.completion->prompt_tokens();
    const std::size_t adopted = generator_.sequences().adopted(id);
    return adopted - std::min(adopted, before);
  }

  void admit() {
    std::erase_if(waiting_, [](const Request& each) {
      if (each.options.cancel == nullptr || !each.options.cancel->load(std::memory_order_relaxed)) return false;
      for (Completion& completion : each.completions) completion.accept({0, -1, FinishReason::cancelled, 0});
      return true;
    });
    while (!waiting_.empty()) {
      const bool fits = generator_.sequences().free() >= waiting_.front().completions.size();
      if (!fits && generator_.running()) return;
      Request request = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
      try {
        if (!fits) fail_without_room(request.completions.size());
        start(request);
      } catch (...) {
        for (Completion& completion : request.completions) {
          completion.fail(std::current_exception());
          if (completion.sequence()) leave(*completion.sequence());
        }
      }
    }
  }

  void start(const Request& request) {
    SequenceOptions options = request.options;
    const SequenceId first = generator_.start(request.prompt, request.sampling, options);
    fill(first, request.completions.front(), request.prompt.size(), false);
    options.prompt_logits = false;
    for (Completion& completion : request.completions.subspan(1)) {
      const SequenceId id = generator_.sequences().open();
      fill(id, completion, request.prompt.size(), false);
      ++options.rng_stream;
      forks_.push_back({first, id, request.sampling, options});
    }
  }

  [[noreturn]] void fail_without_room(std::size_t needed) const {
    tulle::fail(ErrorCode::capacity, generator_.sequences().free(), " of the engine's ", filled_.size(),
                " sequences are free and ", needed, " are needed; end a session or ask for a larger engine");
  }

  /// Lets the forks of a sequence go their own ways: from the end of its prompt, or, where it ended without a token, to
  /// the same end.
  void split(SequenceId from, const Emission* emission) noexcept {
    for (std::size_t i = 0; i < forks_.size();) {
      if (forks_[i].from != from) {
        ++i;
        continue;
      }
      Fork fork = std::move(forks_[i]);
      forks_.erase(forks_.begin() + static_cast<std::ptrdiff_t>(i));
      const Filled& to = filled_[fork.to];
      go_on(fork, to, emission);
      if (to.completion->finished()) leave(fork.to);
    }
  }

  void go_on(Fork& fork, const Filled& to, const Emission* emission) noexcept try {
    if (filled_[fork.from].completion != nullptr) to.completion->share_logits(*filled_[fork.from].completion);
    if (emission != nullptr && emission->token < 0) {
      to.completion->accept({fork.to, -1, emission->finish, 0});
      return;
    }
    generator_.sequences().fork(fork.from, fork.to);
    generator_.sequences().truncate(fork.to, to.prompt_length);
    generator_.run(fork.to, std::move(fork.sampling), std::move(fork.options));
  } catch (...) {
    to.completion->fail(std::current_exception());
  }

  GeneratorType& generator_;
  std::vector<Request> waiting_;  // in order of arrival
  std::vector<Filled> filled_;    // [sequences]
  std::vector<Fork> forks_;
};

}  // namespace tulle
