// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/tokenizer_files_inline.hpp>
#include <tulle/sampling/sampling_options_inline.hpp>
#include <tulle/text/render_chat_inline.hpp>
