// SPDX-License-Identifier: Apache-2.0
/// \file The only include of cpp-httplib; programs that do not need it do without (L0).
#pragma once

#include <httplib.h>
