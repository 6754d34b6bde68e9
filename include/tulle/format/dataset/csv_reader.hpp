// SPDX-License-Identifier: Apache-2.0
/// \file Records of comma-separated values (L3).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/format/dataset/dataset_input.hpp>
#include <tulle/format/dataset/dataset_lines.hpp>

namespace tulle {

/// Reads RFC 4180: fields in quotes may hold commas, line ends and doubled quotes. Lines may end at "\n", "\r\n" or "\r".
/// Lifetime: `input` must outlive it. Threads: one at a time.
class CsvReader {
 public:
  explicit CsvReader(DatasetInput& input) : input_(input) {}

  /// The next record; false at the end of the file. Errors: malformed for a misplaced or unclosed quote, capacity for a
  /// record of more than `max_row_bytes`, those of `DatasetInput::next`.
  bool next(std::vector<std::string>& fields) {
    fields.clear();
    line_ = lines_ + 1;
    bytes_ = 0;
    int letter = take();
    if (letter == end_of_file) return false;
    while (true) {
      std::string field;
      if (letter == '"') {
        letter = read_quoted(field);
      } else {
        for (; !ends_field(letter); letter = take()) {
          if (letter == '"') fail_here("a quote inside a field without quotes; put the field in quotes and double it");
          append(field, letter);
        }
      }
      if (fields.size() == max_fields) fail(ErrorCode::capacity, where(), ": more than ", max_fields, " fields");
      fields.push_back(std::move(field));
      if (letter != ',') break;
      letter = take();
    }
    if (letter == '\r' && peek() == '\n') (void)take();
    return true;
  }

  std::size_t line() const noexcept { return line_; }  ///< where the last record begins, from 1

  /// "data.csv, line 7", for messages about the last record.
  std::string where() const { return input_.path() + ", line " + std::to_string(line_); }

 private:
  static constexpr int end_of_file = -1;
  static constexpr std::size_t max_fields = 65536;

  static bool ends_field(int letter) noexcept {
    return letter == ',' || letter == '\n' || letter == '\r' || letter == end_of_file;
  }

  [[noreturn]] void fail_here(std::string_view what) const { fail(ErrorCode::malformed, where(), ": ", what); }

  /// Reads to behind the closing quote; returns the character there.
  int read_quoted(std::string& field) {
    while (true) {
      int letter = take();
      if (letter == end_of_file) fail_here("a quote is not closed");
      if (letter == '"') {
        letter = take();
        if (ends_field(letter)) return letter;
        if (letter != '"') fail_here("text after a closing quote; double the quotes inside a field");
      }
      append(field, letter);
    }
  }

  void append(std::string& field, int letter) {
    if (++bytes_ > max_row_bytes)
      fail(ErrorCode::capacity, where(), ": the record has more than ", max_row_bytes, " bytes");
    field += static_cast<char>(letter);
  }

  int peek() {
    if (at_ == block_.size()) {
      block_ = input_.next();
      at_ = 0;
    }
    return block_.empty() ? end_of_file : static_cast<unsigned char>(block_[at_]);
  }

  int take() {
    const int letter = peek();
    if (letter == end_of_file) return letter;
    ++at_;
    lines_ += letter == '\n';
    return letter;
  }

  DatasetInput& input_;
  std::string_view block_;
  std::size_t at_ = 0;
  std::size_t lines_ = 0;  // line ends so far
  std::size_t line_ = 0;
  std::size_t bytes_ = 0;  // of the record
};

}  // namespace tulle
