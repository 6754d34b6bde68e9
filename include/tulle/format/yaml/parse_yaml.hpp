// SPDX-License-Identifier: Apache-2.0
/// \file Reads YAML, JSON and Markdown front matter into a tree; the only include of yaml-cpp (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <istream>
#include <span>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <tulle/core/error.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/yaml/yaml_node.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

namespace detail {

/// Builds the tree out of the parser's events. An alias is a copy of its anchor; the number of nodes is limited, so
/// that aliases of aliases cannot fill the memory.
class YamlTreeBuilder final : public YAML::EventHandler {
 public:
  YamlTreeBuilder(std::string_view where, std::size_t first_line) : where_(where), first_line_(first_line) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { put(make(mark, {}), anchor); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode copy;
    bool is_complete = false;
    for (const auto& [id, node, size] : anchors_) {
      if (id != anchor) continue;
      is_complete = true;
      count(size, line_of(mark));
      copy = node;
    }
    if (!is_complete) fail_at(ErrorCode::malformed, where_, line_of(mark), "an alias inside its own anchor");
    require_depth(depth_of(copy), line_of(mark));
    put(std::move(copy), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = make(mark, tag);
    node.is_quoted = tag == "!";
    const bool is_null = !node.is_quoted && (value == "~" || value == "null" || value == "Null" || value == "NULL");
    if (!is_null && (!value.empty() || node.is_quoted)) node.kind = YamlNode::Kind::scalar;
    if (!is_null) node.text = value;
    put(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  YamlNode take() { return std::move(root_); }

 private:
  static constexpr std::size_t deepest = 64, most_nodes = 100000;

  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;        // of a mapping: a key that waits for its value
    std::size_t first_node = 0;  // the count before it
  };
  struct Anchored {
    YAML::anchor_t id = 0;
    YamlNode node;
    std::size_t size = 0;
  };

  std::size_t line_of(const YAML::Mark& mark) const {
    return first_line_ + static_cast<std::size_t>(mark.line < 0 ? 0 : mark.line);
  }

  YamlNode make(const YAML::Mark& mark, const std::string& tag) {
    YamlNode node;
    node.line = line_of(mark);
    if (tag != "?" && tag != "!") node.tag = tag;
    count(1, node.line);
    return node;
  }

  void count(std::size_t nodes, std::size_t line) {
    nodes_ += nodes;
    if (nodes_ > most_nodes) fail_at(ErrorCode::capacity, where_, line, "more than ", most_nodes, " values");
  }

  void require_depth(std::size_t inner, std::size_t line) const {
    if (open_.size() + inner <= deepest) return;
    fail_at(ErrorCode::malformed, where_, line, "nested deeper than ", deepest, " levels");
  }

  static std::size_t depth_of(const YamlNode& node) {
    std::size_t inner = 0;
    for (const YamlNode& item : node.items) inner = std::max(inner, depth_of(item));
    return node.is_sequence() || node.is_mapping() ? inner + 1 : 0;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    Open next{make(mark, tag), anchor, false, nodes_};
    next.node.kind = kind;
    require_depth(1, next.node.line);
    open_.push_back(std::move(next));
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    merge(done.node);
    const std::size_t size = nodes_ - done.first_node + 1;
    if (done.anchor != 0) {
      count(size, done.node.line);  // the copy
      anchors_.push_back({done.anchor, done.node, size});
    }
    put(std::move(done.node), 0);
  }

  /// Replaces `<<: mapping`, or a list of these, by the keys that the mapping lacks (YAML's type "merge").
  void merge(YamlNode& node) {
    if (!node.is_mapping()) return;
    const auto key = std::find_if(node.keys.begin(), node.keys.end(),
                                  [](const YamlNode& each) { return each.text == "<<" && !each.is_quoted; });
    if (key == node.keys.end()) return;
    const auto value = node.items.begin() + (key - node.keys.begin());
    const YamlNode merged = std::move(*value);
    node.keys.erase(key);
    node.items.erase(value);
    const std::span<const YamlNode> sources = merged.is_sequence() ? std::span(merged.items) : std::span(&merged, 1);
    for (const YamlNode& source : sources) {
      if (!source.is_mapping()) {
        fail_at(ErrorCode::malformed, where_, merged.line, "<< takes a mapping or a list of these, not ",
                source.kind_name());
      }
      for (std::size_t i = 0; i < source.keys.size(); ++i) {
        if (node.find(source.keys[i].text) != nullptr) continue;
        node.keys.push_back(source.keys[i]);
        node.items.push_back(source.items[i]);
      }
    }
  }

  void put(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_.push_back({anchor, node, 1});
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_mapping() && !parent.has_key) {
      if (!node.is_scalar()) fail_at(ErrorCode::malformed, where_, node.line, "a key that is ", node.kind_name());
      if (parent.node.find(node.text) != nullptr) {
        fail_at(ErrorCode::malformed, where_, node.line, "the key ", quoted_name(node.text), " appears twice");
      }
      parent.node.keys.push_back(std::move(node));
      parent.has_key = true;
      return;
    }
    parent.node.items.push_back(std::move(node));
    parent.has_key = false;
  }

  std::string_view where_;
  std::size_t first_line_;
  std::vector<Open> open_;  // outermost first
  std::vector<Anchored> anchors_;
  std::size_t nodes_ = 0;
  YamlNode root_;
};

/// Characters that are read where they are.
class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // never written: there is no put area
    setg(begin, begin, begin + text.size());
  }
};

/// The text between two lines of "---" at the beginning of a Markdown file, after blank lines, or the whole text.
/// `first_line` is the line of the file that it begins at.
inline std::string_view front_matter(std::string_view text, std::size_t& first_line) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF", fence = "---";
  std::string_view rest = text;
  if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
  const auto next_line = [&rest] {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  };
  std::size_t lines = 1;
  std::string_view line = next_line();
  for (; !rest.empty() && line.find_first_not_of(" \t") == std::string_view::npos; ++lines) line = next_line();
  const std::string_view content = rest;
  while (line == fence && !rest.empty()) {
    const std::size_t size = content.size() - rest.size();
    if (next_line() != fence) continue;
    first_line = lines + 1;
    return content.substr(0, size);
  }
  first_line = 1;
  return text;
}

}  // namespace detail

/// Reads one document: YAML, JSON, or the front matter of a Markdown file. `where` names the source in messages.
/// Limits: 1 MiB, 64 levels, 100000 values with those of aliases.
/// Errors: malformed for text that is not UTF-8 or not YAML and for keys that appear twice, with the line; capacity.
inline YamlNode parse_yaml(std::string_view text, std::string_view where) {
  constexpr std::size_t longest = std::size_t{1} << 20;
  if (text.size() > longest) {
    fail(ErrorCode::capacity, where, ": ", text.size(), " bytes are too many; at most ", longest);
  }
  if (!is_valid_utf8(text) || text.find('\0') != std::string_view::npos) {
    fail(ErrorCode::malformed, where, ": must be text in UTF-8");
  }
  std::size_t first_line = 1;
  detail::ViewBuffer buffer(detail::front_matter(text, first_line));
  std::istream stream(&buffer);
  detail::YamlTreeBuilder builder(where, first_line);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    detail::YamlTreeBuilder second(where, first_line);
    if (parser.HandleNextDocument(second)) {
      if (const YamlNode rest = second.take(); !rest.is_null()) {
        detail::fail_at(ErrorCode::malformed, where, rest.line, "a second document; there may be one");
      }
    }
  } catch (const YAML::Exception& error) {
    const std::size_t line = first_line + static_cast<std::size_t>(error.mark.line < 0 ? 0 : error.mark.line);
    detail::fail_at(ErrorCode::malformed, where, line, "not valid YAML: ", error.msg);
  }
  return builder.take();
}

}  // namespace tulle
