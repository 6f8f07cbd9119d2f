// Drives methods of a program in the stock runtime by a plan of plain lines on standard input:
//   buffer ID BYTES [FILE]         memory, zeroed or filled from a raw file (read anew at each such line)
//   input METHOD I ID DTYPE SIZES  input I of a method is that memory, used in place (SIZES: 1,128)
//   output METHOD I ID DTYPE SIZES output I of a method, which the program leaves to the caller, goes there
//   run METHOD [REPEAT]            executes; prints the milliseconds of each run
//   save METHOD OUTPUT FILE        writes the raw bytes of an output
// Ends with exit code 1 and one line on stderr at the first thing that fails.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <list>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using executorch::aten::ScalarType;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::EValue;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "stock_runner: %s\n", what.c_str());
  std::exit(1);
}

ScalarType dtype_of(const std::string& name) {
  static const std::map<std::string, ScalarType> types = {{"float32", ScalarType::Float}, {"float16", ScalarType::Half}, {"bfloat16", ScalarType::BFloat16},
                                                          {"int64", ScalarType::Long},    {"int32", ScalarType::Int},    {"bool", ScalarType::Bool}};
  const auto found = types.find(name);
  if (found == types.end()) fail("unknown dtype " + name);
  return found->second;
}

struct Driver {
  Module module;
  std::map<std::string, std::vector<char>> buffers;
  std::map<std::string, std::map<size_t, TensorPtr>> inputs;
  std::map<std::string, std::vector<EValue>> outputs;
  std::list<TensorPtr> targets;

  explicit Driver(const std::string& path) : module(path, Module::LoadMode::Mmap) {}

  void buffer(std::istringstream& words) {
    std::string id, file;
    size_t bytes = 0;
    words >> id >> bytes >> file;
    std::vector<char>& memory = buffers[id];
    memory.resize(bytes, 0);
    if (file.empty()) return;
    std::ifstream in(file, std::ios::binary);
    if (!in.read(memory.data(), static_cast<std::streamsize>(bytes))) fail("cannot read " + file);
  }

  TensorPtr tensor(std::istringstream& words) {
    std::string id, dtype, sizes, item;
    words >> id >> dtype >> sizes;
    std::vector<executorch::aten::SizesType> shape;
    for (std::istringstream list(sizes); std::getline(list, item, ',');) shape.push_back(std::stoi(item));
    return executorch::extension::make_tensor_ptr(shape, buffers.at(id).data(), dtype_of(dtype));
  }

  void input(std::istringstream& words) {
    std::string method;
    size_t index = 0;
    words >> method >> index;
    inputs[method][index] = tensor(words);
  }

  void output(std::istringstream& words) {
    std::string method;
    size_t index = 0;
    words >> method >> index;
    const TensorPtr& target = targets.emplace_back(tensor(words));
    if (module.set_output(method, target, index) != executorch::runtime::Error::Ok) fail("cannot set output " + std::to_string(index) + " of " + method);
  }

  void run(std::istringstream& words) {
    std::string method;
    size_t repeat = 1;
    words >> method >> repeat;
    std::vector<EValue> values;
    for (const auto& [index, tensor] : inputs[method]) values.emplace_back(tensor);
    for (size_t i = 0; i < repeat; ++i) {
      const auto start = std::chrono::steady_clock::now();
      auto result = module.execute(method, values);
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
      if (!result.ok()) fail(method + ": error " + std::to_string(static_cast<int>(result.error())));
      std::printf("%.4f\n", time.count());
      outputs[method] = std::move(result.get());
    }
  }

  void save(std::istringstream& words) {
    std::string method, file;
    size_t index = 0;
    words >> method >> index >> file;
    const auto tensor = outputs[method].at(index).toTensor();
    std::ofstream out(file, std::ios::binary);
    out.write(static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
    if (!out.flush()) fail("cannot write " + file);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) fail("usage: stock_runner PROGRAM.pte < PLAN");
  Driver driver(argv[1]);
  if (driver.module.load(executorch::runtime::Program::Verification::InternalConsistency) != executorch::runtime::Error::Ok) fail("cannot load the program");
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "buffer") driver.buffer(words);
    else if (verb == "input") driver.input(words);
    else if (verb == "output") driver.output(words);
    else if (verb == "run") driver.run(words);
    else if (verb == "save") driver.save(words);
    else if (!verb.empty()) fail("unknown line " + line);
  }
  return 0;
}
