// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/compress_inline.hpp>
#include <tulle/compress/plan/form_costs_inline.hpp>
#include <tulle/compress/plan/score_forms_inline.hpp>
