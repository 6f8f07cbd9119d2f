#include "backends/cpu/compile/backend.h"

#include "backends/cpu/compile/claims.h"
#include "backends/cpu/compile/pack.h"
#include "backends/cpu/compile/planner.h"

namespace pteron::cpu_backend {
namespace {

struct Options : partition::BackendOptions {
  StoreOptions store;
};

Status unknown_value(const std::string& key, std::string expected, const std::string& found) {
  return Status::error(Code::invalid_argument, "an option of the cpu backend has an unknown value", {.file = {}, .field = key, .expected = std::move(expected), .found = found});
}

class CpuCompileBackend : public partition::CompileBackend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::string_view delegate_id() const override { return kDelegateId; }
  std::string_view summary() const override { return "packed weights of 4 to 32 bits used straight from the file, on x86-64 and arm64"; }

  ir::Packing default_packing() const override { return ir::Packing::int4; }
  ScalarType default_cache_dtype() const override { return ScalarType::Half; }

  Result<std::unique_ptr<partition::BackendOptions>> parse_options(std::span<const partition::KeyValue> options) const override {
    static constexpr std::string_view kKnown[] = {"float-weights", "int4"};
    auto out = std::make_unique<Options>();
    for (const auto& [key, value] : options) {
      if (key == kKnown[0]) {
        if (value == "float16") out->store.float_weights = PackedEncoding::float16;
        else if (value == "bfloat16") out->store.float_weights = PackedEncoding::bfloat16;
        else if (value != "keep") return unknown_value(key, "keep, float16 or bfloat16", value);
      } else if (key == kKnown[1]) {
        if (value == "affine") out->store.int4 = PackedEncoding::int4_affine;
        else if (value != "symmetric") return unknown_value(key, "symmetric or affine", value);
      } else {
        return partition::unknown_option(name(), key, kKnown);
      }
    }
    return std::unique_ptr<partition::BackendOptions>(std::move(out));
  }

  std::vector<partition::Claim> claim(const ir::Module&, const ir::Graph& graph, const partition::BackendOptions&) const override { return claim_nodes(graph); }

  Result<partition::Payload> compile(const partition::Region& region, const partition::BackendOptions& options, partition::NamedDataStore& data) const override {
    PTERON_ASSIGN(const Plan plan, make_plan(region, static_cast<const Options&>(options).store, data));
    partition::Payload payload;
    payload.bytes = write_plan(plan);
    payload.weights = stored_weights(plan);
    // What is written must be what the run half accepts.
    if (auto read = read_plan(payload.bytes); !read.ok()) {
      return Status::error(Code::internal, "the cpu backend made a plan that it would refuse: " + read.status().message());
    }
    return payload;
  }
};

}  // namespace

const partition::CompileBackend& compile_backend() {
  static const CpuCompileBackend backend;
  return backend;
}

}  // namespace pteron::cpu_backend
