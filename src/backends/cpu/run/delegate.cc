#include "backends/cpu/run/delegate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "backends/cpu/run/machine.h"
#include "backends/cpu/run/slot_runs.h"
#include "backends/cpu/run/step_work.h"
#include "base/checked.h"

namespace pteron::cpu_backend {
namespace {

Status wrong_argument(std::string field, std::string expected, std::string found) {
  return Status::error(Code::invalid_argument, "wrong argument for the cpu backend",
                       {.file = {}, .field = std::move(field), .expected = std::move(expected), .found = std::move(found)});
}

// Integers that index something: token ids below the rows of a table, positions from 0 on.
struct IntegerCheck {
  int32_t argument;
  int64_t limit;  // exclusive
  const char* what;
};

std::vector<IntegerCheck> integer_checks(const Plan& plan) {
  constexpr int64_t kLastPosition = int64_t{1} << 31;
  std::vector<IntegerCheck> out;
  const auto add = [&](IntegerCheck check) {
    const bool known = std::any_of(out.begin(), out.end(), [&](const IntegerCheck& c) { return c.argument == check.argument && c.limit == check.limit; });
    if (check.argument != kAbsent && !known) out.push_back(check);
  };
  for (const Rope& rope : plan.ropes) add({rope.positions, kLastPosition, "position"});
  for (const Step& step : plan.steps) {
    if (const auto* embed = std::get_if<EmbedStep>(&step)) add({embed->ids, plan.tensors[static_cast<size_t>(embed->weight)].rows, "id"});
    if (const auto* attend = std::get_if<AttendStep>(&step)) add({attend->positions, kLastPosition, "position"});
    if (const auto* write = std::get_if<WriteStep>(&step)) add({write->positions, kLastPosition, "position"});
  }
  return out;
}

// The arguments that steps write to: outputs, and the caches that rows go to.
std::vector<uint8_t> written_arguments(const Plan& plan) {
  std::vector<uint8_t> out;
  for (const Argument& argument : plan.arguments) out.push_back(argument.output);
  for (const Step& step : plan.steps) {
    if (const auto* write = std::get_if<WriteStep>(&step)) out[static_cast<size_t>(write->cache)] = 1;
    const auto* attend = std::get_if<AttendStep>(&step);
    if (attend != nullptr && attend->keys != kAbsent) out[static_cast<size_t>(attend->key_cache)] = out[static_cast<size_t>(attend->value_cache)] = 1;
  }
  return out;
}

class PlanDelegate : public runtime::Delegate {
 public:
  PlanDelegate(Plan plan, const kernels::cpu::KernelTable& table, runtime::InitContext& context)
      : allocator_(context.allocator()), threads_(context.threads()), barrier_(context.threads().size()) {
    machine_.plan = std::move(plan);
    machine_.kernels = &table;
    machine_.layout = make_layout(machine_.plan);
    checks_ = integer_checks(machine_.plan);
    written_ = written_arguments(machine_.plan);
    for (std::atomic<size_t>& counter : counters_) counter.store(0);
  }
  ~PlanDelegate() override {
    if (arena_.data != nullptr) allocator_.release(arena_);
    if (scratch_.data != nullptr) allocator_.release(scratch_);
  }

  Status init(runtime::InitContext& context) {
    PTERON_TRY(find_tensors(context));
    const Plan& plan = machine_.plan;
    const auto arena = checked_add<uint64_t>(align_up(plan.arena_bytes, 64), machine_.layout.shared_bytes);
    if (!arena) return Status::error(Code::out_of_capacity, "the plan's memory is too large");
    machine_.plan.arena_bytes = align_up(plan.arena_bytes, 64);
    PTERON_ASSIGN(arena_, allocator_.allocate(static_cast<size_t>(*arena), 64, Purpose::arena));
    PTERON_ASSIGN(scratch_, allocator_.allocate(machine_.layout.worker_bytes * threads_.size(), 64, Purpose::scratch));
    machine_.arena = static_cast<std::byte*>(arena_.data);
    machine_.workers = static_cast<std::byte*>(scratch_.data);
    machine_.arguments.resize(plan.arguments.size());
    machine_.buffers.resize(plan.buffers.size());
    size_t heads = 1;
    for (const Step& step : plan.steps) {
      if (const auto* attend = std::get_if<AttendStep>(&step)) heads = std::max<size_t>(heads, attend->kv_heads);
    }
    machine_.finished = std::make_unique<std::atomic<uint32_t>[]>(heads);
    count_steps(context);
    return {};
  }

  Status execute(std::span<runtime::Value* const> args) override {
    Clock::time_point begin = Clock::now();
    PTERON_TRY(bind(args));
    PTERON_TRY(read_inputs());
    if (inputs_row_ != nullptr) inputs_row_->add(Clock::now() - begin);
    threads_.run(threads_.size(), [this](size_t index) {
      Worker worker(machine_, index, counters_, barrier_);
      for (const Step& step : machine_.plan.steps) run(worker, step);
    });
    return {};
  }
  bool counts_steps() const override { return true; }

 private:
  using Clock = runtime::Profile::Clock;

  void count_steps(runtime::InitContext& context) {
    if (context.profile() == nullptr) return;
    inputs_row_ = &context.profile()->row(context.method_name(), "inputs");
    for (const Step& step : machine_.plan.steps) step_rows_[step.index()] = &context.profile()->row(context.method_name(), step_name(step));
  }

  // Workers meet at the end of a step, so the first one's time is the time of all.
  void run(Worker& worker, const Step& step) {
    const bool counted = worker.index == 0 && step_rows_[step.index()] != nullptr;
    const Clock::time_point begin = counted ? Clock::now() : Clock::time_point{};
    visit_step(step, [&](const auto& kind) { run_step(worker, kind); });
    if (counted) step_rows_[step.index()]->add(Clock::now() - begin, step_work(machine_, step));
  }

  Status find_tensors(runtime::InitContext& context) {
    for (size_t i = 0; i < machine_.plan.tensors.size(); ++i) {
      const TensorRef& tensor = machine_.plan.tensors[i];
      const std::string field = "tensors[" + std::to_string(i) + "] " + tensor.key;
      auto data = context.named_data(tensor.key);
      if (!data.ok()) return std::move(data).status().in_field(field);
      if (data->size() != tensor.bytes()) {
        return Status::error(Code::invalid_data, "a weight of the cpu backend has a wrong size",
                             {.file = {}, .field = field, .expected = std::to_string(tensor.bytes()) + " bytes", .found = std::to_string(data->size())});
      }
      if (const auto rest = reinterpret_cast<uintptr_t>(data->data()) % kPackedAlignment; rest != 0) {
        return Status::error(Code::invalid_data, "a weight of the cpu backend is misaligned",
                             {.file = {}, .field = field, .expected = "an address at a multiple of 64", .found = "64 n + " + std::to_string(rest)});
      }
      machine_.tensors.push_back(data->data());
    }
    return {};
  }

  Status bind(std::span<runtime::Value* const> args) {
    const Plan& plan = machine_.plan;
    if (args.size() != plan.arguments.size()) return wrong_argument("count", std::to_string(plan.arguments.size()), std::to_string(args.size()));
    for (size_t i = 0; i < args.size(); ++i) {
      const auto field = [&] { return "arguments[" + std::to_string(i) + "]"; };
      if (!args[i]->is(runtime::Value::Kind::tensor)) return wrong_argument(field(), "a tensor", std::string(runtime::kind_name(args[i]->kind())));
      runtime::Tensor& tensor = args[i]->tensor();
      if (tensor.dtype() != plan.arguments[i].dtype) {
        return wrong_argument(field(), std::string(dtype_name(plan.arguments[i].dtype)), std::string(dtype_name(tensor.dtype())));
      }
      const uint64_t elements = plan.arguments[i].elements();
      if (tensor.numel() != elements) return wrong_argument(field(), std::to_string(elements) + " elements", std::to_string(tensor.numel()));
      if (!tensor.contiguous()) return wrong_argument(field(), "a contiguous tensor", "another order of dimensions");
      if (tensor.data() == nullptr && elements > 0) return wrong_argument(field(), "memory", "none");
      if (written_[i] != 0 && !tensor.writable()) return wrong_argument(field(), "memory that may be written", "a constant");
      machine_.arguments[i] = tensor.data();
    }
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer& buffer = plan.buffers[i];
      machine_.buffers[i] = buffer.argument == kAbsent ? machine_.arena + buffer.offset
                                                       : static_cast<std::byte*>(machine_.arguments[static_cast<size_t>(buffer.argument)]);
    }
    return {};
  }

  // Checks the integers, and makes of positions and masks what the steps need.
  Status read_inputs() {
    const Plan& plan = machine_.plan;
    machine_.valid_rows = plan.rows;
    if (plan.last_row != kAbsent) {
      const int64_t last = machine_.integer(plan.last_row, 0);
      if (last < 0 || last >= plan.rows) return wrong_argument("last_row", "0 to " + std::to_string(plan.rows - 1), std::to_string(last));
      machine_.valid_rows = static_cast<size_t>(last) + 1;
    }
    for (const IntegerCheck& check : checks_) {
      const size_t count = std::min<size_t>(machine_.valid_rows, plan.arguments[static_cast<size_t>(check.argument)].elements());
      for (size_t row = 0; row < count; ++row) {
        const int64_t value = machine_.integer(check.argument, row);
        if (value < 0 || value >= check.limit) {
          return wrong_argument(std::string(check.what) + " of row " + std::to_string(row), "0 to " + std::to_string(check.limit - 1), std::to_string(value));
        }
      }
    }
    for (const Step& step : plan.steps) {
      const auto* select = std::get_if<SelectStep>(&step);
      if (select == nullptr) continue;
      const int64_t row = machine_.integer(select->row, 0);
      const auto rows = static_cast<int64_t>(machine_.rows_of(select->in));
      if (!machine_.buffer(select->in).single_row && (row < 0 || row >= rows)) return wrong_argument("row", "0 to " + std::to_string(rows - 1), std::to_string(row));
    }
    make_ropes();
    return make_runs();
  }

  void make_ropes() {
    const Plan& plan = machine_.plan;
    for (size_t i = 0; i < plan.ropes.size(); ++i) {
      const Rope& rope = plan.ropes[i];
      const size_t half = machine_.tensor_ref(rope.frequencies).cols;
      const float* frequencies = machine_.vector(rope.frequencies);
      auto* cos = reinterpret_cast<float*>(machine_.shared(machine_.layout.ropes[i]));
      float* sin = cos + plan.rows * half;
      threads_.parallel_for(machine_.valid_rows, 8, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          const auto position = static_cast<float>(machine_.integer(rope.positions, row));
          for (size_t d = 0; d < half; ++d) {
            const float angle = position * frequencies[d];
            cos[row * half + d] = std::cos(angle) * rope.attention_factor;
            sin[row * half + d] = std::sin(angle) * rope.attention_factor;
          }
        }
      });
    }
  }

  Status make_runs() {
    const Plan& plan = machine_.plan;
    for (size_t i = 0; i < plan.masks.size(); ++i) {
      const auto argument = static_cast<size_t>(plan.masks[i].argument);
      auto* runs = reinterpret_cast<kernels::cpu::SlotRuns*>(machine_.shared(machine_.layout.masks[i]));
      std::atomic<size_t> wrong{plan.rows};
      threads_.parallel_for(machine_.valid_rows, 8, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          if (!slot_runs(plan.arguments[argument].dtype, machine_.arguments[argument], row, plan.masks[i].slots, runs[row])) wrong.store(row);
        }
      });
      if (wrong.load() < plan.rows) {
        return wrong_argument("mask, row " + std::to_string(wrong.load()), "zeros and the most negative number (or booleans), visible in one or two runs of slots",
                              "something else");
      }
    }
    return {};
  }

  Allocator& allocator_;
  ThreadPool& threads_;
  SpinBarrier barrier_;
  std::atomic<size_t> counters_[kCounters];
  Machine machine_;
  std::vector<IntegerCheck> checks_;
  std::vector<uint8_t> written_;  // by argument
  runtime::Profile::Row* inputs_row_ = nullptr;                                 // what comes before the steps
  std::array<runtime::Profile::Row*, std::variant_size_v<Step>> step_rows_{};  // by kind; null where nobody counts
  Block arena_, scratch_;
};

class CpuBackend : public runtime::RunBackend {
 public:
  std::string_view id() const override { return kDelegateId; }

  Status available() const override { return kernels::cpu::active_kernels().status(); }

  Result<std::vector<StoredWeight>> weights(ByteSpan payload) const override {
    PTERON_ASSIGN(const Plan plan, read_plan(payload));
    return stored_weights(plan);
  }

  Result<std::unique_ptr<runtime::Delegate>> init(ByteSpan payload, std::span<const format::CompileSpec>, runtime::InitContext& context) const override {
    for (const runtime::BackendOption* option : context.options()) {
      return Status::error(Code::invalid_argument, "unknown option of the cpu backend", {.file = {}, .field = option->key, .expected = "none", .found = option->key});
    }
    PTERON_ASSIGN(const kernels::cpu::KernelTable* table, kernels::cpu::active_kernels());
    PTERON_ASSIGN(Plan plan, read_plan(payload));
    auto delegate = std::make_unique<PlanDelegate>(std::move(plan), *table, context);
    PTERON_TRY(delegate->init(context));
    return std::unique_ptr<runtime::Delegate>(std::move(delegate));
  }
};

}  // namespace

const runtime::RunBackend& run_backend() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace pteron::cpu_backend
