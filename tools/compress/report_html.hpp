// SPDX-License-Identifier: Apache-2.0
/// \file The page that `tulle compress` writes beside its JSON report.
#pragma once

#include <string>

#include "report_tables.hpp"

/// A self-contained page: perplexity and size, error, sparsity and time of every matrix by role, the error of each
/// decoder layer, all figures as tables, notes.
std::string compression_html(const CompressionReport& report);
