// SPDX-License-Identifier: Apache-2.0
/// \file The arithmetic inside eval(...) of a recipe (L5).
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/yaml/yaml_node.hpp>

namespace tulle::detail {

/// The shortest decimal text of a number that is read back as the same number.
inline std::string number_text(double value) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general);
  return {buffer.data(), end.ptr};
}

constexpr bool begins_name(char byte) noexcept {
  return byte == '_' || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}
constexpr bool continues_name(char byte) noexcept {
  return begins_name(byte) || (byte >= '0' && byte <= '9');
}

/// Evaluates + - * / // % ** and parentheses over numbers and names, with Python's precedence and meaning.
/// `lookup` gives the value of a name: double(std::string_view).
template <class Lookup>
class RecipeExpression {
 public:
  /// `text` begins behind the opening parenthesis of eval(. `where` and `line` name the place in messages.
  RecipeExpression(std::string_view text, std::string_view where, std::size_t line, const Lookup& lookup)
      : text_(text), where_(where), line_(line), lookup_(lookup) {}

  /// The value up to the closing parenthesis. Errors: malformed; those of `lookup`.
  double evaluate() {
    const double value = sum();
    if (!accept(")")) reject("expected an operator or \")\"");
    return value;
  }

  /// Bytes that were read, the closing parenthesis among them.
  std::size_t length() const noexcept { return at_; }

 private:
  static constexpr int deepest = 50;

  double sum() {
    if (++depth_ > deepest) reject("nested deeper than 50 parentheses");
    double value = product();
    for (;;) {
      if (accept("+")) {
        value = checked(value + product());
      } else if (accept("-")) {
        value = checked(value - product());
      } else {
        --depth_;
        return value;
      }
    }
  }

  double product() {
    double value = signed_power();
    for (;;) {
      if (sees("**")) reject("two powers side by side need parentheses");
      if (accept("*")) {
        value = checked(value * signed_power());
      } else if (accept("//")) {
        const double by = divisor();
        value = checked(std::round((value - remainder(value, by)) / by));
      } else if (accept("/")) {
        value = checked(value / divisor());
      } else if (accept("%")) {
        value = remainder(value, divisor());
      } else {
        return value;
      }
    }
  }

  /// With the sign of `by`, as Python's. That of C is exact, so 1 % 0.1 is what the rounded 0.1 leaves.
  static double remainder(double value, double by) {
    const double rest = std::fmod(value, by);
    return rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
  }

  double divisor() {
    const double value = signed_power();
    if (value == 0) reject("a division by zero");
    return value;
  }

  double signed_power() {
    bool is_negative = false;
    for (;;) {
      if (accept("-")) {
        is_negative = !is_negative;
      } else if (!accept("+")) {
        break;
      }
    }
    double value = atom();
    if (accept("**")) value = checked(std::pow(value, exponent()));
    return is_negative ? -value : value;
  }

  double exponent() {
    const bool is_negative = accept("-");
    const double value = atom();
    return is_negative ? -value : value;
  }

  double atom() {
    if (accept("(")) {
      const double value = sum();
      if (!accept(")")) reject("a parenthesis that does not end");
      return value;
    }
    skip_spaces();
    const bool is_bracketed = accept("<");
    if (!is_bracketed) accept("$");
    const std::size_t begin = at_;
    if (at_ < text_.size() && begins_name(text_[at_])) {
      while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
      const std::string_view name = text_.substr(begin, at_ - begin);
      if (is_bracketed && !accept(">")) reject("\"<\" without \">\"");
      return lookup_(name);
    }
    while (at_ < text_.size() && is_part_of_number(begin)) ++at_;
    const auto value = YamlNode::number_of(std::string(text_.substr(begin, at_ - begin)));
    if (!value || is_bracketed) reject("expected a number or a name");
    return *value;
  }

  bool is_part_of_number(std::size_t begin) const {
    const char byte = text_[at_];
    if ((byte >= '0' && byte <= '9') || byte == '.' || byte == 'e' || byte == 'E') return true;
    return (byte == '-' || byte == '+') && at_ > begin && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
  }

  double checked(double value) const {
    if (!std::isfinite(value)) reject("the result is not a finite number");
    return value;
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool sees(std::string_view token) {
    skip_spaces();
    return text_.substr(at_).starts_with(token);
  }
  bool accept(std::string_view token) {
    if (!sees(token)) return false;
    at_ += token.size();
    return true;
  }

  [[noreturn]] void reject(std::string_view what) const {
    fail_at(ErrorCode::malformed, where_, line_, "eval(", "...): ", what, " before ", quoted_name(text_.substr(at_)));
  }

  std::string_view text_, where_;
  std::size_t line_;
  const Lookup& lookup_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace tulle::detail
