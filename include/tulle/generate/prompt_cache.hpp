// SPDX-License-Identifier: Apache-2.0
/// \file The keys and values of a prompt in a file, so that what begins alike is not computed again (L4).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/content_hash.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/mapped_file.hpp>
#include <tulle/core/types.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/generate/engine_options.hpp>
#include <tulle/generate/packed_cache.hpp>
#include <tulle/generate/session.hpp>

namespace tulle {

/// What keys and values depend on beside the tokens. Errors: io, not_found.
inline std::uint64_t prompt_cache_key(const Checkpoint& checkpoint, const PackOptions& pack,
                                      const EngineOptions& options) {
  std::string text = packed_key(checkpoint.path(), pack) + " " + options.cache + " " + options.cache_dtype;
  for (const std::size_t number : {options.sequence_length, options.window, options.sinks}) {
    text += " " + std::to_string(number);
  }
  for (const AdapterPath& adapter : checkpoint.adapters()) {
    text += " " + detail::hex(model_state(adapter.path)) + " " + std::to_string(adapter.scale);
  }
  return content_hash(text);
}

/// A file that holds a saved session behind a header. A file that is not complete, was damaged, or belongs to another
/// model or to other settings is as good as none, and `save` replaces it.
class PromptCache {
 public:
  /// Errors: invalid_argument where a file is there that is no prompt cache; io where the folder is missing.
  PromptCache(const std::string& path, std::uint64_t key) : path_(behind_links(path)), key_(key) {
    require_replaceable(path_, expected_magic);
  }

  /// Brings a session to as much of `tokens` as the file holds. Returns how many tokens that is: the others are to be
  /// appended.
  std::size_t restore(Session& session, std::span<const Token> tokens) {
    saved_ = 0;
    try {
      const MappedFile file(path_);
      Header header;
      if (file.bytes().size() < sizeof header) return 0;
      std::memcpy(&header, file.bytes().data(), sizeof header);
      const auto state = file.bytes().subspan(sizeof header);
      if (header.key != key_ || header.bytes != state.size() || header.hash != content_hash(state)) return 0;
      session.restore(state);
    } catch (const Error&) {
      session.clear();
      return 0;
    }
    const std::span<const Token> known = session.history();
    const auto common = static_cast<std::size_t>(
        std::mismatch(known.begin(), known.end(), tokens.begin(), tokens.end()).first - known.begin());
    if (common == tokens.size()) saved_ = common;
    session.truncate(common);
    return common;
  }

  /// Writes what a session has of its first `count` tokens, and leaves it with those. Errors: io; memory.
  void save(Session& session, std::size_t count) const {
    session.truncate(count);
    if (count == saved_) return;
    const std::vector<std::byte> state = session.save();
    Header header;
    header.key = key_;
    header.bytes = state.size();
    header.hash = content_hash(state);
    OutputFile file(path_, OutputFile::Readers::owner);
    file.write(std::as_bytes(std::span(&header, 1)));
    file.write(state);
    file.finish();
  }

 private:
  static constexpr std::array<char, 8> expected_magic = {'t', 'u', 'l', 'l', 'e', '.', 'p', 'c'};
  struct Header {
    std::array<char, 8> magic = expected_magic;
    std::uint64_t key = 0, bytes = 0, hash = 0;
  };

  std::string path_;
  std::uint64_t key_;
  std::size_t saved_ = 0;  // tokens that were asked for, where the file has them all
};

}  // namespace tulle
