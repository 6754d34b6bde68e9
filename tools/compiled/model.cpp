// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

template class tulle::Model<tulle::AnyKernel>;
