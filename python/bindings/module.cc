// The extension module `pteron._pteron`; the package around it gives it a Python face.
#include "python/bindings/convert.h"

PYBIND11_MODULE(_pteron, module) {
  module.doc() = "pteron's C++ side; use the package `pteron`";
  pteron::python::bind_program(module);
  pteron::python::bind_compile(module);
  pteron::python::bind_text(module);
  pteron::python::bind_session(module);
  pteron::python::bind_engine(module);
}
