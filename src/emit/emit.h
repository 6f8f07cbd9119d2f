// A legal module becomes the bytes of a program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "core/constant_source.h"
#include "ir/graph.h"

namespace pteron::emit {

// What one delegate node of a method runs.
struct DelegateBlob {
  std::string id;
  std::vector<std::byte> bytes;
  std::vector<std::pair<std::string, std::vector<std::byte>>> compile_specs;
};

// A method that returns values and computes nothing.
struct ConstantMethod {
  std::string name;
  std::vector<std::variant<int64_t, double, bool, std::string>> values;
};

struct NamedBytes {
  std::string key;
  uint64_t nbytes = 0;
  std::function<Status(const ByteSink&)> stream;
  uint32_t alignment = 64;
};

struct EmitRequest {
  const ir::Module* module = nullptr;
  std::vector<std::vector<DelegateBlob>> delegates;  // of each method, by the attribute `index` of its delegate nodes
  std::vector<ConstantMethod> constant_methods;      // in the order of the file
  std::vector<NamedBytes> named_data;
  bool state_outputs = false;                        // whether outputs that are updated inputs are outputs of the program too
  FileWriter* external = nullptr;                    // a `.ptd` that takes the constants; null: they go into the program
};

struct MethodReport {
  std::string name;
  uint64_t arena_bytes = 0;     // planned memory
  uint64_t unshared_bytes = 0;  // the same without sharing
  int64_t instructions = 0, values = 0;
};

struct EmitReport {
  std::vector<MethodReport> methods;  // in the order of the module
  uint64_t constant_bytes = 0, delegate_bytes = 0, named_bytes = 0;
};

// Writes the program to `out` (and the constants to the external file, if any), and commits neither: methods by name, then constant methods. Inputs and outputs of methods have no planned memory;
// constants that no method uses are left out. `progress` is told the bytes of constants and named data done, of all;
// an error of its ends the work.
Result<EmitReport> emit(const EmitRequest& request, FileWriter& out, const std::function<Status(uint64_t, uint64_t)>& progress = {});

}  // namespace pteron::emit
