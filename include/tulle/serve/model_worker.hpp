// SPDX-License-Identifier: Apache-2.0
/// \file The thread that owns a model: requests of any number of clients in one batch (L6).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tulle/generate/text_generation.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/generation_job.hpp>
#include <tulle/serve/running_job.hpp>

namespace tulle::serve {

/// What a worker has done and does.
struct WorkerFigures {
  std::size_t running = 0, waiting = 0;  ///< requests now
  std::size_t finished = 0, cancelled = 0, failed = 0, refused = 0;
  std::size_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  std::size_t preemptions = 0;  ///< of sequences, whose tokens are run again
  double busy_seconds = 0;      ///< in forward passes
};

/// A request that runs or waits.
struct RequestFigures {
  bool runs = false;
  std::size_t texts = 0, prompt_tokens = 0, generated_tokens = 0;
};

/// Continuous batching: each forward pass holds rows of all requests that run, and a request joins or leaves between
/// two passes. Its text does not depend on its neighbours.
/// Threads: all members may be called from any thread.
class ModelWorker {
 public:
  /// Requests beyond `max_queue` that wait are refused. Errors: those of `TextGeneration`.
  ModelWorker(TextGeneration pipeline, std::size_t max_queue)
      : pipeline_(std::move(pipeline)), max_queue_(max_queue), thread_([this] { run(); }) {}
  ModelWorker(const ModelWorker&) = delete;
  ModelWorker& operator=(const ModelWorker&) = delete;
  /// Cancels what still runs.
  ~ModelWorker() {
    stop(std::chrono::seconds(0));
    thread_.join();
  }

  const TextGeneration& pipeline() const noexcept { return pipeline_; }  ///< its constants; the engine is the thread's
  const Tokenizer& tokenizer() const noexcept { return pipeline_.tokenizer(); }
  Position capacity() noexcept { return pipeline_.engine().capacity(); }  ///< tokens of prompt and text together

  /// Queues a request. Errors: ApiError 429 when the queue is full, 503 when the worker stops.
  std::shared_ptr<GenerationJob> submit(GenerationRequest request) {
    auto job = std::make_shared<GenerationJob>(std::move(request));
    const std::lock_guard lock(mutex_);
    if (stopping_) throw ApiError(503, "the server is shutting down");
    if (figures_.waiting >= max_queue_) {
      ++figures_.refused;
      throw ApiError(429, "too many requests are waiting; try again in a moment", {}, "queue_full");
    }
    ++figures_.waiting;
    arrivals_.push_back(job);
    changed_.notify_all();
    return job;
  }

  WorkerFigures figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }
  std::vector<RequestFigures> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  /// Takes no more requests. Those that are there are finished, or cancelled after `patience`. Returns when none is
  /// left.
  void stop(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    const auto idle = [this] { return idle_; };
    if (!changed_.wait_for(lock, patience, idle)) {
      cancel_all_ = true;
      changed_.wait(lock, idle);
    }
  }

 private:
  void run() {
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

  void begin(std::shared_ptr<GenerationJob> job) {
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

  void pass() {
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
    }
    std::erase(jobs_, nullptr);
    for (const auto& job : ended) job->hand_over();
  }

  void count(const RunningJob& job) {
    const GenerationSummary& summary = job.summary();
    figures_.prompt_tokens += summary.prompt_tokens;
    figures_.cached_tokens += summary.cached_tokens;
    figures_.generated_tokens += summary.generated_tokens;
    ++(job.failed() ? figures_.failed : job.cancelled() ? figures_.cancelled : figures_.finished);
  }

  void report() {
    figures_.running = 0;
    requests_.clear();
    for (const auto& job : jobs_) {
      const GenerationSummary& summary = job->summary();
      requests_.push_back({job->begun(), job->texts(), summary.prompt_tokens, summary.generated_tokens});
      figures_.running += job->begun() ? 1 : 0;
    }
  }

  TextGeneration pipeline_;
  const std::size_t max_queue_;
  mutable std::mutex mutex_;  // of all below but jobs_
  std::condition_variable changed_;
  std::vector<std::shared_ptr<GenerationJob>> arrivals_;
  bool stopping_ = false, idle_ = false;
  std::atomic<bool> cancel_all_ = false;
  WorkerFigures figures_;
  std::vector<RequestFigures> requests_;
  std::vector<std::unique_ptr<RunningJob>> jobs_;  // of the thread alone
  std::thread thread_;
};

}  // namespace tulle::serve
