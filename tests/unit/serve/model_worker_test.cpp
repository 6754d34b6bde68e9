// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/model_worker.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <string>
#include <thread>
#include <tulle/generate/engine.hpp>
#include <tulle/serve/api_error.hpp>
#include <vector>

#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;
using namespace tulle::serve;

namespace {

/// A worker over the tiny model, with a queue of `max_queue`.
std::unique_ptr<ModelWorker> tiny_worker(std::size_t max_queue = 64) {
  EngineOptions options = testing::small_engine();
  options.cache = "paged";
  return std::make_unique<ModelWorker>(std::move(*testing::tiny_pipeline(options)), max_queue);
}

GenerationRequest request_of(const ModelWorker& worker, const std::string& prompt, std::size_t tokens) {
  GenerationRequest request;
  request.prompts.push_back(worker.tokenizer().encode(prompt, {.add_special_tokens = true}));
  request.options.max_new_tokens = tokens;
  request.options.force_max_tokens = true;
  request.options.log_probabilities = true;
  return request;
}

std::vector<Token> tokens_of(GenerationJob& job) {
  std::vector<Token> tokens;
  while (const auto event = job.next()) {
    if (event->piece.token >= 0) tokens.push_back(event->piece.token);
  }
  return tokens;
}

}  // namespace

TEST_CASE("Requests of many threads get the tokens that they get alone", "[serve]") {
  const auto worker = tiny_worker();
  const std::vector<std::string> prompts{"Once upon", "a time", "there was", "a king", "who had", "no crown"};
  std::vector<std::vector<Token>> alone, together(prompts.size());
  for (const std::string& prompt : prompts) {
    alone.push_back(tokens_of(*worker->submit(request_of(*worker, prompt, 20))));
  }
  CHECK(alone.front().size() == 20);
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    clients.emplace_back([&, i] { together[i] = tokens_of(*worker->submit(request_of(*worker, prompts[i], 20))); });
  }
  for (std::thread& client : clients) client.join();
  CHECK(together == alone);
  const WorkerFigures figures = worker->figures();
  CHECK(figures.finished == 12);
  CHECK(figures.generated_tokens == 240);
  CHECK(figures.waiting == 0);
}

TEST_CASE("The candidates of a position are its most probable tokens", "[serve]") {
  const auto worker = tiny_worker();
  GenerationRequest request = request_of(*worker, "Once upon", 5);
  request.alternatives = 3;
  request.prompt_probabilities = true;
  const std::size_t prompt = request.prompts.front().size();
  const auto job = worker->submit(std::move(request));
  std::size_t count = 0;
  std::vector<PromptToken> read;
  while (const auto event = job->next()) {
    if (!event->prompt.empty()) read = event->prompt;
    if (event->piece.token < 0) continue;
    REQUIRE(event->alternatives.size() == 3);
    CHECK(event->alternatives[0].token == event->piece.token);  // greedy
    CHECK(event->alternatives[0].log_probability == Catch::Approx(event->piece.log_probability).margin(1e-5));
    CHECK(event->alternatives[1].log_probability >= event->alternatives[2].log_probability);
    ++count;
  }
  CHECK(count == 5);
  REQUIRE(read.size() == prompt);
  CHECK_FALSE(read[0].log_probability);
  for (std::size_t i = 1; i < prompt; ++i) {
    const float best = read[i].alternatives[0].log_probability;
    CHECK(read[i].log_probability.value_or(INFINITY) <= best + 1e-5f);
  }
}

TEST_CASE("A full queue refuses, an error of one request ends no other", "[serve]") {
  const auto worker = tiny_worker(3);
  std::vector<std::shared_ptr<GenerationJob>> jobs;
  bool refused = false;
  for (int i = 0; i < 40 && !refused; ++i) {
    try {
      jobs.push_back(worker->submit(request_of(*worker, "Once upon", 100)));
    } catch (const ApiError& error) {
      CHECK(error.status() == 429);
      refused = true;
    }
  }
  CHECK(refused);
  for (const auto& job : jobs) CHECK(tokens_of(*job).size() == 100);

  GenerationRequest wrong = request_of(*worker, "Once", 1);
  wrong.prompts.front().push_back(1'000'000);
  const auto failed = worker->submit(std::move(wrong)), good = worker->submit(request_of(*worker, "Once", 3));
  CHECK_THROWS_AS(failed->next(), Error);
  CHECK_FALSE(failed->next());
  CHECK(tokens_of(*good).size() == 3);
  CHECK(worker->figures().failed == 1);
}

TEST_CASE("Without a queue a request is taken where it need not wait", "[serve]") {
  const auto worker = tiny_worker(0);
  CHECK(tokens_of(*worker->submit(request_of(*worker, "Once upon", 3))).size() == 3);
  GenerationRequest four = request_of(*worker, "Once upon", 100);
  four.options.num_return_sequences = 4;  // all sequences
  const auto job = worker->submit(std::move(four));
  CHECK_THROWS_AS(worker->submit(request_of(*worker, "Once", 1)), ApiError);
  CHECK(tokens_of(*job).size() == 400);
}

TEST_CASE("A reader that has given up is noticed while tokens come", "[serve]") {
  GenerationJob job({});
  job.put({});
  CHECK(job.next(std::chrono::milliseconds(0), [] { return true; }));
  CHECK(job.cancelled());
}

TEST_CASE("A request that is cancelled or whose time is up ends where it is", "[serve]") {
  const auto worker = tiny_worker();
  const auto job = worker->submit(request_of(*worker, "Once upon", 100));
  REQUIRE(job->next());
  job->cancel();
  (void)tokens_of(*job);
  CHECK(job->summary().generated_tokens <= 100);
  std::vector<std::shared_ptr<GenerationJob>> others;  // 3,000 tokens take more than a millisecond
  for (int i = 0; i < 30; ++i) others.push_back(worker->submit(request_of(*worker, "Once upon", 100)));
  GenerationRequest hasty = request_of(*worker, "Once upon", 100);
  hasty.time_limit = std::chrono::milliseconds(1);
  const auto late = worker->submit(std::move(hasty));
  (void)tokens_of(*late);
  CHECK(late->summary().generated_tokens < 100);
  CHECK(late->summary().timed_out);
}

TEST_CASE("A worker that stops finishes what it has, or cuts it", "[serve]") {
  auto worker = tiny_worker();
  const auto whole = worker->submit(request_of(*worker, "Once upon", 50));
  worker->stop(std::chrono::minutes(5));
  CHECK(tokens_of(*whole).size() == 50);
  CHECK_THROWS_AS(worker->submit(request_of(*worker, "Once", 1)), ApiError);

  worker = tiny_worker();
  std::vector<std::shared_ptr<GenerationJob>> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back(worker->submit(request_of(*worker, "Once upon", 100)));
  worker.reset();
  std::size_t generated = 0;
  for (const auto& job : jobs) generated += tokens_of(*job).size();
  CHECK(generated < 2000);
}
