// SPDX-License-Identifier: Apache-2.0
/// \file Calls of tools in a model's text, apart from what it says (L4).
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/generate/tool_call_format.hpp>

namespace tulle {

/// Takes a text piece by piece. The arguments of a call are given as they come. What is no call after all is text.
class ToolCallSplitter {
 public:
  struct Call {
    std::size_t index = 0;
    std::string name;       ///< with the first part of a call
    std::string arguments;  ///< the next part of a JSON object
  };
  struct Parts {
    std::string text;
    std::vector<Call> calls;
  };

  /// `forced`: the text is a call in its `tool_call_frame`, or the beginning of one, and nothing else.
  explicit ToolCallSplitter(ToolCallFormat format, bool forced = false) noexcept
      : format_(format),
        marks_(format),
        is_forced_(forced),
        state_(forced && format != ToolCallFormat::tagged ? State::open : State::text) {}

  ToolCallFormat format() const noexcept { return format_; }
  std::size_t calls() const noexcept { return calls_; }
  bool in_call() const noexcept { return state_ == State::arguments; }  ///< whose arguments have not ended

  Parts next(std::string_view piece) {
    held_ += piece;
    Parts parts;
    while (step(parts)) {
    }
    return parts;
  }

  /// What was held back at the end of the text. Of a forced call that is a part of its frame, which is no text.
  Parts finish() {
    Parts parts;
    if (is_forced_) return parts;
    const bool may_speak = calls_ == 0 || format_ == ToolCallFormat::brackets;  // behind a mark, or calls
    const bool is_text = state_ == State::text || state_ == State::object || (state_ == State::open && may_speak);
    const bool is_space = held_.find_first_not_of(" \n") == std::string::npos;
    if (is_text && !(is_space && calls_ != 0)) parts.text = std::exchange(opening_, {}) + std::exchange(held_, {});
    return parts;
  }

 private:
  enum class State : std::uint8_t { text, open, object, arguments, behind, ended };

  /// False where more of the text is needed.
  bool step(Parts& parts) {
    switch (state_) {
      case State::text: return format_ == ToolCallFormat::bare ? find_object(parts) : find_mark(parts);
      case State::open: return find_call(parts);
      case State::object: return read_object(parts);
      case State::arguments: return read_arguments(parts);
      case State::behind: return leave_call();
      default: held_.clear(); return false;
    }
  }

  bool find_mark(Parts& parts) {
    const auto [at, behind] = marks_.find(held_);
    if (at != std::string::npos) {
      const std::string before = held_.substr(0, at);
      const std::size_t end = before.find_last_not_of(" \n") + 1;
      parts.text += before.substr(0, end);
      opening_ = held_.substr(end, behind - end);
      held_.erase(0, behind);
      state_ = State::open;
      return true;
    }
    std::size_t kept = std::min(held_.size(), marks_.longest() - 1);
    while (!marks_.may_begin(std::string_view(held_).substr(held_.size() - kept))) --kept;
    // White space may stand in front of a mark.
    const std::size_t end = held_.size() - kept;
    const std::size_t shown = end == 0 ? 0 : held_.find_last_not_of(" \n", end - 1) + 1;
    parts.text += held_.substr(0, shown);
    held_.erase(0, shown);
    return false;
  }

  /// Of `bare`: a text that begins with a brace.
  bool find_object(Parts& parts) {
    const std::size_t begin = std::min(held_.find_first_not_of(" \n"), held_.size());
    const std::string_view rest = std::string_view(held_).substr(begin);
    if (!spoke_ && marks_.may_begin(rest)) return false;
    if (!spoke_ && (rest.front() == '{' || marks_.length(rest) != 0)) {
      held_.erase(0, begin + marks_.length(rest));
      state_ = State::open;
      return true;
    }
    spoke_ = true;
    parts.text += std::exchange(held_, {});
    return false;
  }

  /// Between a mark and a call, or two calls.
  bool find_call(Parts& parts) {
    const std::size_t begin = std::min(held_.find_first_not_of(" \n,;"), held_.size());
    if (!opening_.empty()) opening_ += held_.substr(0, begin);
    held_.erase(0, begin);
    if (marks_.may_begin(held_)) return false;
    const std::size_t mark = marks_.length(held_);
    if (mark != 0 || held_.front() == '[') {
      const std::size_t size = std::max<std::size_t>(mark, 1);
      if (!opening_.empty()) opening_ += held_.substr(0, size);
      held_.erase(0, size);
      return true;
    }
    if (held_.front() == '{') {
      state_ = State::object;
      return true;
    }
    if (format_ == ToolCallFormat::tagged && call_end.starts_with(std::string_view(held_).substr(0, call_end.size()))) {
      if (held_.size() < call_end.size()) return false;
      held_.erase(0, call_end.size());
    } else if (format_ == ToolCallFormat::brackets && is_of_name(held_.front())) {
      const auto end =
          static_cast<std::size_t>(std::find_if_not(held_.begin(), held_.end(), is_of_name) - held_.begin());
      const std::size_t behind = std::min(held_.find_first_not_of(" \n", end), held_.size());
      const std::string_view rest = std::string_view(held_).substr(behind);
      constexpr std::string_view call_id = "[CALL_ID]", arguments = "[ARGS]";
      if (rest.empty() || (rest.size() < call_id.size() && (call_id.starts_with(rest) || arguments.starts_with(rest))))
        return false;
      if (rest.front() == '{' || rest.starts_with(call_id) || rest.starts_with(arguments)) {
        const std::size_t brace = held_.find('{', behind);
        if (brace == std::string::npos) return false;
        begin_call(held_.substr(0, end), parts);
        held_.erase(0, brace);
        is_framed_ = false;
        return true;
      }
    } else if (held_.front() == ']' && calls_ != 0) {
      state_ = State::ended;  // perhaps a closing mark behind it
      return true;
    }
    parts.text += std::exchange(opening_, {});
    state_ = State::text;
    return true;
  }

  static bool is_of_name(char c) noexcept {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  }

  void begin_call(std::string name, Parts& parts) {
    parts.calls.push_back({calls_++, std::move(name), {}});
    opening_.clear();
    state_ = State::arguments;
    depth_ = 0;
    in_text_ = escaped_ = false;
    is_framed_ = true;
  }

  /// {"name": "...", "arguments": {, or any other order once the whole object is there.
  bool read_object(Parts& parts) {
    std::size_t at = 0;
    const auto space = [&] { at = std::min(held_.find_first_not_of(" \n\t\r", at), held_.size()); };
    const auto take = [&](std::string_view wanted) {
      space();
      const bool fits = std::string_view(held_).substr(at).starts_with(wanted);
      if (fits) at += wanted.size();
      return fits;
    };
    if (take("{") && take("\"name\"") && take(":") && take("\"")) {
      const std::size_t end = held_.find_first_of("\"\\", at);
      const std::string name = held_.substr(at, end - at);
      if (end != std::string::npos && held_[end] == '"') {
        at = end + 1;
        if (take(",") && (take("\"arguments\"") || take("\"parameters\"")) && take(":")) {
          space();
          if (at < held_.size() && held_[at] == '{') {
            begin_call(name, parts);
            held_.erase(0, at);
            return true;
          }
        }
      }
    }
    const std::size_t end = object_end();
    if (end == std::string::npos) return false;
    const std::string object = held_.substr(0, end);
    held_.erase(0, end);
    state_ = State::open;
    if (!whole_call(object, parts)) {
      parts.text += std::exchange(opening_, {}) + object;
      spoke_ = true;
      state_ = State::text;
    }
    return true;
  }

  std::size_t object_end() const noexcept {
    std::size_t depth = 0;
    bool in_text = false;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const char c = held_[i];
      if (in_text) {
        if (c == '\\') ++i;
        in_text = c != '"';
      } else if (c == '"') {
        in_text = true;
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth == 0) {
        return i + 1;
      }
    }
    return std::string::npos;
  }

  bool whole_call(const std::string& text, Parts& parts) try {
    const OrderedJson object = parse_ordered_json(text, "a call");
    if (!object.contains("name") || !object["name"].is_string()) return false;
    const char* key = object.contains("arguments") ? "arguments" : "parameters";
    if (format_ == ToolCallFormat::bare && !object.contains(key)) return false;  // an answer in JSON
    OrderedJson arguments = object.value(key, OrderedJson::object());
    if (arguments.is_null()) arguments = OrderedJson::object();
    const std::string written = arguments.is_string() ? arguments.get<std::string>() : arguments.dump();
    parts.calls.push_back({calls_++, object["name"].get<std::string>(), written});
    opening_.clear();
    return true;
  } catch (const Error&) {
    return false;
  }

  bool read_arguments(Parts& parts) {
    std::size_t end = 0;
    bool is_complete = false;
    for (; end < held_.size() && !is_complete; ++end) {
      const char c = held_[end];
      if (escaped_) {
        escaped_ = false;
      } else if (in_text_) {
        escaped_ = c == '\\';
        in_text_ = c != '"';
      } else if (c == '"') {
        in_text_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if (c == '}' || c == ']') {
        is_complete = --depth_ == 0;
      }
    }
    if (end != 0) {
      if (parts.calls.empty()) parts.calls.push_back({calls_ - 1, {}, {}});
      parts.calls.back().arguments += held_.substr(0, end);
      held_.erase(0, end);
    }
    if (!is_complete) return false;
    state_ = is_framed_ ? State::behind : State::open;
    return true;
  }

  /// Behind the arguments: up to the brace that ends the call, or where that was forgotten to what ends or begins one.
  bool leave_call() {
    const std::size_t brace = held_.find('}'), end = std::min({brace, held_.find(call_end), marks_.find(held_).first});
    if (end == std::string::npos) {
      held_.erase(0, held_.size() - std::min(held_.size(), std::max(marks_.longest(), call_end.size()) - 1));
      return false;
    }
    held_.erase(0, end + (end == brace ? 1 : 0));
    state_ = State::open;
    return true;
  }

  static constexpr std::string_view call_end = "</tool_call>";

  ToolCallFormat format_;
  ToolCallMarks marks_;
  bool is_forced_;
  State state_;
  std::string held_;
  std::string opening_;  // a mark with the white space around it, until a call follows
  std::size_t calls_ = 0, depth_ = 0;
  bool in_text_ = false, escaped_ = false;  // within the arguments
  bool is_framed_ = true;                   // the arguments are a member of an object
  bool spoke_ = false;                      // of `bare`: the text is no call
};

}  // namespace tulle
