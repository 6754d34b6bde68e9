// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/export_model_inline.hpp>
