// SPDX-License-Identifier: Apache-2.0
/// \file What files beside a sentencepiece .model file say of it (L2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tulle/text/added_tokens.hpp>

namespace tulle {

struct SentencePieceOptions {
  std::vector<AddedToken> added_tokens = {};  ///< beside the model's control pieces; ids may lie behind its vocabulary
  bool add_bos = true;                        ///< with `add_special_tokens`, where the model has such a piece
  bool add_eos = false;
  std::optional<std::string> bos = {}, eos = {};  ///< contents, in place of the model's own
};

}  // namespace tulle
