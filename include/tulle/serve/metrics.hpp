// SPDX-License-Identifier: Apache-2.0
/// \file What a server has done, for Prometheus (L6). The only include of prometheus-cpp.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <tulle/serve/generation_job.hpp>
#include <tulle/serve/model_worker.hpp>
#include <tulle/serve/served_models.hpp>

namespace tulle::serve {

/// Threads: all members may be called from any thread.
class Metrics {
 public:
  Metrics()
      : requests_(prometheus::BuildCounter()
                      .Name("tulle_http_requests_total")
                      .Help("Answers by route and status.")
                      .Register(registry_)),
        first_token_(
            histogram("tulle_time_to_first_token_seconds", "From the arrival of a request to its first token.")),
        token_(histogram("tulle_time_per_token_seconds", "From one token of a request to the next, on average.")),
        queue_(histogram("tulle_queue_seconds", "From the arrival of a request to its first forward pass.")) {}

  /// `route` is one of the routes that the server has, so that labels stay few.
  void answered(const std::string& route, int status) {
    requests_.Add({{"route", route}, {"status", std::to_string(status)}}).Increment();
  }
  void generated(const GenerationSummary& summary) {
    queue_.Observe(summary.queue_seconds);
    if (summary.generated_tokens == 0) return;
    first_token_.Observe(summary.queue_seconds + summary.prefill_seconds);
    if (summary.generated_tokens > 1) {
      token_.Observe(summary.decode_seconds / static_cast<double>(summary.generated_tokens - 1));
    }
  }

  /// Prometheus's text format.
  std::string text(const ServedModels& models) const {
    std::vector<prometheus::MetricFamily> families = registry_.Collect();
    const auto add = [&](const char* name, const char* help, prometheus::MetricType type, auto value_of) {
      prometheus::MetricFamily family{name, help, type, {}};
      models.for_each([&](const std::string& id, const ModelWorker* worker) {
        if (worker == nullptr) return;
        prometheus::ClientMetric metric;
        metric.label.push_back({"model", id});
        const double value = value_of(worker->figures());
        if (type == prometheus::MetricType::Counter) {
          metric.counter.value = value;
        } else {
          metric.gauge.value = value;
        }
        family.metric.push_back(std::move(metric));
      });
      families.push_back(std::move(family));
    };
    using prometheus::MetricType;
    const auto number = [](auto member) {
      return [member](const WorkerFigures& figures) { return static_cast<double>(figures.*member); };
    };
    add("tulle_requests_running", "Requests that generate now.", MetricType::Gauge, number(&WorkerFigures::running));
    add("tulle_requests_waiting", "Requests that wait for a sequence.", MetricType::Gauge,
        number(&WorkerFigures::waiting));
    add("tulle_requests_finished_total", "Requests that were answered.", MetricType::Counter,
        number(&WorkerFigures::finished));
    add("tulle_requests_cancelled_total", "Requests whose client left, or whose time was up.", MetricType::Counter,
        number(&WorkerFigures::cancelled));
    add("tulle_requests_failed_total", "Requests that ended with an error.", MetricType::Counter,
        number(&WorkerFigures::failed));
    add("tulle_requests_refused_total", "Requests for which the queue was full.", MetricType::Counter,
        number(&WorkerFigures::refused));
    add("tulle_prompt_tokens_total", "Tokens of prompts.", MetricType::Counter, number(&WorkerFigures::prompt_tokens));
    add("tulle_cached_tokens_total", "Tokens of prompts that were not computed again.", MetricType::Counter,
        number(&WorkerFigures::cached_tokens));
    add("tulle_generated_tokens_total", "Tokens that were generated.", MetricType::Counter,
        number(&WorkerFigures::generated_tokens));
    add("tulle_preemptions_total", "Sequences that gave their cache to earlier ones, and are run again.",
        MetricType::Counter, number(&WorkerFigures::preemptions));
    add("tulle_forward_seconds_total", "Time in forward passes.", MetricType::Counter,
        number(&WorkerFigures::busy_seconds));
    std::ostringstream stream;
    prometheus::TextSerializer().Serialize(stream, families);
    return stream.str();
  }

 private:
  prometheus::Histogram& histogram(const char* name, const char* help) {
    static const prometheus::Histogram::BucketBoundaries bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                                0.25,  0.5,    1,     2.5,  5,     10,   30};
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add({}, bounds);
  }

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Histogram &first_token_, &token_, &queue_;
};

}  // namespace tulle::serve
