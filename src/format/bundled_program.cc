#include "format/bundled_program.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "format/bundled_program_generated.h"
#include "format/flatbuffer_reader.h"
#include "format/tensor_shape.h"
#include "format/text_checks.h"

namespace pteron::format {
namespace {

namespace fb = bundled_program_flatbuffer;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr uint32_t kVersion = 2;

Status read_tensor(FieldReader& fields, const fb::Tensor& from, BundledTensor& to) {
  to.dtype = static_cast<ScalarType>(from.scalar_type());
  PTERON_TRY(fields.numbers(from.sizes(), "sizes", to.sizes));
  PTERON_TRY(fields.numbers(from.dim_order(), "dim_order", to.dim_order));
  to.data = bytes_of(from.data());
  PTERON_ASSIGN(const size_t nbytes, checked_nbytes(to.dtype, to.sizes, to.dim_order));
  if (to.data.size() != nbytes) return malformed("data", std::to_string(nbytes) + " bytes", std::to_string(to.data.size()));
  return {};
}

Status read_value(FieldReader& fields, const fb::Value& from, BundledValue& to) {
  const fb::ValueUnion type = from.val_type();
  if (type == fb::ValueUnion::NONE || type > fb::ValueUnion::MAX) return malformed("val_type", "1..4", std::to_string(static_cast<int>(type)));
  PTERON_TRY(fields.present(from.val(), "val"));
  switch (type) {
    case fb::ValueUnion::Tensor: return read_tensor(fields, *from.val_as_Tensor(), to.emplace<BundledTensor>());
    case fb::ValueUnion::Int: to = from.val_as_Int()->int_val(); return {};
    case fb::ValueUnion::Bool: to = from.val_as_Bool()->bool_val(); return {};
    default: to = from.val_as_Double()->double_val(); return {};
  }
}

Status read_suite(FieldReader& fields, const fb::BundledMethodTestSuite& from, BundledSuite& to) {
  PTERON_TRY(fields.required_text(from.method_name(), "method_name", to.method));
  PTERON_TRY(check_name(to.method, "method_name"));
  return fields.each(from.test_cases(), "test_cases", [&](const fb::BundledMethodTestCase& test_case, size_t) -> Status {
    BundledCase& into = to.cases.emplace_back();
    PTERON_TRY(fields.each(test_case.inputs(), "inputs", [&](const fb::Value& v, size_t) { return read_value(fields, v, into.inputs.emplace_back()); }));
    return fields.each(test_case.expected_outputs(), "expected_outputs",
                       [&](const fb::Value& v, size_t) { return read_value(fields, v, into.expected_outputs.emplace_back()); });
  });
}

template <class Table>
Offset<fb::Value> finish_value(FlatBufferBuilder& builder, fb::ValueUnion type, Offset<Table> table) {
  return fb::CreateValue(builder, type, table.Union());
}

Offset<fb::Value> write_value(FlatBufferBuilder& builder, const BundledValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return finish_value(builder, fb::ValueUnion::Int, fb::CreateInt(builder, *number));
  if (const auto* flag = std::get_if<bool>(&value)) return finish_value(builder, fb::ValueUnion::Bool, fb::CreateBool(builder, *flag));
  if (const auto* number = std::get_if<double>(&value)) return finish_value(builder, fb::ValueUnion::Double, fb::CreateDouble(builder, *number));
  const BundledTensor& tensor = *std::get_if<BundledTensor>(&value);
  const auto sizes = builder.CreateVector(tensor.sizes);
  builder.ForceVectorAlignment(tensor.data.size(), 1, 16);
  const auto data = builder.CreateVector(reinterpret_cast<const uint8_t*>(tensor.data.data()), tensor.data.size());
  const auto dim_order = builder.CreateVector(tensor.dim_order);
  return finish_value(builder, fb::ValueUnion::Tensor, fb::CreateTensor(builder, static_cast<int8_t>(tensor.dtype), sizes, data, dim_order));
}

auto write_values(FlatBufferBuilder& builder, const std::vector<BundledValue>& values) {
  std::vector<Offset<fb::Value>> offsets;
  for (const BundledValue& value : values) offsets.push_back(write_value(builder, value));
  return builder.CreateVector(offsets);
}

Offset<fb::BundledMethodTestSuite> write_suite(FlatBufferBuilder& builder, const BundledSuite& suite) {
  std::vector<Offset<fb::BundledMethodTestCase>> cases;
  for (const BundledCase& test_case : suite.cases) {
    const auto inputs = write_values(builder, test_case.inputs);
    const auto outputs = write_values(builder, test_case.expected_outputs);
    cases.push_back(fb::CreateBundledMethodTestCase(builder, inputs, outputs));
  }
  const auto method = builder.CreateString(suite.method);
  return fb::CreateBundledMethodTestSuite(builder, method, builder.CreateVector(cases));
}

// An upper bound of the finished size, so that the builder neither grows nor passes the limit of the encoding.
uint64_t size_bound(const BundledProgram& bundle) {
  uint64_t bytes = 1024 + bundle.program.size();
  const auto add = [&](const std::vector<BundledValue>& values) {
    for (const BundledValue& value : values) {
      bytes += 256;
      if (const auto* tensor = std::get_if<BundledTensor>(&value)) bytes += tensor->data.size();
    }
  };
  for (const BundledSuite& suite : bundle.suites) {
    bytes += 256 + suite.method.size();
    for (const BundledCase& test_case : suite.cases) {
      bytes += 256;
      add(test_case.inputs);
      add(test_case.expected_outputs);
    }
  }
  return bytes;
}

Status check_bundle(const BundledProgram& bundle) {
  const auto check = [](const std::vector<BundledValue>& values) -> Status {
    for (size_t i = 0; i < values.size(); ++i) {
      const auto* tensor = std::get_if<BundledTensor>(&values[i]);
      if (!tensor) continue;
      auto nbytes = checked_nbytes(tensor->dtype, tensor->sizes, tensor->dim_order);
      if (!nbytes.ok()) return std::move(nbytes).status().in_field(indexed("values", i));
      if (*nbytes != tensor->data.size()) {
        return malformed(indexed("values", i) + ".data", std::to_string(*nbytes) + " bytes", std::to_string(tensor->data.size()), Code::invalid_argument);
      }
    }
    return {};
  };
  std::set<std::string_view> methods;
  for (const BundledSuite& suite : bundle.suites) {
    PTERON_TRY(check_name(suite.method, "method_name"));
    if (!methods.insert(suite.method).second) return malformed("method_name", "one suite for a method", "two for '" + suite.method + "'", Code::invalid_argument);
    for (const BundledCase& test_case : suite.cases) {
      PTERON_TRY(check(test_case.inputs));
      PTERON_TRY(check(test_case.expected_outputs));
    }
  }
  const uint64_t bound = size_bound(bundle);
  if (bound < kMaxFlatBuffer) return {};
  return malformed("program", "less than 2 GiB with its test cases", std::to_string(bound) + " bytes", Code::out_of_capacity);
}

}  // namespace

bool is_bundled_program(ByteSpan file) { return file.size() >= 8 && as_text(file.subspan(4, 4)) == fb::BundledProgramIdentifier(); }

Result<BundledProgram> read_bundled_program(ByteSpan file) {
  if (!is_bundled_program(file)) return malformed("identifier", "BP08", "another kind of file");
  PTERON_ASSIGN(const fb::BundledProgram* root, verified_root<fb::BundledProgram>(file, fb::BundledProgramIdentifier()));
  if (root->version() > kVersion) return malformed("version", "at most 2", std::to_string(root->version()), Code::unsupported);
  BundledProgram bundle;
  FieldReader fields(file.size());
  PTERON_TRY(fields.present(root->program(), "program"));
  bundle.program = bytes_of(root->program());
  PTERON_TRY(fields.each(root->method_test_suites(), "method_test_suites",
                         [&](const fb::BundledMethodTestSuite& suite, size_t) { return read_suite(fields, suite, bundle.suites.emplace_back()); }));
  return bundle;
}

Status write_bundled_program(const BundledProgram& bundle, FileWriter& out) {
  PTERON_TRY(check_bundle(bundle));
  std::vector<const BundledSuite*> order;
  for (const BundledSuite& suite : bundle.suites) order.push_back(&suite);
  std::sort(order.begin(), order.end(), [](const BundledSuite* a, const BundledSuite* b) { return a->method < b->method; });

  FlatBufferBuilder builder(size_bound(bundle));
  std::vector<Offset<fb::BundledMethodTestSuite>> suites;
  for (const BundledSuite* suite : order) suites.push_back(write_suite(builder, *suite));
  const auto suites_vector = builder.CreateVector(suites);
  builder.ForceVectorAlignment(bundle.program.size(), 1, 32);
  const auto program = builder.CreateVector(reinterpret_cast<const uint8_t*>(bundle.program.data()), bundle.program.size());
  builder.Finish(fb::CreateBundledProgram(builder, kVersion, suites_vector, program), fb::BundledProgramIdentifier());
  return out.write({reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()});
}

}  // namespace pteron::format
