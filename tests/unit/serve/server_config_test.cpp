// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/server_config.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle;
using namespace tulle::serve;
using Catch::Matchers::ContainsSubstring;

namespace {

ServerOptions read(const std::string& text) {
  ServerOptions options;
  TextGenerationOptions base = ModelSettings::server_defaults();
  base.kernel = "dense_f32";
  read_server_config(text, "config.yaml", base, options);
  return options;
}

}  // namespace

TEST_CASE("Endpoints of DeepSparse's configuration name their models", "[serve]") {
  const ServerOptions options = read(R"(
num_cores: 2
num_workers: 4
loggers: {prometheus: {port: 6100}}
endpoints:
  - task: text-generation
    model: models/a
  - name: second
    route: generate
    task: text_generation
    model: models/a
  - name: third
    task: code_generation
    model: models/b
    kwargs:
      sequence_length: 512
      max_new_tokens: 7
)");
  REQUIRE(options.models.size() == 2);
  CHECK(options.models[0].id == "models/a");
  CHECK(options.models[0].options.engine.threads == 2);
  CHECK(options.models[0].options.engine.share_prefixes);
  CHECK(options.models[0].options.kernel == "dense_f32");
  CHECK(options.models[1].options.engine.sequence_length == 512);
  CHECK(options.models[1].options.engine.threads == 2);
  CHECK(options.models[1].defaults.max_new_tokens == 7);
  REQUIRE(options.endpoints.size() == 3);
  CHECK(options.endpoints[1].model == "models/a");
  CHECK(options.endpoints[1].route == "generate");
  CHECK(options.endpoints[2].name == "third");
}

TEST_CASE("Endpoints have adapters of their own", "[serve]") {
  const ServerOptions options = read(R"({"endpoints": [
    {"name": "a", "task": "text_generation", "model": "m", "adapters": "sql"},
    {"name": "b", "task": "text_generation", "model": "m", "adapters": {"sql": 1, "to=ne": 0.5}},
    {"name": "c", "task": "text_generation", "model": "m", "adapters": ["sql", "tone"]},
    {"name": "d", "task": "text_generation", "model": "m", "adapters": "sql"}]})");
  REQUIRE(options.models.size() == 3);
  CHECK(options.endpoints[3].model == options.endpoints[0].model);
  CHECK(options.models[0].options.adapters.at(0).path == "sql");
  REQUIRE(options.models[1].options.adapters.size() == 2);
  CHECK(options.models[1].options.adapters[1].path == "to=ne");
  CHECK(options.models[1].options.adapters[1].scale == 0.5f);
  CHECK(options.models[2].options.adapters.size() == 2);
  CHECK_THROWS_WITH(read(R"({"endpoints": [{"task": "text_generation", "model": "m", "adapters": {"sql": "x"}}]})"),
                    ContainsSubstring("adapters"));
}

TEST_CASE("Endpoints with equal arguments share a model, in any order", "[serve]") {
  const ServerOptions options = read(R"({"endpoints": [
    {"name": "a", "task": "text_generation", "model": "m", "kwargs": {"sequence_length": 64, "cache": "contiguous"}},
    {"name": "b", "task": "text_generation", "model": "m"},
    {"name": "c", "task": "code_generation", "model": "m"},
    {"name": "d", "model": "m", "kwargs": {"cache": "contiguous", "sequence_length": 64}}]})");
  REQUIRE(options.models.size() == 2);
  CHECK(options.models[0].id == "m");
  CHECK_FALSE(options.models[0].options.engine.share_prefixes);
  CHECK(options.models[1].id == "m#b");
  CHECK(options.models[1].path == "m");
  CHECK(options.models[1].options.engine.sequence_length == 0);
  const auto& endpoints = options.endpoints;
  CHECK(endpoints[0].model == "m");
  CHECK(endpoints[1].model == "m#b");
  CHECK(endpoints[2].model == "m#b");
  CHECK(endpoints[3].model == "m");
}

TEST_CASE("What a configuration has wrong is named", "[serve]") {
  CHECK_THROWS_WITH(read("endpoints: []"), ContainsSubstring("\"endpoints\" must be a list"));
  CHECK_THROWS_WITH(read("endpoint: []"), ContainsSubstring("did you mean endpoints"));
  CHECK_THROWS_WITH(read("endpoints:\n  - task: text_generation"), ContainsSubstring("\"model\" is missing"));
  CHECK_THROWS_WITH(read("endpoints:\n  - {task: image, model: m}"), ContainsSubstring("endpoint 0"));
  CHECK_THROWS_WITH(read("endpoints:\n  - {task: text_generation, model: m, rout: x}"),
                    ContainsSubstring("did you mean route"));
  CHECK_THROWS_WITH(read("endpoints:\n  - {task: text_generation, model: m, bucketing: {a: 1}}"),
                    ContainsSubstring("bucketing"));
  CHECK_THROWS_WITH(read("endpoints:\n  - {task: text_generation, model: m, kwargs: [1]}"),
                    ContainsSubstring("\"kwargs\" must be a mapping"));
  CHECK_THROWS_WITH(read("- a"), ContainsSubstring("must be a mapping"));
  CHECK_THROWS_WITH(read("port: 70000\nendpoints:\n  - {task: text_generation, model: m}"),
                    ContainsSubstring("\"port\""));
  CHECK_THROWS_AS(read("endpoints: [\n"), Error);
}

TEST_CASE("Flags that were given win over a configuration", "[serve]") {
  const std::string text = R"(
host: 0.0.0.0
port: 9000
num_cores: 2
max_sequences: 7
endpoints: [{task: text_generation, model: models/a}]
)";
  const ServerOptions all = read(text);
  CHECK((all.host == "0.0.0.0" && all.port == 9000));
  CHECK((all.models[0].options.engine.threads == 2 && all.models[0].options.engine.max_sequences == 7));
  ServerOptions options;
  options.port = 8000;
  TextGenerationOptions base;
  base.engine.threads = 1;
  read_server_config(text, "config.yaml", base, options, {"port", "num_cores"});
  CHECK((options.host == "0.0.0.0" && options.port == 8000));
  CHECK((options.models[0].options.engine.threads == 1 && options.models[0].options.engine.max_sequences == 7));
}
