// SPDX-License-Identifier: Apache-2.0
/// \file The extension's entry, and the library's errors as Python's exceptions.
#include <exception>

#include <tulle/core/error.hpp>

#include "bindings.hpp"
#include "gil.hpp"

namespace tulle::python {

namespace {

/// The built-in exception that a Python programmer expects for a code.
PyObject* exception_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return PyExc_ValueError;
    case ErrorCode::not_found: return PyExc_FileNotFoundError;
    case ErrorCode::io: return PyExc_OSError;
    case ErrorCode::memory: return PyExc_MemoryError;
    case ErrorCode::unsupported: return PyExc_NotImplementedError;
    default: return PyExc_RuntimeError;
  }
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    PyErr_SetString(exception_of(error.code()), error.what());
  }
}

}  // namespace

}  // namespace tulle::python

NB_MODULE(_core, module) {
  nanobind::set_leak_warnings(false);  // a daemon thread, or a stream that is half read, may live at the end
  nanobind::module_::import_("atexit").attr("register")(
      nanobind::cpp_function([] { tulle::python::InterpreterGate::close(); }));
  nanobind::register_exception_translator(tulle::python::translate);
  tulle::python::bind_tokenizer(module);
  tulle::python::bind_run(module);
  tulle::python::bind_pipeline(module);
}
