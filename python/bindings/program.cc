// Programs, methods, signatures.
#include <memory>
#include <optional>

#include "pteron/program.h"
#include "pteron/version.h"
#include "python/bindings/convert.h"

namespace pteron::python {
namespace {

py::dict trust_dict(const Trust& trust) {
  py::dict out;
  out["state"] = std::string(trust_state_name(trust.state));
  out["passes"] = trust.verdict.ok();
  out["algorithm"] = trust.algorithm ? py::object(py::str(std::string(algorithm_name(*trust.algorithm)))) : py::none();
  out["key_id"] = trust.algorithm ? py::object(py::str(trust.key.hex())) : py::none();
  out["counter"] = trust.counter;
  out["signed_at"] = trust.signed_at ? py::object(py::int_(trust.signed_at->time_since_epoch().count())) : py::none();
  out["not_after"] = trust.not_after ? py::object(py::int_(trust.not_after->time_since_epoch().count())) : py::none();
  out["program_bytes"] = trust.program_bytes;
  return out;
}

// The array itself where its memory is what a tensor needs (row-major, aligned, this machine's byte order), else a copy that is.
py::array packed(const py::object& value) {
  py::array array = py::array::ensure(value, int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_});
  if (!array) throw py::error_already_set();
  if (!array.dtype().attr("isnative").cast<bool>()) array = array.attr("astype")(array.dtype().attr("newbyteorder")("="));
  return array;
}

// A loaded method with the arrays that its inputs point into.
class PyMethod {
 public:
  explicit PyMethod(Method method) : method_(std::move(method)), inputs_(method_.info().inputs.size()) { check(method_.allocate_outputs()); }

  const MethodInfo& info() const { return method_.info(); }

  void set_input(size_t index, const py::object& value) {
    if (index >= inputs_.size()) throw py::index_error("the method has " + std::to_string(inputs_.size()) + " inputs");
    const SlotInfo& slot = info().inputs[index];
    const std::string name = "inputs[" + std::to_string(index) + "]";
    switch (slot.kind) {
      case ValueKind::tensor: {
        const py::array array = packed(value);
        std::vector<int32_t> sizes;
        TensorView view = view_of(array, sizes);
        if (slot.dtype == ScalarType::BFloat16 && view.dtype == ScalarType::UInt16) view.dtype = ScalarType::BFloat16;
        check(method_.set_input(index, view));
        inputs_[index] = array;  // used in place: stays alive until replaced
        return;
      }
      case ValueKind::number_int: check(method_.set_input(index, cast_option<int64_t>(value, name))); return;
      case ValueKind::number_double: check(method_.set_input(index, cast_option<double>(value, name))); return;
      case ValueKind::boolean: check(method_.set_input(index, cast_option<bool>(value, name))); return;
      case ValueKind::string: check(method_.set_input(index, std::string_view(cast_option<std::string>(value, name)))); return;
      default: check(method_.set_input_none(index));
    }
  }

  void execute() {
    check(process_.check("method"));
    check(unlocked([&] { return method_.execute(); }));
  }

  py::object output(size_t index) const {
    switch (method_.output_kind(index)) {
      case ValueKind::tensor: return copy_of(unwrap(method_.output(index)));
      case ValueKind::number_int: return py::int_(unwrap(method_.output_int(index)));
      case ValueKind::number_double: return py::float_(unwrap(method_.output_double(index)));
      case ValueKind::boolean: return py::bool_(unwrap(method_.output_bool(index)));
      case ValueKind::string: return text_of(unwrap(method_.output_string(index)));
      default: return py::none();
    }
  }

  void reset() { check(method_.reset()); }

 private:
  const Process process_;
  Method method_;
  std::vector<py::object> inputs_;
};

py::dict slot_dict(const SlotInfo& slot) {
  static constexpr const char* kKinds[] = {"none", "tensor", "string", "double", "int", "bool", "list"};
  py::dict out;
  out["kind"] = kKinds[static_cast<size_t>(slot.kind)];
  if (slot.kind == ValueKind::tensor) {
    out["dtype"] = std::string(dtype_name(slot.dtype));
    out["shape"] = py::tuple(py::cast(slot.sizes));
    out["dynamic"] = slot.dynamic;
    out["planned"] = slot.planned;
  }
  return out;
}

py::dict method_dict(const MethodInfo& info) {
  py::dict out;
  py::list inputs, outputs;
  for (const SlotInfo& slot : info.inputs) inputs.append(slot_dict(slot));
  for (const SlotInfo& slot : info.outputs) outputs.append(slot_dict(slot));
  out["name"] = info.name;
  out["inputs"] = inputs;
  out["outputs"] = outputs;
  out["delegates"] = info.delegates;
  out["operators"] = info.operators;
  out["constant"] = info.constant;
  return out;
}

}  // namespace

void bind_program(py::module_& module) {
  module.attr("version") = PTERON_VERSION;
  const auto checked = [](bool whole) {
    return [whole](const std::string& path, const std::vector<std::string>& trust, bool require_signed, bool allow_expired, int64_t minimum_counter, const std::vector<std::string>& data) {
      const Policy policy = make_policy(trust, require_signed, allow_expired, minimum_counter, "mmap");
      Result<Trust> result = unlocked([&] { return whole ? verify_manifest(path, policy.policy, data) : pteron::check(path, policy.policy, data); });
      const Trust found = unwrap(std::move(result));
      check(found.verdict);
      if (whole) {
        const Status structure = unlocked([&] { return Program::open(path, policy.policy, data).status(); });
        check(structure);
      }
      return trust_dict(found);
    };
  };
  using namespace py::literals;
  module.def("check", checked(false), "path"_a, "trust"_a, "require_signed"_a, "allow_expired"_a, "minimum_counter"_a, "data"_a);
  module.def("verify", checked(true), "path"_a, "trust"_a, "require_signed"_a, "allow_expired"_a, "minimum_counter"_a, "data"_a);

  py::class_<PyMethod>(module, "Method")
      .def("info", [](const PyMethod& self) { return method_dict(self.info()); })
      .def("set_input", &PyMethod::set_input)
      .def("execute", &PyMethod::execute)
      .def("output", &PyMethod::output)
      .def("reset", &PyMethod::reset);

  py::class_<Program>(module, "Program")
      .def(py::init([](const std::string& path, const std::vector<std::string>& trust, bool require_signed, bool allow_expired, int64_t minimum_counter, const std::string& load,
                       const std::vector<std::string>& data) {
        const Policy policy = make_policy(trust, require_signed, allow_expired, minimum_counter, load);
        Result<Program> program = unlocked([&] { return Program::open(path, policy.policy, data); });
        return unwrap(std::move(program));
      }))
      .def("trust", [](const Program& self) { return trust_dict(self.trust()); })
      .def("methods",
           [](const Program& self) {
             py::list out;
             for (const MethodInfo& info : self.methods()) out.append(method_dict(info));
             return out;
           })
      .def("describe", &Program::describe, "instructions"_a = false)
      .def("named_data_keys", &Program::named_data_keys)
      .def("named_data",
           [](const Program& self, const std::string& key) {
             const auto bytes = unwrap(self.named_data(key));
             return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
           })
      .def("load", [](const Program& self, const std::string& name, int64_t threads) {
        MethodOptions options;
        options.threads = count_of("threads", threads);
        Result<Method> method = unlocked([&] { return self.load(name, options); });
        return std::make_unique<PyMethod>(unwrap(std::move(method)));
      });
}

}  // namespace pteron::python
