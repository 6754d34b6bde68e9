// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/session_inline.hpp>
#include <tulle/generate/text_generation_inline.hpp>
#include <tulle/generate/text_stream_inline.hpp>
