// SPDX-License-Identifier: Apache-2.0
/// \file What `tulle compress` prints when it is done.
#pragma once

#include <string>

#include "report_tables.hpp"

/// Facts, a table by role, the evaluation, and the notes.
std::string compression_text(const CompressionReport& report);
