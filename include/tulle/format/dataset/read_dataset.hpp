// SPDX-License-Identifier: Apache-2.0
/// \file Datasets of text: .txt, .jsonl, .json and .csv files, also packed by gzip (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/dataset/csv_reader.hpp>
#include <tulle/format/dataset/dataset_input.hpp>
#include <tulle/format/dataset/dataset_lines.hpp>
#include <tulle/format/dataset/dataset_row.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

struct DatasetOptions {
  std::vector<std::string> columns = {};             ///< joined; empty: those of `default_columns`
  std::size_t max_rows = 0;                          ///< first rows that are read; 0: all
  std::uint64_t max_bytes = std::uint64_t{4} << 30;  ///< that a gzip file may unpack to
  bool keep_empty = false;                           ///< rows without any text too
};

enum class DatasetFormat : std::uint8_t { text, json_lines, json, csv };

/// By the name of a file, in any case: .txt and .raw, .jsonl and .ndjson, .json, .csv, with or without .gz behind it.
/// Errors: unsupported, which lists these.
inline DatasetFormat dataset_format(const std::string& path) {
  std::string name = path;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  constexpr std::array<std::pair<std::string_view, DatasetFormat>, 6> endings{{{".txt", DatasetFormat::text},
                                                                               {".raw", DatasetFormat::text},
                                                                               {".jsonl", DatasetFormat::json_lines},
                                                                               {".ndjson", DatasetFormat::json_lines},
                                                                               {".json", DatasetFormat::json},
                                                                               {".csv", DatasetFormat::csv}}};
  for (const auto& [ending, format] : endings) {
    if (name.ends_with(ending)) return format;
  }
  if (name.ends_with(".parquet")) detail::fail_parquet(path);
  fail(ErrorCode::unsupported, path, ": a dataset is a .txt, .jsonl, .json or .csv file, packed by gzip (.gz) or not");
}

/// Whether a file is one text, and not rows of text.
inline bool is_stream(const std::string& path) {
  return dataset_format(path) == DatasetFormat::text;
}

/// A row with all its columns.
struct DatasetObject {
  Json object;
  std::string where;  ///< "data.jsonl, line 7", for messages
};

namespace detail {

/// Errors: malformed.
template <class Row>
Row&& require_object(Row&& row, const std::string& where) {
  if (row.is_object()) return std::forward<Row>(row);
  fail(ErrorCode::malformed, where, ": a row must be a JSON object such as {\"text\": \"...\"}, found ",
       row.type_name());
}

/// Errors: malformed.
inline void require_utf8_row(std::string_view text, const std::string& where) {
  if (!is_valid_utf8(text)) fail(ErrorCode::malformed, where, ": the text is not UTF-8");
}

/// Takes rows as they are, until there are enough.
class ObjectCollector {
 public:
  explicit ObjectCollector(std::size_t max_rows) : max_rows_(max_rows) {}

  bool full() const noexcept { return max_rows_ > 0 && objects_.size() == max_rows_; }
  void add(Json row, std::string where) { objects_.push_back({require_object(std::move(row), where), where}); }
  std::vector<DatasetObject> take() { return std::move(objects_); }

 private:
  std::size_t max_rows_;
  std::vector<DatasetObject> objects_;
};

/// Takes the text out of rows, until there are enough.
class RowCollector {
 public:
  RowCollector(std::string path, const DatasetOptions& options) : path_(std::move(path)), options_(options) {}

  bool full() const noexcept { return options_.max_rows > 0 && rows_.size() == options_.max_rows; }

  void add(const Json& row, const std::string& where) {
    (void)require_object(row, where);
    if (!columns_) columns_ = options_.columns.empty() ? default_columns(row, where) : options_.columns;
    add(row_of(row, *columns_, where));
  }

  void add(DatasetRow row) {
    if (!full() && (options_.keep_empty || !row.text.empty() || !row.messages.empty())) rows_.push_back(std::move(row));
  }

  std::vector<DatasetRow> take() {
    if (rows_.empty()) fail(ErrorCode::invalid_argument, path_, ": the dataset is empty: it holds no row with text");
    return std::move(rows_);
  }

 private:
  std::string path_;
  const DatasetOptions& options_;
  std::optional<std::vector<std::string>> columns_;
  std::vector<DatasetRow> rows_;
};

inline void read_text_rows(DatasetInput& input, RowCollector& rows) {
  DatasetLines lines(input);
  while (!rows.full()) {
    const std::optional<std::string_view> line = lines.next();
    if (!line) return;
    require_utf8_row(*line, lines.where());
    rows.add({.text = std::string(*line)});
  }
}

template <class Rows>
void read_json_lines(DatasetInput& input, Rows& rows) {
  DatasetLines lines(input);
  while (!rows.full()) {
    const std::optional<std::string_view> line = lines.next();
    if (!line) return;
    if (line->find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::string where = lines.where();
    rows.add(parse_json(*line, where), where);
  }
}

/// The whole of a text. Errors: capacity above `limit` bytes.
inline std::string whole_text(DatasetInput& input, std::uint64_t limit, std::string_view advice) {
  std::string text;
  for (std::string_view block = input.next(); !block.empty(); block = input.next()) {
    if (block.size() > limit - text.size())
      fail(ErrorCode::capacity, input.path(), ": more than ", limit, " bytes of text; ", advice);
    text += block;
  }
  return text;
}

template <class Rows>
void read_json_array(DatasetInput& input, Rows& rows) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 30;
  const Json list = parse_json(whole_text(input, limit, "store the rows as JSON lines (.jsonl)"), input.path());
  if (!list.is_array()) {
    fail(ErrorCode::malformed, input.path(), ": expected a JSON array of objects, found ", list.type_name(),
         "; JSON lines have the ending .jsonl");
  }
  for (std::size_t row = 0; row < list.size() && !rows.full(); ++row) {
    rows.add(list[row], input.path() + ", row " + std::to_string(row + 1));
  }
}

template <class Rows>
void read_csv_rows(DatasetInput& input, Rows& rows) {
  CsvReader reader(input);
  std::vector<std::string> names, fields;
  const auto is_blank = [](const std::vector<std::string>& record) { return record.size() == 1 && record[0].empty(); };
  while (reader.next(names) && is_blank(names)) continue;
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    fail(ErrorCode::malformed, reader.where(), ": two columns have the same name");
  }
  while (!rows.full() && reader.next(fields)) {
    if (is_blank(fields)) continue;
    const std::string where = reader.where();
    if (fields.size() != names.size()) {
      fail(ErrorCode::malformed, where, ": ", fields.size(), " fields, and the first line names ", names.size(),
           " columns");
    }
    Json row = Json::object();
    for (std::size_t column = 0; column < names.size(); ++column) {
      require_utf8_row(fields[column], where);
      row[names[column]] = std::move(fields[column]);
    }
    rows.add(row, where);
  }
}

}  // namespace detail

namespace detail {

/// The rows of a file that is no stream.
template <class Rows>
void read_objects(DatasetFormat format, DatasetInput& input, Rows& rows) {
  if (format == DatasetFormat::json_lines) return read_json_lines(input, rows);
  if (format == DatasetFormat::csv) return read_csv_rows(input, rows);
  read_json_array(input, rows);
}

}  // namespace detail

/// The rows of a .jsonl, .json or .csv file with all their columns, in order; at most `max_rows`, 0: all.
/// Errors: those of `read_dataset`; unsupported for a text file.
inline std::vector<DatasetObject> read_dataset_objects(const std::string& path, std::size_t max_rows = 0) {
  const DatasetFormat format = dataset_format(path);
  if (format == DatasetFormat::text) fail(ErrorCode::unsupported, path, ": expected a .jsonl, .json or .csv file");
  DatasetInput input(path, DatasetOptions().max_bytes);
  detail::ObjectCollector rows(max_rows);
  detail::read_objects(format, input, rows);
  return rows.take();
}

/// The rows of a dataset that hold text, in order: objects (one a line in .jsonl, an array in .json), records of a .csv
/// file whose first line names the columns, or the lines of a .txt file.
/// Errors: not_found, io, those of the format with the line; invalid_argument for a column that is not there and for a
/// dataset without text.
inline std::vector<DatasetRow> read_dataset(const std::string& path, const DatasetOptions& options = {}) {
  const DatasetFormat format = dataset_format(path);
  DatasetInput input(path, options.max_bytes);
  detail::RowCollector rows(path, options);
  if (format == DatasetFormat::text) {
    detail::read_text_rows(input, rows);
  } else {
    detail::read_objects(format, input, rows);
  }
  return rows.take();
}

/// The whole text of a file that `is_stream`. Errors: not_found, io, malformed where it is not UTF-8, with the line;
/// invalid_argument where it is empty, and for columns.
inline std::string read_stream(const std::string& path, const DatasetOptions& options = {}) {
  if (!options.columns.empty()) {
    fail(ErrorCode::invalid_argument, path,
         ": a text file has no columns; name columns of .jsonl, .json or .csv files");
  }
  DatasetInput input(path, options.max_bytes);
  std::string text = detail::whole_text(input, options.max_bytes, "give a smaller file");
  if (text.empty()) fail(ErrorCode::invalid_argument, path, ": the dataset is empty");
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decode_utf8(text, at);
    if (step.kind != Utf8Step::Kind::valid) {
      const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
      fail(ErrorCode::malformed, path, ", line ", line, ": the text is not UTF-8");
    }
    at += step.length;
  }
  return text;
}

}  // namespace tulle
