// SPDX-License-Identifier: Apache-2.0
/// \file Text columns: from a row of a dataset, an object, to its text (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/text/chat_message.hpp>

namespace tulle {

/// What is read of one row of a dataset.
struct DatasetRow {
  std::string text;                        ///< the text columns, joined without anything between them
  std::vector<ChatMessage> messages = {};  ///< of a column of messages; `text` is empty then
};

/// "prompt+canonical_solution" as {"prompt", "canonical_solution"}. Errors: invalid_argument for an empty name.
inline std::vector<std::string> parse_columns(std::string_view names) {
  std::vector<std::string> columns;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = names.find('+', begin);
    columns.emplace_back(names.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (columns.back().empty()) {
      fail(ErrorCode::invalid_argument, "\"", names,
           "\" names an empty column; write one name, or several with + between");
    }
  }
  return columns;
}

namespace detail {

/// For a message: a short name without control characters as it is.
inline std::string column_name(const std::string& name) {
  constexpr std::size_t longest = 60;
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7F; });
  return plain && name.size() <= longest ? "\"" + name + "\"" : quoted_name(name);
}

inline std::string column_list(const Json& row) {
  constexpr std::size_t max_names = 20;
  std::string list;
  std::size_t count = 0;
  for (const auto& [name, value] : row.items()) {
    if (++count > max_names) return list + ", ...";
    list += (count > 1 ? ", " : "") + column_name(name);
  }
  return list.empty() ? "none" : list;
}

inline std::vector<ChatMessage> chat_messages(const Json& list, const std::string& where) {
  std::vector<ChatMessage> messages;
  for (const Json& each : list) {
    const auto is_text = [&](const char* key) { return each.contains(key) && each[key].is_string(); };
    if (!each.is_object() || !is_text("role") || !is_text("content")) {
      fail(ErrorCode::malformed, where, ": a list of chat messages holds something other than objects with the texts ",
           "\"role\" and \"content\"");
    }
    messages.push_back({each["role"].get<std::string>(), each["content"].get<std::string>()});
  }
  if (messages.empty()) fail(ErrorCode::malformed, where, ": a list of chat messages is empty");
  return messages;
}

}  // namespace detail

/// The columns to read where none are named: "text", or else "messages", or else the only column that holds text.
/// `row`: the first one, an object. Errors: invalid_argument, which lists the columns.
inline std::vector<std::string> default_columns(const Json& row, std::string_view where) {
  if (row.contains("text")) return {"text"};
  if (row.contains("messages")) return {"messages"};
  std::vector<std::string> texts;
  for (const auto& [name, value] : row.items()) {
    if (value.is_string()) texts.push_back(name);
  }
  if (texts.size() == 1) return texts;
  fail(ErrorCode::invalid_argument, where,
       ": no column is called \"text\"; name the text column, or several with + between; ",
       "there are: ", detail::column_list(row));
}

/// The text of `columns`, joined as SparseML joins a list of `text_column_name`: without anything between. A column
/// that holds a list is one of chat messages and stands alone.
/// Errors: invalid_argument for a column that is not there, with those that are; malformed for one that is not text.
inline DatasetRow row_of(const Json& row, const std::vector<std::string>& columns, const std::string& where) {
  DatasetRow result;
  for (const std::string& name : columns) {
    const auto found = row.find(name);
    if (found == row.end()) {
      fail(ErrorCode::invalid_argument, where, ": no column ", detail::column_name(name),
           "; there are: ", detail::column_list(row));
    }
    if (found->is_array() && columns.size() == 1) {
      result.messages = detail::chat_messages(*found, where);
    } else if (found->is_string()) {
      result.text += found->get_ref<const std::string&>();
    } else {
      fail(ErrorCode::malformed, where, ": column ", detail::column_name(name), " holds ",
           found->is_null() ? "null" : found->type_name(), ", not text");
    }
  }
  return result;
}

}  // namespace tulle
