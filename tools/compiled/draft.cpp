// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/make_speculation_inline.hpp>
