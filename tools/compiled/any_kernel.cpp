// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/any_kernel.hpp>

template struct tulle::BasicAnyKernel<tulle::BuiltInKernels>;
