// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/engine.hpp>

template class tulle::Model<tulle::AnyKernel>;
