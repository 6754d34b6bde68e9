// SPDX-License-Identifier: Apache-2.0
/// \file Progress callback for long-running work (L0).
#pragma once

#include <functional>
#include <string_view>

namespace tulle {

/// Called with the name of the work and the fraction that is done, in [0, 1]; always on the thread that started the
/// work. An empty function is allowed: no reports.
using Progress = std::function<void(std::string_view what, double fraction)>;

}  // namespace tulle
