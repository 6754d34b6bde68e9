// SPDX-License-Identifier: Apache-2.0
/// \file Everything for text generation. Our own headers never include it.
#pragma once

#include <tulle/core/error.hpp>
#include <tulle/generate/text_generation.hpp>
