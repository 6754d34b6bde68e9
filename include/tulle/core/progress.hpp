// SPDX-License-Identifier: Apache-2.0
/// \file How long work reports itself (L0).
#pragma once

#include <functional>
#include <string_view>

namespace tulle {

/// Called with what is being done and the fraction that is done, in [0, 1]; always on the thread that started the work.
/// An empty function is allowed and means silence.
using Progress = std::function<void(std::string_view what, double fraction)>;

}  // namespace tulle
