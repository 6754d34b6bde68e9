// SPDX-License-Identifier: Apache-2.0
/// \file The sections of tokenizer.json as the steps of a pipeline (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/text/pipeline_tokenizer.hpp>

namespace tulle::detail {

/// `object[key]`. Errors: malformed when it is not there.
inline const Json& member(const Json& object, const char* key, std::string_view where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) fail(ErrorCode::malformed, where, ": \"", key, "\" is missing");
  return *found;
}

template <class T>
T required(const Json& object, const char* key, std::string_view where) {
  member(object, key, where);
  return json_value(object, key, T(), where);
}

inline Token to_token(const Json& id, std::string_view where) {
  const auto largest = static_cast<std::int64_t>(Vocabulary::largest_size) - 1;
  const std::int64_t value = id.is_number_integer() ? id.get<std::int64_t>() : -1;
  if (value < 0 || value > largest)
    fail(ErrorCode::malformed, where, ": a token id is not a whole number from 0 to ", largest);
  return static_cast<Token>(value);
}

/// A section of the file; null where it is absent.
inline const Json& section(const Json& object, const char* key) {
  static const Json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

/// Calls `visit` with a step and its type, for every step of a section: null has none, a Sequence has those in `list`.
template <class Visit>
void for_each_step(const Json& json, const char* list, std::string_view where, Visit&& visit) {
  if (json.is_null()) return;
  const auto type = required<std::string>(json, "type", where);
  if (type != "Sequence") {
    visit(json, type);
    return;
  }
  const Json& steps = member(json, list, where);
  if (!steps.is_array()) fail(ErrorCode::malformed, where, ": \"", list, "\" is not an array");
  for (const Json& step : steps) for_each_step(step, list, where, visit);
}

[[noreturn]] inline void reject_step(std::string_view what, std::string_view type, std::string_view where) {
  fail(ErrorCode::unsupported, where, ": the ", what, " \"", type, "\" is not supported");
}

/// {"String": text} or {"Regex": pattern}.
inline Regex pattern_from_json(const Json& step, std::string_view where) {
  const Json& pattern = member(step, "pattern", where);
  if (pattern.is_object() && pattern.contains("String")) {
    return Regex::literal(required<std::string>(pattern, "String", where), where);
  }
  return Regex(required<std::string>(pattern, "Regex", where), where);
}

inline Normalizer normalizer_from_json(const Json& json, std::string_view where) {
  std::vector<NormalizerStep> steps;
  for_each_step(json, "normalizers", where, [&](const Json& step, const std::string& type) {
    if (type == "NFC") {
      steps.emplace_back(ComposeStep{});
    } else if (type == "Prepend") {
      steps.emplace_back(PrependStep{required<std::string>(step, "prepend", where)});
    } else if (type == "Replace") {
      steps.emplace_back(ReplaceStep{pattern_from_json(step, where), required<std::string>(step, "content", where)});
    } else {
      reject_step("normalizer", type, where);
    }
  });
  return Normalizer(std::move(steps));
}

inline SplitBehavior behavior_from_json(const Json& step, std::string_view where) {
  const auto name = required<std::string>(step, "behavior", where);
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  fail(ErrorCode::unsupported, where, ": the split behavior \"", name, "\" is not known");
}

/// The replacement, and whether it is prepended never, first or always; older files say "add_prefix_space".
struct Metaspace {
  std::string replacement;
  std::string scheme;
};

inline Metaspace metaspace_from_json(const Json& step, std::string_view where) {
  Metaspace result;
  result.replacement = required<std::string>(step, "replacement", where);
  result.scheme =
      json_value(step, "prepend_scheme",
                 std::string(json_value(step, "add_prefix_space", true, where) ? "always" : "never"), where);
  if (result.replacement.empty()) fail(ErrorCode::malformed, where, ": Metaspace with an empty replacement");
  if (result.scheme != "never" && result.scheme != "first" && result.scheme != "always") {
    fail(ErrorCode::unsupported, where, ": the Metaspace prepend_scheme \"", result.scheme, "\" is not known");
  }
  return result;
}

inline PreTokenizer pre_tokenizer_from_json(const Json& json, std::string_view where) {
  std::vector<PreTokenizerStep> steps;
  const auto split = [&](std::string_view pattern, SplitBehavior behavior, bool invert = false) {
    steps.emplace_back(SplitStep{Regex(pattern, where), behavior, invert});
  };
  for_each_step(json, "pretokenizers", where, [&](const Json& step, const std::string& type) {
    if (type == "ByteLevel") {
      if (json_value(step, "add_prefix_space", true, where)) steps.emplace_back(PrefixStep{" "});
      if (json_value(step, "use_regex", true, where)) split(gpt2_pattern, SplitBehavior::isolated);
      steps.emplace_back(ByteLevelStep{});
    } else if (type == "Split") {
      steps.emplace_back(SplitStep{pattern_from_json(step, where), behavior_from_json(step, where),
                                   json_value(step, "invert", false, where)});
    } else if (type == "Digits") {
      const bool is_individual = json_value(step, "individual_digits", false, where);
      split(is_individual ? R"(\p{N})" : R"(\p{N}+)", SplitBehavior::isolated);
    } else if (type == "Punctuation") {
      split(R"([\p{P}$+<=>^`|~])",
            step.contains("behavior") ? behavior_from_json(step, where) : SplitBehavior::isolated);
    } else if (type == "WhitespaceSplit") {
      split(R"(\s)", SplitBehavior::removed);
    } else if (type == "Whitespace") {
      // The \w of Rust's regular expressions has the join controls.
      split(R"([\w\x{200C}\x{200D}]+|[^\w\x{200C}\x{200D}\s]+)", SplitBehavior::removed, true);
    } else if (type == "Metaspace") {
      const Metaspace metaspace = metaspace_from_json(step, where);
      steps.emplace_back(SpaceStep{metaspace.replacement});
      if (metaspace.scheme != "never") {
        steps.emplace_back(PrefixStep{metaspace.replacement, metaspace.scheme == "first"});
      }
      if (json_value(step, "split", true, where)) {
        steps.emplace_back(
            SplitStep{Regex::literal(metaspace.replacement, where), SplitBehavior::merged_with_next, false});
      }
    } else {
      reject_step("pre-tokenizer", type, where);
    }
  });
  return PreTokenizer(std::move(steps));
}

inline StripDecode strip_from_json(const Json& step, std::string_view where) {
  const auto content = required<std::string>(step, "content", where);
  if (content.size() != 1) fail(ErrorCode::unsupported, where, ": a Strip decoder of other than one ASCII character");
  return {content[0], json_value(step, "start", std::size_t{0}, where),
          json_value(step, "stop", std::size_t{0}, where)};
}

inline TokenDecoder token_decoder_from_json(const Json& json, std::string_view where) {
  if (json.is_null()) return TokenDecoder({}, " ", std::nullopt);  // as `tokenizers` joins tokens without a decoder
  std::vector<TokenDecoderStep> steps;
  std::optional<StripDecode> text_strip;
  bool is_fused = false;
  for_each_step(json, "decoders", where, [&](const Json& step, const std::string& type) {
    if (is_fused && (type != "Strip" || text_strip)) reject_step("decoder after Fuse", type, where);
    if (type == "ByteLevel") {
      steps.emplace_back(ByteLevelDecode{});
    } else if (type == "ByteFallback") {
      steps.emplace_back(ByteFallbackDecode{});
    } else if (type == "Metaspace") {
      const Metaspace metaspace = metaspace_from_json(step, where);
      steps.emplace_back(ReplaceDecode{metaspace.replacement, " ", metaspace.scheme != "never"});
    } else if (type == "Replace") {
      const Json& pattern = member(step, "pattern", where);
      if (pattern.is_object() && pattern.contains("Regex")) reject_step("decoder", "Replace with a Regex", where);
      const auto old = required<std::string>(pattern, "String", where);
      if (old.empty()) fail(ErrorCode::malformed, where, ": a Replace decoder with an empty pattern");
      steps.emplace_back(ReplaceDecode{old, required<std::string>(step, "content", where), false});
    } else if (type == "Fuse") {
      is_fused = true;
    } else if (type == "Strip" && is_fused) {
      text_strip = strip_from_json(step, where);
      if (text_strip->end != 0) reject_step("decoder after Fuse", "Strip with stop", where);
    } else if (type == "Strip") {
      steps.emplace_back(strip_from_json(step, where));
    } else {
      reject_step("decoder", type, where);
    }
  });
  return TokenDecoder(std::move(steps), "", text_strip);
}

/// The tokens that "post_processor" puts around a text: those of TemplateProcessing's "single".
inline void add_template(const Json& json, Pipeline& pipeline, std::string_view where) {
  for_each_step(json, "processors", where, [&](const Json& step, const std::string& type) {
    if (type == "ByteLevel") return;  // changes offsets only
    if (type != "TemplateProcessing") reject_step("post-processor", type, where);
    std::vector<Token> prefix, suffix;
    bool is_after = false;
    for (const Json& part : member(step, "single", where)) {
      if (part.is_object() && part.contains("Sequence")) {
        if (std::exchange(is_after, true)) fail(ErrorCode::unsupported, where, ": a template that repeats the text");
        continue;
      }
      const auto name = required<std::string>(member(part, "SpecialToken", where), "id", where);
      const Json& known = member(member(step, "special_tokens", where), name.c_str(), where);
      for (const Json& id : member(known, "ids", where)) (is_after ? suffix : prefix).push_back(to_token(id, where));
    }
    if (!is_after) fail(ErrorCode::unsupported, where, ": a template without the text");
    pipeline.prefix.insert(pipeline.prefix.begin(), prefix.begin(), prefix.end());
    pipeline.suffix.insert(pipeline.suffix.end(), suffix.begin(), suffix.end());
  });
}

}  // namespace tulle::detail
