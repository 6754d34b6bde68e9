// SPDX-License-Identifier: Apache-2.0
/// \file The instructions of a regular expression, and how they are combined (L2).
#pragma once

#include <cstdint>
#include <vector>

#include <tulle/text/code_point_set.hpp>

namespace tulle::detail {

struct RegexInstruction {
  enum class Op : std::uint8_t {
    consume,     ///< one code point of set `a`
    fork,        ///< go on at +a, or with lower priority at +b
    jump,        ///< go on at +a
    look,        ///< the next code point exists and is in set `a`
    look_not,    ///< there is no next code point, or it is not in set `a`
    line_begin,  ///< text begin, or after a line feed that is not the text's last byte
    text_begin,
    match,
  };
  Op op = Op::match;
  std::int32_t a = 0;
  std::int32_t b = 0;
};

/// Instructions with relative jumps, so that a fragment can be copied, embedded and repeated.
using RegexFragment = std::vector<RegexInstruction>;

struct RegexProgram {
  RegexFragment code;  ///< ends with `match`
  std::vector<CodePointSet> sets;
};

inline void append(RegexFragment& code, const RegexFragment& more) {
  code.insert(code.end(), more.begin(), more.end());
}

inline std::int32_t length(const RegexFragment& code) {
  return static_cast<std::int32_t>(code.size());
}

/// A fork to `near` (the next instruction) or `far`; a lazy one prefers `far`.
inline RegexInstruction fork_to(std::int32_t near, std::int32_t far, bool is_lazy) {
  return {RegexInstruction::Op::fork, is_lazy ? far : near, is_lazy ? near : far};
}

/// first|second
inline RegexFragment alternate(const RegexFragment& first, const RegexFragment& second) {
  RegexFragment code{fork_to(1, length(first) + 2, false)};
  append(code, first);
  code.push_back({RegexInstruction::Op::jump, length(second) + 1, 0});
  append(code, second);
  return code;
}

/// body? (with `after_skip` where the body is left out)
inline RegexFragment optional_of(const RegexFragment& body, bool is_lazy, const RegexFragment& after_skip = {}) {
  RegexFragment code;
  const std::int32_t exit = length(after_skip);
  code.push_back(fork_to(1, length(body) + (exit > 0 ? 2 : 1), is_lazy));
  append(code, body);
  if (exit > 0) code.push_back({RegexInstruction::Op::jump, exit + 1, 0});
  append(code, after_skip);
  return code;
}

/// body* (with `after_loop` when no further body follows)
inline RegexFragment star_of(const RegexFragment& body, bool is_lazy, const RegexFragment& after_loop = {}) {
  RegexFragment code{fork_to(1, length(body) + 2, is_lazy)};
  append(code, body);
  code.push_back({RegexInstruction::Op::jump, -(length(body) + 1), 0});
  append(code, after_loop);
  return code;
}

}  // namespace tulle::detail
