// SPDX-License-Identifier: Apache-2.0
/// \file JSON as values of templates (L2, text).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <tulle/core/json.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// A JSON value, also one of `nlohmann::ordered_json`, whose objects keep their order. Integers beyond 64 bits signed
/// become floats. `bytes` grows by about what the value takes.
/// Errors: capacity when lists and objects nest too deeply; invalid_argument for binary data.
template <class BasicJson>
Value from_json(const BasicJson& json, std::size_t& bytes, int level = 0) {
  using Type = nlohmann::json::value_t;
  bytes += 2 * sizeof(Value);
  detail::deeper(level);
  switch (json.type()) {
    case Type::null:
    case Type::discarded: return None{};
    case Type::boolean: return json.template get<bool>();
    case Type::number_integer: return json.template get<std::int64_t>();
    case Type::number_float: return json.template get<double>();
    case Type::number_unsigned: {
      const auto number = json.template get<std::uint64_t>();
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return static_cast<double>(number);
      return static_cast<std::int64_t>(number);
    }
    case Type::string: {
      const auto& text = json.template get_ref<const std::string&>();
      bytes += text.size();
      return text;
    }
    case Type::array: {
      Items items;
      for (const auto& item : json) items.push_back(from_json(item, bytes, level + 1));
      return Value::sequence(std::move(items));
    }
    case Type::object: {
      Entries entries;
      for (const auto& [key, item] : json.items()) {
        bytes += sizeof(Value) + key.size();
        entries.emplace_back(key, from_json(item, bytes, level + 1));
      }
      return Value::mapping(std::move(entries));
    }
    case Type::binary: break;
  }
  fail(ErrorCode::invalid_argument, "binary JSON data cannot be given to a chat template");
}

}  // namespace tulle::jinja
