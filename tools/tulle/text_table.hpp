// SPDX-License-Identifier: Apache-2.0
/// \file Tables for a terminal and in markdown.
#pragma once

#include <string>
#include <vector>

/// The first row is the heading; a row may be shorter than it.
using TableRows = std::vector<std::vector<std::string>>;

/// Columns as wide as their widest cell.
std::string text_table(const TableRows& rows);

/// As GitHub reads it.
std::string markdown_table(const TableRows& rows);

/// `text` with markdown's special characters escaped.
std::string markdown_text(const std::string& text);
