#include "emit/emit.h"

#include <algorithm>
#include <numeric>

#include "emit/lower.h"
#include "format/flat_tensor.h"
#include "format/program_writer.h"

namespace pteron::emit {
namespace {

format::Plan constant_plan(const ConstantMethod& method) {
  format::Plan plan;
  plan.name = method.name;
  plan.non_const_buffer_sizes = {0};
  plan.chains.emplace_back();
  for (const auto& value : method.values) {
    plan.outputs.push_back(static_cast<int32_t>(plan.values.size()));
    std::visit([&]<class T>(const T& held) { plan.values.emplace_back(std::in_place_type<T>, held); }, value);
  }
  return plan;
}

// Counts the bytes that recipes produce, for the progress bar.
struct Meter {
  std::function<Status(uint64_t, uint64_t)> report;
  uint64_t done = 0, total = 0;

  std::function<Status(const ByteSink&)> watch(std::function<Status(const ByteSink&)> stream) {
    return [this, stream = std::move(stream)](const ByteSink& sink) {
      return stream([&](ByteSpan bytes) -> Status {
        done = std::min(done + bytes.size(), total);
        if (report) PTERON_TRY(report(done, total));
        return sink(bytes);
      });
    };
  }
};

format::Blob constant_blob(const ir::Constant& constant, Meter& meter) {
  meter.total += constant.source->nbytes();
  return {constant.source->nbytes(), meter.watch([source = constant.source](const ByteSink& sink) { return source->stream(sink); }), true};
}

Status write_external(const EmitRequest& request, const std::vector<int32_t>& order, Meter& meter) {
  std::vector<format::FlatTensorToWrite> tensors;
  for (int32_t index : order) {
    const ir::Constant& constant = request.module->constants[static_cast<size_t>(index)];
    format::TensorLayout layout;
    layout.dtype = constant.source->dtype();
    for (int64_t size : constant.source->shape()) {
      layout.dim_order.push_back(static_cast<uint8_t>(layout.sizes.size()));
      layout.sizes.push_back(static_cast<int32_t>(size));
    }
    tensors.push_back({constant.name, layout, constant_blob(constant, meter), 64});
  }
  return format::write_flat_tensors(tensors, *request.external);
}

}  // namespace

Result<EmitReport> emit(const EmitRequest& request, FileWriter& out, const std::function<Status(uint64_t, uint64_t)>& progress) {
  const ir::Module& module = *request.module;
  EmitReport report;
  report.methods.resize(module.methods.size());
  ConstantTable constants(module);
  const LowerOptions options{request.state_outputs, request.external != nullptr};
  static const std::vector<DelegateBlob> kNoDelegates;
  format::ProgramToWrite program;
  program.constant_alignment = 64;
  std::vector<size_t> order(module.methods.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return module.methods[a].name < module.methods[b].name; });
  for (size_t i : order) {
    PTERON_ASSIGN(LoweredMethod method, lower(module.methods[i], i < request.delegates.size() ? request.delegates[i] : kNoDelegates, options, constants));
    for (size_t d = 0; d < method.delegates.size(); ++d) {
      method.plan.delegates[d].index = static_cast<uint32_t>(program.delegate_blobs.size());
      report.delegate_bytes += method.delegates[d]->bytes.size();
      program.delegate_blobs.push_back(format::borrowed_blob(method.delegates[d]->bytes));
    }
    report.methods[i] = method.report;
    program.plans.push_back(std::move(method.plan));
  }
  for (const ConstantMethod& method : request.constant_methods) program.plans.push_back(constant_plan(method));

  Meter meter;
  meter.report = progress;
  for (const NamedBytes& data : request.named_data) {
    report.named_bytes += data.nbytes;
    meter.total += data.nbytes;
    program.named_data.push_back({data.key, {data.nbytes, meter.watch(data.stream), true}, data.alignment});
  }
  for (int32_t index : constants.order()) report.constant_bytes += module.constants[static_cast<size_t>(index)].source->nbytes();
  if (options.external_constants) {
    PTERON_TRY(write_external(request, constants.order(), meter));
  } else {
    for (int32_t index : constants.order()) program.constants.push_back(constant_blob(module.constants[static_cast<size_t>(index)], meter));
  }
  PTERON_TRY(format::write_program(std::move(program), out));
  return report;
}

}  // namespace pteron::emit
