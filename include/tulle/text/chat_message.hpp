// SPDX-License-Identifier: Apache-2.0
/// \file One turn of a conversation (L2, text).
#pragma once

#include <string>

namespace tulle {

struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant", or what else the template knows
  std::string content;
};

}  // namespace tulle
