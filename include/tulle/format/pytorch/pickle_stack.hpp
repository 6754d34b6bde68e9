// SPDX-License-Identifier: Apache-2.0
/// \file The values that a pickle puts on its stack and remembers (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/format/byte_reader.hpp>

namespace tulle::detail {

/// Every value has 16 bytes and none owns another, so a pickle of N bytes takes at most some 50 N bytes of memory, and no
/// nesting is too deep. Errors: malformed where a value is missing or of another kind.
class PickleStack {
 protected:
  enum class Kind : std::uint8_t { other, integer, text, mark, tuple, dict, global, storage, tensor };

  struct Value {
    Kind kind = Kind::other;
    std::uint32_t size = 0;  // of texts and tuples
    std::uint64_t at =
        0;  // the integer; else where it is: in the pickle, in `items_`, `storages_`, `tensors_`; a number
  };
  /// Lifetime: that of the bytes.
  PickleStack(std::span<const std::byte> pickle, std::string_view where) : pickle_(pickle), reader_(pickle, where) {}

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorCode::malformed, reader_.where(), ": the pickle ", what, " at byte ", reader_.position());
  }

  void push(Kind kind, std::uint64_t at = 0, std::size_t size = 0) {
    stack_.push_back({kind, static_cast<std::uint32_t>(size), at});
  }
  Value pop() {
    if (stack_.empty() || stack_.back().kind == Kind::mark) refuse("takes a value where there is none");
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  std::string_view text(const Value& value) const {
    if (value.kind != Kind::text) refuse("has no text where one is needed");
    const auto bytes = pickle_.subspan(static_cast<std::size_t>(value.at), value.size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const Value> items(const Value& tuple) const {
    if (tuple.kind != Kind::tuple) refuse("has no tuple where one is needed");
    return std::span(items_).subspan(static_cast<std::size_t>(tuple.at), tuple.size);
  }
  std::uint64_t number(const Value& value) const {
    if (value.kind != Kind::integer || value.at > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      refuse("has no size where one is needed");
    }
    return value.at;
  }

  /// The values behind the last mark.
  std::span<const Value> marked() const {
    std::size_t begin = stack_.size();
    while (begin != 0 && stack_[begin - 1].kind != Kind::mark) --begin;
    if (begin == 0) refuse("has no mark");
    return std::span(stack_).subspan(begin);
  }
  void make_tuple(std::span<const Value> values) {  // which are removed from the stack's end
    const std::size_t at = items_.size(), count = values.size();
    items_.insert(items_.end(), values.begin(), values.end());
    stack_.resize(stack_.size() - count);
    push(Kind::tuple, at, count);
  }
  std::span<const Value> last(std::size_t count) const {
    const std::span<const Value> values(stack_);
    const auto is_mark = [](const Value& value) { return value.kind == Kind::mark; };
    if (count > values.size() ||
        std::any_of(values.end() - static_cast<std::ptrdiff_t>(count), values.end(), is_mark)) {
      refuse("takes a value where there is none");
    }
    return values.last(count);
  }

  std::vector<std::uint64_t> numbers(const Value& tuple) const {
    constexpr std::size_t highest_rank = 8;
    const std::span<const Value> list = items(tuple);
    if (list.size() > highest_rank) refuse("has a tensor of too many dimensions");
    std::vector<std::uint64_t> result;
    for (const Value& value : list) result.push_back(number(value));
    return result;
  }

  void remember(std::uint32_t index) {
    if (index > memo_.size()) refuse("remembers values in another order than torch.save");
    const Value value = last(1)[0];
    if (index == memo_.size()) memo_.emplace_back();
    memo_[index] = value;
  }

  void recall(std::uint32_t index) {
    if (index >= memo_.size()) refuse("recalls a value that is not remembered");
    stack_.push_back(memo_[index]);
  }

  std::span<const std::byte> pickle_;
  ByteReader reader_;
  std::vector<Value> stack_, memo_, items_;
};

}  // namespace tulle::detail
