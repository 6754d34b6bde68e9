// SPDX-License-Identifier: Apache-2.0
/// \file The chat that `tulle serve` has at /, of the files in page/.
#pragma once

#include <tulle/serve/server_options.hpp>

/// It loads nothing from elsewhere; its policy allows its own script and style alone.
tulle::serve::WebPage chat_page();
