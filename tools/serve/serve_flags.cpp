// SPDX-License-Identifier: Apache-2.0
#include "serve_flags.hpp"

#include <chrono>
#include <cstdio>
#include <tulle/compat/deepsparse/names.hpp>
#include <tulle/core/error.hpp>
#include <tulle/serve/server_config.hpp>
#include <utility>

#include "tools/compiled/grammar.hpp"
#include "tools/serve/chat_page.hpp"
#include "tools/tulle/model_path.hpp"
#include "tools/tulle/pipeline.hpp"

namespace {

constexpr const char* footer =
    R"(Routes: /v1/completions, /v1/chat/completions, /v1/responses (OpenAI), /v1/messages (Anthropic), /predict and
those of a configuration (DeepSparse), /tokenize, /detokenize, /health, /ready, /metrics; /docs shows all; / is a chat.
Requests share the model in one batch. A request's text does not depend on its neighbours.

Examples:
  tulle serve model.gguf
  tulle serve hf:HuggingFaceTB/SmolLM2-135M-Instruct
  tulle serve --task text_generation --model-path models/codegen --port 8000
  tulle serve --integration openai models/llama-1b
  tulle serve --config-file config.yaml --hot-reload)";

}  // namespace

void ServeFlags::add_to(CLI::App& app) {
  app.footer(footer);
  model.engine = tulle::serve::ModelSettings::server_defaults().engine;
  model.add_to(app);
  draft.add_to(app);
  const auto add = [&](const char* names, auto& value, const char* type, const char* what) {
    return app.add_option(flag_names(names), value, what)
        ->type_name(type)
        ->capture_default_str()
        ->take_last()  // behind those of a unit or an image
        ->group("Server");
  };
  const auto upto = [](std::size_t most) { return CLI::Range(std::size_t{0}, most).description(""); };
  add("--name,--alias", name, "NAME", "The model's id in requests; without it the text that named the model");
  add("--task", task, "TASK", "text_generation, under any of its names");
  add("--config-file,--config", config, "FILE",
      "YAML with endpoints, as DeepSparse's servers read it; --host, --port, --threads and --max-sequences win over "
      "it");
  app.add_flag(flag_names("--hot-reload,--hot-reload-config"), hot_reload, "Follow changes of the configuration")
      ->group("Server");
  add("--integration", integration, "local|openai", "Both have all routes")
      ->check(CLI::IsMember({"local", "openai"}).description(""));
  add("--host", server.host, "ADDRESS", "0.0.0.0 is reached from other machines");
  add("--port", server.port, "N", "0: any that is free")->check(CLI::Range(0, 65535).description(""));
  add("--max-sequences", model.engine.max_sequences, "N", "Texts that are generated at once")
      ->check(CLI::Range(std::size_t{1}, std::size_t{65536}).description(""));
  add("--cache-tokens", model.engine.cache_positions, "N",
      "Room for keys and values of all texts, and of prompts that may come again; 0: --max-sequences in full")
      ->check(upto(std::size_t{1} << 30));
  add("--max-queue", server.max_queue, "N", "Requests that wait; more get status 429")->check(upto(1 << 20));
  add("--max-connections", server.max_connections, "N", "Connections at once; as many may wait")
      ->check(CLI::Range(std::size_t{1}, std::size_t{65536}).description(""));
  add("--max-body", body_megabytes, "MB", "Size of a request")->check(CLI::Range(1, 1024).description(""));
  add("--request-time", request_seconds, "SECONDS", "A text ends where it is then; 0: no limit")->check(upto(1 << 30));
  add("--stop-time", stop_seconds, "SECONDS", "Texts that run at SIGTERM may go on for so long")->check(upto(1 << 30));
  add("--unload-after", unload_seconds, "SECONDS", "Unload a model that is not used; 0: never")->check(upto(1 << 30));
  app.add_option(flag_names("--api-key"), server.api_keys, "Requests need one of these")
      ->type_name("KEY")
      ->envname("TULLE_API_KEY")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group("Server");
  app.add_option(flag_names("--cors-origin"), server.cors_origins, "Web pages that may ask, or *")
      ->type_name("ORIGIN")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group("Server");
  add("--ssl-cert,--ssl-certfile", server.certificate, "FILE", "PEM: serve HTTPS");
  add("--ssl-key,--ssl-keyfile", server.private_key, "FILE", "PEM: the key of the certificate");
  app.add_flag("--no-page", no_page, "Without the chat at /")->group("Server");
  add("--num-workers", workers, "N", "Changes nothing: requests share each forward pass");
  add("--batch-size", batch_size, "N", "Changes nothing: see --max-sequences");
  for (const auto& [flag, key] : {std::pair{"--host", "host"},
                                  {"--port", "port"},
                                  {"--threads", "num_cores"},
                                  {"--max-sequences", "max_sequences"}}) {
    app.get_option(flag)->each([this, key = std::string(key)](const std::string&) { decided.insert(key); });
  }
  add("--log-level", log_level, "LEVEL", "debug|info: a line of JSON on stderr for each text; above: none")
      ->check(CLI::IsMember({"debug", "info", "warn", "critical", "fatal"}).description(""));
  app.add_flag("-q,--quiet", quiet, "Say nothing but errors")->group("Server");
}

void ServeFlags::check() {
  if (!task.empty() && !tulle::detail::is_text_generation(task)) {
    throw UsageError("--task " + task + " is not known; there is text_generation");
  }
  if (hot_reload && config.empty()) throw UsageError("--hot-reload follows a --config-file");
  if (!config.empty() && is_given(model.path)) {
    throw UsageError("a model or --config-file: its endpoints name their models");
  }
  if (!config.empty() && !model.adapters.empty())
    throw UsageError("--lora is for one model; an endpoint of --config-file has \"adapters\"");
  if (!config.empty() && !name.empty())
    throw UsageError("--name is for one model; the endpoints of --config-file have names");
}

tulle::serve::ServerOptions server_options(const ServeFlags& flags, const std::string& config) {
  tulle::serve::ServerOptions options = flags.server;
  options.request_time = std::chrono::seconds(flags.request_seconds);
  options.stop_time = std::chrono::seconds(flags.stop_seconds);
  options.unload_time = std::chrono::seconds(flags.unload_seconds);
  options.max_body_bytes = flags.body_megabytes << 20;
  options.shares_port = flags.hot_reload;
  tulle::TextGenerationOptions base;
  base.kernel = flags.model.kernel;
  base.adapters = flags.model.adapters;
  base.engine = flags.model.engine;
  base.draft = flags.draft.options();
  base.engine.share_prefixes = base.engine.cache == "paged";
  if (flags.config.empty()) {
    // A model of the hub is downloaded when it is loaded, behind the open port.
    const std::string& given = flags.model.path;
    const std::string path = given.empty() || given == "default" ? model_path("") : given;
    const std::string named = given.empty() ? path : given;
    options.models.push_back({flags.name.empty() ? named : flags.name, path, base});
  } else {
    tulle::serve::read_server_config(config, flags.config, base, options, flags.decided);
  }
  if (!flags.no_page) options.page = chat_page();
  options.grammars = make_grammars;
  options.load = [isa = flags.model.isa](const tulle::serve::ModelSettings& settings) {
    ModelFlags model;
    model.path = settings.path;
    model.kernel = settings.options.kernel;
    model.isa = isa;
    model.adapters = settings.options.adapters;
    model.engine = settings.options.engine;
    return std::move(*load_pipeline(model, settings.options.draft));
  };
  if (!flags.quiet && (flags.log_level == "info" || flags.log_level == "debug")) {
    options.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  }
  return options;
}
