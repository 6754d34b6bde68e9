// SPDX-License-Identifier: Apache-2.0
/// \file The tools of a chat request: what the prompt says of them, and the calls that a text must be (L6).
/// Source: https://platform.openai.com/docs/guides/function-calling
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/generate/tool_call_splitter.hpp>
#include <tulle/grammar/grammars.hpp>
#include <tulle/hub/hub_model.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/chat_prompt.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>
#include <tulle/serve/structured_output.hpp>
#include <tulle/text/render_chat.hpp>

namespace tulle::serve {

/// `tools`, `tool_choice` and the messages of a request that has calls, in the order in which the client wrote them.
class ChatTools {
 public:
  /// Errors: ApiError 400.
  explicit ChatTools(const RequestBody& body) {
    const RequestFields fields(body.json);
    const Json* messages = fields.find("messages");
    has_calls_ = messages != nullptr && messages->is_array() &&
                 std::any_of(messages->begin(), messages->end(), [](const Json& message) {
                   return message.is_object() &&
                          (RequestFields(message).asks("tool_calls") || message.value("role", Json()) == "tool");
                 });
    const Json* choice = fields.find("tool_choice");
    read_choice(choice == nullptr ? Json("auto") : *choice);
    if (fields.has("tools") || has_calls_) ordered_ = parse_ordered_json(body.text, "the body of the request");
    if (fields.has("tools")) read_tools();
    if (tools_.empty() && choice_ == "required") throw ApiError(400, "\"tool_choice\" needs \"tools\"", "tool_choice");
    single_ = !fields.boolean("parallel_tool_calls", true);
  }

  bool shows_tools() const noexcept { return !tools_.empty() && choice_ != "none"; }
  bool forces_call() const noexcept { return choice_ == "required"; }
  bool single() const noexcept { return single_; }  ///< at most one call in a text
  bool in_prompt() const noexcept { return has_calls_ || shows_tools(); }

  /// The prompt with tools and calls: by the model's own template where that knows tools, else as the `tagged` format
  /// in the system message. Errors: those of `ChatTemplate`.
  ChatPrompt prompt(const ServedModel& model, bool add_generation_prompt, const std::string& variables) const {
    const OrderedJson messages = template_messages();
    if (model.chat_template.find("tools") == std::string::npos) {
      return chat_prompt(model, plain_messages(messages), add_generation_prompt, variables);
    }
    OrderedJson context = OrderedJson::parse(variables);
    if (shows_tools()) context["tools"] = tools_;
    std::string text = render_json_chat(model.chat_template, model.tokenizer, messages, add_generation_prompt, context);
    std::vector<Token> tokens = model.tokenizer.encode(text);
    return {std::move(text), std::move(tokens)};
  }

  /// Makes the text a call of one of the tools, or of the named one. Stop strings do not count: they would cut the
  /// frame of the call, which no client sees. Errors: ApiError 400.
  void force(GenerationOptions& options, const ServedModel& model, ToolCallFormat format) const {
    std::vector<FramedJson> choices;
    for (const OrderedJson& tool : tools_) {
      const OrderedJson& function = tool["function"];
      const auto name = function["name"].get<std::string>();
      if (!named_.empty() && name != named_) continue;
      auto [before, after] = tool_call_frame(format, name);
      choices.push_back({std::move(before), arguments_schema(function), std::move(after)});
    }
    constrain(options, model, "tools", [&](Grammars& grammars) { return grammars.framed_json(choices); });
    options.stop.clear();
  }

 private:
  /// An object, which is empty where no parameters are described.
  static std::string arguments_schema(const OrderedJson& function) {
    OrderedJson schema = function.value("parameters", OrderedJson::object());
    const auto has = [&](const char* key) { return schema.contains(key); };
    if (has("$ref") || has("anyOf") || has("oneOf") || has("allOf")) return schema.dump();
    const bool describes_none = schema.empty() || (has("properties") && schema["properties"].empty());
    if (describes_none && !has("additionalProperties") && !has("patternProperties"))
      schema["additionalProperties"] = false;
    schema["type"] = "object";
    return schema.dump();
  }

  static bool is_name(const OrderedJson& name) {
    if (!name.is_string()) return false;
    const auto& text = name.get_ref<const std::string&>();
    return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
      return tulle::detail::is_ascii_alphanumeric(c) || c == '_' || c == '-';
    });
  }

  void read_choice(const Json& choice) {
    if (choice == "none" || choice == "auto" || choice == "required") {
      choice_ = choice.get<std::string>();
    } else if (choice.is_object() && choice.value("type", Json()) == "function" && choice.contains("function") &&
               choice["function"].is_object() && choice["function"].value("name", Json()).is_string()) {
      choice_ = "required";
      named_ = choice["function"]["name"].get<std::string>();
    } else {
      throw ApiError(
          400, "\"tool_choice\" must be none, auto, required or {\"type\": \"function\", \"function\": {\"name\"}}",
          "tool_choice");
    }
  }

  void read_tools() {
    const auto refuse = [](const std::string& why) { throw ApiError(400, "\"tools\" " + why, "tools"); };
    OrderedJson& tools = ordered_["tools"];
    if (!tools.is_array() || tools.size() > 128) refuse("must be a list of at most 128 functions");
    bool has_named = named_.empty();
    for (OrderedJson& tool : tools) {
      const bool is_function = tool.is_object() && tool.value("type", OrderedJson()) == "function" &&
                               tool.contains("function") && tool["function"].is_object();
      if (!is_function) refuse("holds what is no {\"type\": \"function\", \"function\": {...}}");
      OrderedJson& function = tool["function"];
      if (function.contains("parameters") && function["parameters"].is_null()) function.erase("parameters");
      if (!is_name(function.value("name", OrderedJson()))) {
        refuse("holds a function without a \"name\" of 1 to 64 letters, digits, _ and -");
      }
      if (function.contains("parameters") && !function["parameters"].is_object())
        refuse("holds \"parameters\" that are no schema");
      const OrderedJson parameters = function.value("parameters", OrderedJson::object());
      if (parameters.value("type", OrderedJson("object")) != "object") {
        refuse("holds \"parameters\" whose \"type\" is not \"object\"");
      }
      has_named = has_named || function["name"] == named_;
    }
    tools_ = tools;
    if (!has_named)
      throw ApiError(400, "\"tool_choice\" names \"" + named_ + "\", which is none of the tools", "tool_choice");
  }

  /// Messages as templates want them: contents as texts, the arguments of calls as objects.
  OrderedJson template_messages() const {
    OrderedJson result = OrderedJson::array();
    OrderedJson given = ordered_.value("messages", OrderedJson::array());
    if (given.is_string()) given = OrderedJson{{"role", "user"}, {"content", given}};
    if (given.is_object()) given = OrderedJson::array({given});
    if (!given.is_array()) given = OrderedJson::array();
    for (OrderedJson& message : given) {
      const ChatMessage plain = detail::chat_message(Json::parse(message.dump()), "messages");
      message["role"] = plain.role;
      message["content"] = plain.content;
      if (message.contains("tool_calls") && message["tool_calls"].is_null()) message.erase("tool_calls");
      if (message.contains("tool_calls")) read_calls(message["tool_calls"]);
      result.push_back(std::move(message));
    }
    if (result.empty()) throw ApiError(400, "\"messages\" must be a list of messages, and not empty", "messages");
    return result;
  }

  static void read_calls(OrderedJson& calls) {
    const auto refuse = [] {
      throw ApiError(400, "\"tool_calls\" of a message must hold {\"function\": {\"name\", \"arguments\"}}",
                     "messages");
    };
    if (!calls.is_array()) refuse();
    for (OrderedJson& call : calls) {
      if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) refuse();
      OrderedJson& function = call["function"];
      if (!function.value("name", OrderedJson()).is_string()) refuse();
      OrderedJson& arguments = function["arguments"];
      if (arguments.is_null()) arguments = OrderedJson::object();
      if (!arguments.is_string()) continue;
      try {
        OrderedJson object = parse_ordered_json(arguments.get<std::string>(), "arguments");
        if (object.is_object()) arguments = std::move(object);
      } catch (const Error&) {
        continue;  // the template shows the text
      }
    }
  }

  /// For a template that knows no tools.
  std::vector<ChatMessage> plain_messages(const OrderedJson& messages) const {
    std::vector<ChatMessage> result;
    for (const OrderedJson& message : messages) {
      ChatMessage plain{message["role"].get<std::string>(), message["content"].get<std::string>()};
      for (const OrderedJson& call : message.value("tool_calls", OrderedJson::array())) {
        const OrderedJson& function = call["function"];
        const OrderedJson written{{"name", function["name"]}, {"arguments", function["arguments"]}};
        plain.content += (plain.content.empty() ? "" : "\n") + ("<tool_call>\n" + written.dump() + "\n</tool_call>");
      }
      if (plain.role == "tool") plain = {"user", "<tool_response>\n" + plain.content + "\n</tool_response>"};
      result.push_back(std::move(plain));
    }
    if (!shows_tools()) return result;
    std::string text = "You may call these functions:\n<tools>\n";
    for (const OrderedJson& tool : tools_) text += tool["function"].dump() + "\n";
    text += "</tools>\nTo call one, write <tool_call>\n{\"name\": NAME, \"arguments\": {...}}\n</tool_call>";
    if (result.front().role != "system") result.insert(result.begin(), {"system", ""});
    std::string& system = result.front().content;
    system += (system.empty() ? "" : "\n\n") + text;
    return result;
  }

  OrderedJson ordered_, tools_ = OrderedJson::array();
  std::string choice_, named_;
  bool has_calls_ = false, single_ = false;
};

}  // namespace tulle::serve
