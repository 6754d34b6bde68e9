// SPDX-License-Identifier: Apache-2.0
/// \file Functions by which each file of the extension adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace tulle::python {

namespace nb = nanobind;

void bind_tokenizer(nb::module_& module);
void bind_run(nb::module_& module);
void bind_pipeline(nb::module_& module);

}  // namespace tulle::python
