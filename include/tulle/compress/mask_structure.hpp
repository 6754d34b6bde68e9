// SPDX-License-Identifier: Apache-2.0
/// \file The text form of a sparsity structure: "8:16", "2:4", "8:16-gap4", "row", "0:0" (L5).
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/recipe_expression.hpp>
#include <tulle/core/error.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle {

/// Reads "0:0", "unstructured" or "" (any weights of the matrix), "row" (of each row), "N:M" (`keep` = N of every `of`
/// = M neighbours of a row) or "8:16-gap4". `place` begins the message of an error.
/// Errors: invalid_argument; unsupported for another gap.
inline SparsityStructure parse_mask_structure(std::string_view text, std::string_view place) {
  using Kind = SparsityStructure::Kind;
  constexpr std::size_t largest = 64;
  if (text.empty() || text == "0:0" || text == "unstructured") return {};
  if (text == "row") return {Kind::row};
  SparsityStructure structure{Kind::balanced};
  const auto read = [&text](std::size_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_read = error == std::errc();
    if (is_read) text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return is_read;
  };
  const auto skip = [&text](std::string_view token) {
    const bool is_there = text.starts_with(token);
    if (is_there) text.remove_prefix(token.size());
    return is_there;
  };
  const std::string whole = detail::quoted_name(text);
  bool is_read = read(structure.keep) && skip(":") && read(structure.of);
  if (is_read && skip("-gap")) is_read = read(structure.max_gap) && structure.max_gap > 0;
  if (!is_read || !text.empty() || structure.keep == 0 || structure.keep >= structure.of || structure.of > largest) {
    fail(ErrorCode::invalid_argument, place, ": ", whole,
         " is no structure of sparsity; known are 0:0 (unstructured), row, N:M with M at most ", largest,
         " (8:16 keeps 8 of 16), and 8:16-gap4");
  }
  if (structure.max_gap != 0 && structure != SparsityStructure{Kind::balanced, 8, 16, 4}) {
    fail(ErrorCode::unsupported, place, ": ", whole,
         " is not available; the structure with a largest gap is 8:16-gap4");
  }
  return structure;
}

/// What N counts in a "N:M" of SparseML's and llm-compressor's modifiers. Their code prunes N, NVIDIA's notation keeps
/// N; for 2:4 both are the same. The sparsity beside it says which was meant: 1:4 with sparsity 0.25 prunes one of four.
enum class MaskCount { kept, as_sparsity_says };

/// Fills structure and sparsity of a plan. Without a sparsity a balanced structure keeps N of M.
/// Errors: invalid_argument where the two contradict each other or the sparsity of another structure is missing.
inline void set_sparsity(PruningPlan& plan, SparsityStructure structure, std::optional<double> sparsity,
                         MaskCount count, std::string_view place) {
  plan.structure = structure;
  if (structure.kind != SparsityStructure::Kind::balanced) {
    if (!sparsity)
      fail(ErrorCode::invalid_argument, place, ": the sparsity is missing, the share of zeros from 0 to 1");
    plan.sparsity = *sparsity;
    return;
  }
  const auto pruned_share = [](const SparsityStructure& each) {
    return 1 - static_cast<double>(each.keep) / static_cast<double>(each.of);
  };
  const auto is_near = [&](const SparsityStructure& each) { return std::abs(*sparsity - pruned_share(each)) < 0.005; };
  if (sparsity && !is_near(structure)) {
    SparsityStructure pruned = structure;
    pruned.keep = structure.of - structure.keep;
    if (count == MaskCount::kept || !is_near(pruned)) {
      fail(ErrorCode::invalid_argument, place, ": a sparsity of ", detail::number_text(*sparsity), " contradicts ",
           structure.keep, ":", structure.of, ", which is a sparsity of ", detail::number_text(pruned_share(structure)),
           "; leave one of them out");
    }
    plan.structure = pruned;
  }
  plan.sparsity = pruned_share(plan.structure);
}

/// "0:0", "row", "8:16", "8:16-gap4".
inline std::string mask_structure_text(const SparsityStructure& structure) {
  switch (structure.kind) {
    case SparsityStructure::Kind::matrix: return "0:0";
    case SparsityStructure::Kind::row: return "row";
    case SparsityStructure::Kind::balanced: break;
  }
  const std::string text = std::to_string(structure.keep) + ":" + std::to_string(structure.of);
  return structure.max_gap == 0 ? text : text + "-gap" + std::to_string(structure.max_gap);
}

}  // namespace tulle
