// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/checkpoint_inline.hpp>
#include <tulle/format/encoding/encodings_inline.hpp>
#include <tulle/model/families_inline.hpp>
