// SPDX-License-Identifier: Apache-2.0
/// \file The thread that owns a model: requests of any number of clients in one batch (L6).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <tulle/generate/text_generation.hpp>
#include <tulle/grammar/grammars.hpp>
#include <tulle/serve/generation_job.hpp>

namespace tulle::serve {

class RunningJob;

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
  /// Requests beyond `max_queue` that would wait for a sequence are refused. Errors: those of `TextGeneration`.
  ModelWorker(TextGeneration pipeline, std::size_t max_queue, MakeGrammars make_grammars = {});
  ModelWorker(const ModelWorker&) = delete;
  ModelWorker& operator=(const ModelWorker&) = delete;
  /// Cancels what still runs.
  ~ModelWorker();

  const TextGeneration& pipeline() const noexcept { return pipeline_; }  ///< its constants; the engine is the thread's
  const Tokenizer& tokenizer() const noexcept { return pipeline_.tokenizer(); }
  const std::vector<Token>& chat_ends() const noexcept { return chat_ends_; }
  Position capacity() noexcept;  ///< tokens of prompt and text together

  /// Made by the first call. Errors: unsupported without `make_grammars`, and its own.
  Grammars& grammars();

  /// Queues a request. Errors: ApiError 429 when the queue is full, 503 when the worker stops.
  std::shared_ptr<GenerationJob> submit(GenerationRequest request);

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
  void stop(std::chrono::milliseconds patience);

 private:
  void run();
  void begin(std::shared_ptr<GenerationJob> job);
  void pass();
  void count(const RunningJob& job);
  void report();
  void place(std::size_t texts) noexcept;

  TextGeneration pipeline_;
  const std::vector<Token> chat_ends_;
  const std::size_t max_queue_;
  const MakeGrammars make_grammars_;
  std::mutex grammars_mutex_;
  std::unique_ptr<Grammars> grammars_;
  mutable std::mutex mutex_;  // of all below but jobs_
  std::condition_variable changed_;
  std::vector<std::shared_ptr<GenerationJob>> arrivals_;
  std::size_t room_, queued_ = 0;  // sequences that no request will take; requests that have to wait for one
  bool stopping_ = false, idle_ = false;
  std::atomic<bool> cancel_all_ = false;
  WorkerFigures figures_;
  std::vector<RequestFigures> requests_;
  std::vector<std::unique_ptr<RunningJob>> jobs_;  // of the thread alone
  std::thread thread_;
};

}  // namespace tulle::serve

#ifndef TULLE_SERVE_COMPILED
#include <tulle/serve/model_worker_inline.hpp>
#endif
