// SPDX-License-Identifier: Apache-2.0
/// \file Chat templates: from a conversation to the model's prompt text (L2, text).
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/text/jinja/context.hpp>
#include <tulle/text/jinja/parser.hpp>
#include <tulle/text/jinja/renderer.hpp>

namespace tulle {

/// A parsed chat template: the Jinja that HF transformers keeps in tokenizer_config.json or chat_template.jinja.
/// It renders as transformers' `apply_chat_template` does: sandboxed, trim_blocks and lstrip_blocks on, with
/// raise_exception, strftime_now, and tojson without HTML escaping. Templates are untrusted: what a rendering may use
/// is bounded. Differences from Python: integers have 64 bits; upper and lower case support Latin (Latin-1 and
/// Extended-A), Greek and Cyrillic; `map`, `select` and their like may be iterated more than once. What no published
/// template uses is left out, and refused by its name (README.md of this folder).
/// Threads: const members may run concurrently; copies share the parsed template.
class ChatTemplate {
 public:
  /// Parses `source` once. `clock` is what `strftime_now` shows.
  /// Errors: malformed, with the line; capacity for a source above 1 MiB.
  explicit ChatTemplate(std::string_view source, jinja::Clock clock = jinja::local_time)
      : body_(std::make_shared<const jinja::Body>(jinja::Parser(source).parse())), clock_(std::move(clock)) {}

  /// Renders `messages`, a JSON array of objects. `extra_context` is an object with further variables of the template
  /// (bos_token, eos_token, tools, documents, add_generation_prompt...); as in transformers, tools and documents are
  /// None and add_generation_prompt is false unless it says otherwise.
  /// Errors: invalid_argument with the template's own message where it calls raise_exception, or with the line where
  /// the messages do not fit it; unsupported for unknown filters and tests; capacity when it runs out of its bounds.
  std::string render(const Json& messages, const Json& extra_context) const {
    return render_json(messages, extra_context);
  }

  /// The same with objects in the order they were written, which `tools | tojson` shows.
  template <std::same_as<nlohmann::ordered_json> OrderedJson>
  std::string render(const OrderedJson& messages, const OrderedJson& extra_context) const {
    return render_json(messages, extra_context);
  }

 private:
  template <class AnyJson>
  std::string render_json(const AnyJson& messages, const AnyJson& extra_context) const {
    if (!messages.is_array()) fail(ErrorCode::invalid_argument, "chat messages must be a JSON array of objects");
    if (!extra_context.is_object())
      fail(ErrorCode::invalid_argument, "the context of a chat template must be a JSON object");
    std::size_t bytes = 0;
    const jinja::Value list = jinja::from_json(messages, bytes);
    const jinja::Value context = jinja::from_json(extra_context, bytes);
    jinja::Limits limits;  // long conversations may use more
    limits.steps += 16 * bytes;
    limits.bytes += 64 * bytes;
    jinja::Renderer renderer(limits, clock_);
    renderer.set("messages", list);
    renderer.set("tools", jinja::None{});
    renderer.set("documents", jinja::None{});
    renderer.set("add_generation_prompt", false);
    for (const auto& [name, value] : context.entries()) renderer.set(name.text(), value);
    return renderer.render(*body_);
  }

  std::shared_ptr<const jinja::Body> body_;
  jinja::Clock clock_;
};

}  // namespace tulle
