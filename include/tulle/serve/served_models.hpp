// SPDX-License-Identifier: Apache-2.0
/// \file The models of a server: loaded when they are first used, unloaded when they are not (L6).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/generate/draft/draft_name.hpp>
#include <tulle/grammar/grammars.hpp>
#include <tulle/hub/resolve_model.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/model_worker.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

/// Threads: all members may be called from any thread.
class ServedModels {
 public:
  using Clock = std::chrono::steady_clock;

  /// Errors: invalid_argument for no model, and for two of one name.
  explicit ServedModels(const ServerOptions& options) : options_(options) {
    for (const ModelSettings& settings : options.models) {
      for (const auto& other : entries_) {
        if (other->settings.id == settings.id) {
          fail(ErrorCode::invalid_argument, "two models are named \"", settings.id, "\"; give one another name");
        }
      }
      entries_.push_back(std::make_unique<Entry>(settings));
    }
    if (entries_.empty()) fail(ErrorCode::invalid_argument, "there is no model to serve");
    if (options.unload_time.count() != 0) sweeper_ = std::thread([this] { sweep(); });
  }
  ServedModels(const ServedModels&) = delete;
  ServedModels& operator=(const ServedModels&) = delete;
  ~ServedModels() {
    stop(std::chrono::seconds(0));
    if (sweeper_.joinable()) sweeper_.join();
  }

  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const auto& entry : entries_) ids.push_back(entry->settings.id);
    return ids;
  }

  /// Loads what is not loaded. Errors: those of loading.
  void load_all() {
    for (const auto& entry : entries_) (void)loaded(*entry);
  }

  /// What serves a request; the model stays loaded while it is held.
  struct Held {
    std::shared_ptr<ModelWorker> worker;
    ServedModel model;
  };
  /// `id` may be empty where there is one model. Errors: ApiError 404 for an unknown name; 503 when the model cannot be
  /// loaded, and for all models as soon as they are stopped.
  Held acquire(std::string_view id) {
    refuse_when_stopping();
    Entry& entry = find(id);
    std::shared_ptr<ModelWorker> worker;
    try {
      worker = loaded(entry);
    } catch (const Error& error) {
      throw ApiError(503, std::string("the model cannot be loaded: ") + error.what());
    }
    const std::size_t texts = entry.settings.options.engine.max_sequences;
    return {worker,
            {entry.settings.id, worker->tokenizer(), worker->pipeline().chat_template(), worker->chat_ends(),
             worker->capacity(), texts, [held = worker.get()]() -> Grammars& { return held->grammars(); }}};
  }
  const ModelSettings& settings(std::string_view id) { return find(id).settings; }

  /// Calls visit(id, worker) for each model; the worker is null where it is not loaded.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& entry : entries_) visit(entry->settings.id, entry->current().get());
  }

  /// Ends the work of all models; see `ModelWorker::stop`.
  void stop(std::chrono::milliseconds patience) {
    {
      const std::lock_guard lock(stop_mutex_);
      stopping_ = true;
      stopped_.notify_all();
    }
    const auto end = Clock::now() + patience;
    for (const auto& entry : entries_) {
      const auto worker = entry->current();
      if (!worker) continue;
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      worker->stop(std::max(left, std::chrono::milliseconds(0)));
    }
  }

 private:
  struct Entry {
    explicit Entry(ModelSettings model) : settings(std::move(model)) {}
    const ModelSettings settings;
    std::mutex loading;        // held by the one who loads; others wait for him
    mutable std::mutex mutex;  // of what follows, never held for long
    std::shared_ptr<ModelWorker> worker;
    Clock::time_point used = Clock::now();

    std::shared_ptr<ModelWorker> current() const {
      const std::lock_guard lock(mutex);
      return worker;
    }
    /// The worker, for use.
    std::shared_ptr<ModelWorker> take() {
      const std::lock_guard lock(mutex);
      used = Clock::now();
      return worker;
    }
  };

  Entry& find(std::string_view id) const {
    if (id.empty() && entries_.size() == 1) return *entries_.front();
    for (const auto& entry : entries_) {
      if (entry->settings.id == id) return *entry;
    }
    if (id.empty()) throw ApiError(400, "\"model\" is missing; /v1/models lists those that are here", "model");
    throw ApiError(404, "The model `" + std::string(id) + "` does not exist.", "model", "model_not_found");
  }

  std::shared_ptr<ModelWorker> loaded(Entry& entry) {
    if (auto worker = entry.take()) return worker;
    const std::lock_guard loading(entry.loading);
    if (auto worker = entry.take()) return worker;
    refuse_when_stopping();
    const ModelSettings& settings = entry.settings;
    auto worker = std::make_shared<ModelWorker>(options_.load ? options_.load(settings) : load_model(settings),
                                                options_.max_queue, options_.grammars);
    const std::lock_guard lock(entry.mutex);
    refuse_when_stopping();  // either here, or `stop` finds the worker
    entry.used = Clock::now();
    return entry.worker = std::move(worker);
  }

  static TextGeneration load_model(const ModelSettings& settings) {
    TextGenerationOptions options = settings.options;
    options.draft.drafter =
        with_local_path(options.draft.drafter, [](const std::string& path) { return resolve_model(path); });
    return TextGeneration(resolve_model(settings.path), options);
  }

  void refuse_when_stopping() const {
    if (stopping_) throw ApiError(503, "the server is shutting down");
  }

  /// Unloads what nobody has held for long.
  void sweep() {
    std::unique_lock lock(stop_mutex_);
    while (!stopped_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_.load(); })) {
      for (const auto& entry : entries_) {
        std::shared_ptr<ModelWorker> unloaded;  // ends when the lock is free
        const std::lock_guard own(entry->mutex);
        if (!entry->worker) continue;
        if (entry->worker.use_count() > 1) entry->used = Clock::now();
        if (Clock::now() - entry->used >= options_.unload_time) unloaded = std::move(entry->worker);
      }
    }
  }

  const ServerOptions& options_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::mutex stop_mutex_;
  std::condition_variable stopped_;
  std::atomic<bool> stopping_ = false;
  std::thread sweeper_;
};

}  // namespace tulle::serve
