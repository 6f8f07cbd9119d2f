// Runs programs with recorded inputs and outputs: an index.json that lists calls, tensors in safetensors files (see tests/data/ops).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/checked.h"
#include "core/dtype.h"
#include "kernels/portable/families.h"
#include "package/open.h"
#include "runtime/program.h"

namespace pteron::runtime::testing {

using Json = nlohmann::json;

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Tensors of a safetensors file by name, elements in row-major order.
struct TensorData {
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;
  std::string bytes;
};

inline ScalarType safetensors_dtype(const std::string& name) {
  static const std::map<std::string, ScalarType> kNames = {
      {"F32", ScalarType::Float},  {"F64", ScalarType::Double}, {"F16", ScalarType::Half},         {"BF16", ScalarType::BFloat16},
      {"I64", ScalarType::Long},   {"I32", ScalarType::Int},    {"I16", ScalarType::Short},        {"I8", ScalarType::Char},
      {"U8", ScalarType::Byte},    {"BOOL", ScalarType::Bool},  {"C64", ScalarType::ComplexFloat}, {"U16", ScalarType::UInt16},
      {"U32", ScalarType::UInt32}, {"U64", ScalarType::UInt64}};
  return kNames.at(name);
}

inline std::map<std::string, TensorData> read_tensors(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  std::map<std::string, TensorData> tensors;
  uint64_t header = 0;
  std::memcpy(&header, file.data(), 8);
  const Json index = Json::parse(file.substr(8, header));
  for (const auto& [name, entry] : index.items()) {
    if (name == "__metadata__") continue;
    TensorData data;
    data.dtype = safetensors_dtype(entry["dtype"]);
    for (int32_t n : entry["shape"]) data.sizes.push_back(n);
    const size_t from = entry["data_offsets"][0], to = entry["data_offsets"][1];
    data.bytes = file.substr(8 + header + from, to - from);
    tensors[name] = std::move(data);
  }
  return tensors;
}

// Elements moved between row-major order and the order of memory.
inline std::string reorder(const std::string& bytes, const std::vector<int32_t>& sizes, const std::vector<uint8_t>& order, size_t width,
                           bool to_memory) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) strides[order[i]] = stride, stride *= std::max(sizes[order[i]], 1);
  std::string out = bytes;
  for (size_t i = 0; i * width < bytes.size(); ++i) {
    size_t rest = i, at = 0;
    for (size_t d = sizes.size(); d-- > 0;)
      at += rest % static_cast<size_t>(sizes[d]) * static_cast<size_t>(strides[d]), rest /= static_cast<size_t>(sizes[d]);
    if (to_memory) out.replace(at * width, width, bytes, i * width, width);
    else out.replace(i * width, width, bytes, at * width, width);
  }
  return out;
}

inline double element(const std::string& bytes, ScalarType dtype, size_t i) {
  const char* at = bytes.data() + i * element_size(dtype);
  switch (dtype) {
    case ScalarType::Float: case ScalarType::ComplexFloat: return load_unaligned<float>(at);
    case ScalarType::Double: return load_unaligned<double>(at);
    case ScalarType::Half: return half_to_float(load_unaligned<uint16_t>(at));
    case ScalarType::BFloat16: return bfloat16_to_float(load_unaligned<uint16_t>(at));
    default: return 0;
  }
}

// Why `got` is not what `want` says, or nothing.
inline std::string compare(const Json& want, const std::string& got, const std::string& expected, ScalarType dtype) {
  const std::string check = want.value("check", "exact");
  if (check == "shape") return {};
  if (got.size() != expected.size()) return "other size";
  if (dtype == ScalarType::ComplexFloat) {
    return compare(want, got, expected, ScalarType::Float);
  }
  const size_t n = got.size() / element_size(dtype);
  if (!is_float(dtype)) return got == expected ? "" : "other bytes";
  const double rtol = check == "close" ? want.value("rtol", 0.0) : 0, atol = check == "close" ? want.value("atol", 0.0) : 0;
  for (size_t i = 0; i < n; ++i) {
    const double a = element(got, dtype, i), b = element(expected, dtype, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    if (!std::isfinite(a) || !std::isfinite(b) || !(std::abs(a - b) <= atol + rtol * std::abs(b))) {
      return "element " + std::to_string(i) + ": expected " + std::to_string(b) + ", found " + std::to_string(a) + " (tolerance " +
             std::to_string(atol + rtol * std::abs(b)) + ")";
    }
  }
  return {};
}

// One set of programs.
class Cases {
 public:
  explicit Cases(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Json index() const { return Json::parse(read_file(folder_ / "index.json")); }

  // Called around each execution, where somebody counts what happens in between.
  std::function<void(const std::string& id, const std::function<void()>& execute)> around_execution;

  // Runs all calls of a program; the failures, one a line.
  std::string run(const Json& program) {
    id_ = program["id"];
    std::string failures;
    const auto tensors =
        program.contains("data") ? read_tensors(folder_ / program["data"].get<std::string>()) : std::map<std::string, TensorData>();
    std::vector<std::string> data_files;
    for (const auto& name : program.value("ptd", Json::array())) data_files.push_back((folder_ / name.get<std::string>()).string());
    auto opened = package::open((folder_ / program["file"].get<std::string>()).string(), {}, data_files);
    if (!opened.ok()) return program["id"].get<std::string>() + ": " + opened.status().message() + "\n";
    int session = -1;
    std::optional<SharedArenas> arenas;
    std::map<std::string, Method> methods;
    for (const Json& call : program["runs"]) {
      if (call.value("session", 0) != session) {
        session = call.value("session", 0);
        methods.clear();
        arenas.reset();
        if (program.value("share_arenas", false)) arenas.emplace(std::move(SharedArenas::create(opened->program).value()));
      }
      const std::string problem = run_call(*opened, arenas, methods, call, tensors);
      if (!problem.empty())
        failures += program["id"].get<std::string>() + " call " + std::to_string(call.value("call", 0)) + ": " + problem + "\n";
    }
    return failures;
  }

 private:
  Status set_inputs(Method& method, const Json& call, const std::map<std::string, TensorData>& tensors) {
    if (call["inputs"].size() != method.info().inputs.size()) return Status::error(Code::invalid_argument, "number of inputs");
    for (size_t i = 0; i < call["inputs"].size(); ++i) {
      const Json& in = call["inputs"][i];
      if (in.contains("tensor")) {
        const TensorData& data = tensors.at(in["tensor"]);
        std::vector<uint8_t> order;
        for (int d : in["dim_order"]) order.push_back(static_cast<uint8_t>(d));
        held_.push_back(std::make_unique<std::string>(reorder(data.bytes, data.sizes, order, element_size(data.dtype), true)));
        const TensorView view{*dtype_from_name(in["dtype"].get<std::string>()), data.sizes, order, held_.back()->data(),
                              held_.back()->size()};
        PTERON_TRY(method.set_input(i, view));
      } else if (in.contains("int")) {
        PTERON_TRY(method.set_input(i, in["int"].get<int64_t>()));
      } else if (in.contains("double")) {
        PTERON_TRY(method.set_input(i, in["double"].get<double>()));
      } else if (in.contains("bool")) {
        PTERON_TRY(method.set_input(i, in["bool"].get<bool>()));
      } else if (in.contains("string")) {
        PTERON_TRY(method.set_input(i, std::string_view(in["string"].get_ref<const std::string&>())));
      } else {
        PTERON_TRY(method.set_input_none(i));
      }
    }
    return {};
  }

  Status execute(const package::Opened& opened, const std::optional<SharedArenas>& arenas,
                 std::map<std::string, Method>& methods, const Json& call, const std::map<std::string, TensorData>& tensors) {
    const std::string name = call["method"];
    if (!methods.contains(name)) {
      const KernelTable table{portable::all_kernels()};
      LoadOptions options;
      options.kernels = &table;
      options.external = opened.external;
      options.threads = &threads_;
      if (arenas) options.shared_arenas = arenas->arenas();
      PTERON_ASSIGN(Method method, load_method(opened.program, name, options));
      methods.emplace(name, std::move(method));
    }
    Method& method = methods.at(name);
    PTERON_TRY(set_inputs(method, call, tensors));
    PTERON_TRY(method.allocate_outputs());
    if (!around_execution) return method.execute();
    Status status;
    around_execution(id_, [&] { status = method.execute(); });
    return status;
  }

  std::string run_call(const package::Opened& opened, const std::optional<SharedArenas>& arenas,
                       std::map<std::string, Method>& methods, const Json& call, const std::map<std::string, TensorData>& tensors) {
    const Status status = execute(opened, arenas, methods, call, tensors);
    if (call["status"] == "refused") return status.ok() ? "was not refused: " + call.value("why", "") : "";
    if (!status.ok()) return status.message();
    const Method& method = methods.at(call["method"]);
    for (size_t i = 0; i < call["outputs"].size(); ++i) {
      const std::string problem = check_output(method, i, call["outputs"][i], tensors);
      if (!problem.empty()) return "output " + std::to_string(i) + ": " + problem;
    }
    return {};
  }

  std::string check_output(const Method& method, size_t i, const Json& want, const std::map<std::string, TensorData>& tensors) {
    if (want.contains("int")) {
      const auto got = method.output_int(i);
      return !got.ok() ? got.status().message() : *got == want["int"].get<int64_t>() ? "" : "found " + std::to_string(*got);
    }
    if (want.contains("double")) {
      const auto got = method.output_double(i);
      const double expected = want["double"].is_string() ? std::stod(want["double"].get<std::string>()) : want["double"].get<double>();
      return !got.ok()                                                        ? got.status().message()
             : *got == expected || (std::isnan(*got) && std::isnan(expected)) ? ""
                                                                              : "found " + std::to_string(*got);
    }
    if (want.contains("bool")) {
      const auto got = method.output_bool(i);
      return !got.ok() ? got.status().message() : *got == want["bool"].get<bool>() ? "" : "other bool";
    }
    if (want.contains("string")) {
      const auto got = method.output_string(i);
      return !got.ok() ? got.status().message() : *got == want["string"].get<std::string>() ? "" : "other string";
    }
    if (want.contains("none")) return method.output_kind(i) == ValueKind::none ? "" : "is not none";
    const auto got = method.output(i);
    if (!got.ok()) return got.status().message();
    if (dtype_name(got->dtype) != want["dtype"].get<std::string>()) return "dtype " + std::string(dtype_name(got->dtype));
    const std::vector<int32_t> sizes(got->sizes.begin(), got->sizes.end());
    const std::vector<uint8_t> order(got->dim_order.begin(), got->dim_order.end());
    if (Json(sizes) != want["shape"]) return "sizes " + Json(sizes).dump();
    if (Json(order) != want["dim_order"]) return "dim order " + Json(order).dump();
    const std::string memory(static_cast<const char*>(got->data), got->nbytes);
    const std::string bytes = reorder(memory, sizes, order, element_size(got->dtype), false);
    std::string problem = want.contains("tensor") ? compare(want, bytes, tensors.at(want["tensor"]).bytes, got->dtype) : "";
    if (!problem.empty() && want.contains("eager") && compare(want, bytes, tensors.at(want["eager"]).bytes, got->dtype).empty())
      problem.clear();
    return problem;
  }

  std::filesystem::path folder_;
  ThreadPool threads_{2};
  std::vector<std::unique_ptr<std::string>> held_;
  std::string id_;
};

}  // namespace pteron::runtime::testing
