// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for model_worker.hpp (L6).
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/text_generation.hpp>
#include <tulle/grammar/grammars.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/compiled.hpp>
#include <tulle/serve/generation_job.hpp>
#include <tulle/serve/model_worker.hpp>
#include <tulle/serve/running_job.hpp>

namespace tulle::serve {

TULLE_SERVE_INLINE ModelWorker::ModelWorker(TextGeneration pipeline, std::size_t max_queue, MakeGrammars make_grammars)
    : pipeline_(std::move(pipeline)),
      chat_ends_(pipeline_.chat_ends()),
      max_queue_(max_queue),
      make_grammars_(std::move(make_grammars)),
      room_(pipeline_.engine().sequences().free()),
      thread_([this] { run(); }) {}

TULLE_SERVE_INLINE ModelWorker::~ModelWorker() {
  stop(std::chrono::seconds(0));
  thread_.join();
}

TULLE_SERVE_INLINE Position ModelWorker::capacity() noexcept {
  return pipeline_.engine().capacity();
}

TULLE_SERVE_INLINE Grammars& ModelWorker::grammars() {
  const std::lock_guard lock(grammars_mutex_);
  if (!grammars_ && !make_grammars_)
    fail(ErrorCode::unsupported, "this server has no grammars to constrain texts with");
  if (!grammars_) grammars_ = make_grammars_(pipeline_.tokenizer(), pipeline_.engine().vocabulary());
  return *grammars_;
}

TULLE_SERVE_INLINE std::shared_ptr<GenerationJob> ModelWorker::submit(GenerationRequest request) {
  auto job = std::make_shared<GenerationJob>(std::move(request));
  const std::size_t texts = job->request.options.num_return_sequences;
  const std::lock_guard lock(mutex_);
  if (stopping_) throw ApiError(503, "the server is shutting down");
  const bool waits = queued_ != 0 || texts > room_;
  if (waits && queued_ >= max_queue_) {
    ++figures_.refused;
    throw ApiError(429, "too many requests are waiting; try again in a moment", {}, "queue_full");
  }
  place(texts);
  ++figures_.waiting;
  arrivals_.push_back(job);
  changed_.notify_all();
  return job;
}

TULLE_SERVE_INLINE void ModelWorker::stop(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  const auto idle = [this] { return idle_; };
  if (!changed_.wait_for(lock, patience, idle)) {
    cancel_all_ = true;
    changed_.wait(lock, idle);
  }
}

TULLE_SERVE_INLINE void ModelWorker::run() {
  for (;;) {
    std::vector<std::shared_ptr<GenerationJob>> arrivals;
    {
      std::unique_lock lock(mutex_);
      report();
      changed_.wait(lock, [this] { return stopping_ || !arrivals_.empty() || !jobs_.empty(); });
      arrivals = std::exchange(arrivals_, {});
      if (arrivals.empty() && jobs_.empty()) {
        idle_ = true;
        changed_.notify_all();
        return;
      }
    }
    for (auto& job : arrivals) begin(std::move(job));
    if (!jobs_.empty()) pass();
  }
}

TULLE_SERVE_INLINE void ModelWorker::begin(std::shared_ptr<GenerationJob> job) {
  try {
    jobs_.push_back(std::make_unique<RunningJob>(pipeline_.engine(), pipeline_.tokenizer(), job));
    job->take();
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      --figures_.waiting;
      ++figures_.failed;
    }
    job->fail(std::current_exception());
  }
}

TULLE_SERVE_INLINE void ModelWorker::pass() {
  if (cancel_all_) {
    for (const auto& job : jobs_) job->cancel();
  }
  for (const auto& job : jobs_) job->check_time();
  const auto began = GenerationJob::Clock::now();
  try {
    pipeline_.engine().step();
  } catch (...) {
    for (const auto& job : jobs_) job->fail(std::current_exception());
  }
  const auto seconds = std::chrono::duration<double>(GenerationJob::Clock::now() - began).count();
  for (const auto& job : jobs_) job->deliver(began);
  std::vector<std::unique_ptr<RunningJob>> ended;
  {
    const std::lock_guard lock(mutex_);
    figures_.busy_seconds += seconds;
    figures_.preemptions = pipeline_.engine().sequences().preemptions();
    for (auto& job : jobs_) {
      if (job->just_began()) --figures_.waiting;
      if (!job->ended()) continue;
      count(*job);
      ended.push_back(std::move(job));
    }
    std::erase(jobs_, nullptr);
    report();  // a reader that asks again finds the room that its text gave back
  }
  for (const auto& job : ended) job->hand_over();
}

TULLE_SERVE_INLINE void ModelWorker::count(const RunningJob& job) {
  const GenerationSummary& summary = job.summary();
  figures_.prompt_tokens += summary.prompt_tokens;
  figures_.cached_tokens += summary.cached_tokens;
  figures_.generated_tokens += summary.generated_tokens;
  ++(job.failed() ? figures_.failed : job.cancelled() ? figures_.cancelled : figures_.finished);
}

TULLE_SERVE_INLINE void ModelWorker::report() {
  figures_.running = queued_ = 0;
  room_ = pipeline_.engine().sequences().free();
  requests_.clear();
  for (const auto& job : jobs_) {
    if (!job->begun()) place(job->copies());
    const GenerationSummary& summary = job->summary();
    requests_.push_back({job->begun(), job->texts(), summary.prompt_tokens, summary.generated_tokens});
    figures_.running += job->begun() ? 1 : 0;
  }
  for (const auto& job : arrivals_) place(job->request.options.num_return_sequences);
}

/// A request that has not begun, with `texts` of a prompt, in order of arrival: takes its sequences, or waits for them.
TULLE_SERVE_INLINE void ModelWorker::place(std::size_t texts) noexcept {
  if (queued_ == 0 && texts <= room_) {
    room_ -= texts;
  } else {
    ++queued_;
  }
}

}  // namespace tulle::serve
