#include "api/backend_adapter.h"

#include <gtest/gtest.h>

#include "builtin/run/builtin.h"
#include "core/constant_recipes.h"
#include "ir/builder.h"
#include "partition/partition.h"

namespace pteron::api {
namespace {

// Takes linear operators, and keeps what it was shown.
class Shown : public CompileBackend {
 public:
  std::string_view name() const override { return "shown"; }
  std::string_view delegate_id() const override { return "Shown"; }
  std::string_view summary() const override { return "for tests"; }
  std::vector<BackendClaim> claim(const BackendGraph& graph, BackendOptionList) const override {
    std::vector<BackendClaim> out;
    for (const GraphNode& node : graph.nodes) out.push_back({node.op == "pteron::linear", node.op == "pteron::linear" ? "" : "no linear"});
    return out;
  }
  Result<BackendPayload> compile(const BackendGraph& graph, BackendOptionList) const override {
    region = graph;
    PTERON_ASSIGN(weights, graph.read_floats(graph.nodes[0].operands[1]));
    wrong = graph.read_floats(graph.inputs[0]).code();
    return BackendPayload{{std::byte{7}}, {{"shown/w", std::vector<std::byte>(8)}}};
  }
  mutable BackendGraph region;
  mutable std::vector<float> weights;
  mutable Code wrong = Code::ok;
};

TEST(BackendAdapter, ACompileHalfSeesTheRegionAndItsConstants) {
  ir::Module module;
  ir::Graph graph;
  graph.name = "forward";
  ir::Builder b(module, graph);
  const ir::ValueId x = b.input(ir::Type(ScalarType::Float, {1, 3, 2}), {.name = "x"});
  const ir::ValueId w = b.constant("layer.weight", *constant_from_values({4, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  const ir::ValueId y = b.op(ir::Op::linear, {x, w});
  b.output(b.op(ir::Op::softcap, {y}, {{"cap", 2.0}}), {.name = "y"});
  ASSERT_TRUE(b.status().ok()) << b.status().message();
  const Shown shown;
  const auto adapted = adapt(shown);
  const auto options = adapted->parse_options({});
  ASSERT_TRUE(options.ok());
  partition::NamedDataStore data;
  const auto made = partition::partition(module, graph, *adapted, **options, data);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ(made->delegates.size(), 1u);
  EXPECT_EQ(made->delegates[0].id, "Shown");
  EXPECT_EQ(made->delegates[0].payload.bytes, std::vector<std::byte>{std::byte{7}});
  ASSERT_EQ(made->refused.size(), 1u);
  EXPECT_EQ(made->refused[0].reason, "no linear");
  EXPECT_TRUE(data.contains("shown/w"));
  EXPECT_EQ(shown.region.method, "forward");
  EXPECT_EQ(shown.region.inputs.size(), 1u);
  EXPECT_EQ(shown.region.aliases, std::vector<int32_t>{-1});
  EXPECT_EQ(shown.region.values[static_cast<size_t>(shown.region.nodes[0].operands[1])].name, "layer.weight");
  EXPECT_EQ(shown.region.nodes[0].operands.size(), 3u) << "the bias that is left out has its place";
  EXPECT_EQ(shown.region.nodes[0].operands[2], -1);
  EXPECT_EQ(shown.weights, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(shown.wrong, Code::invalid_argument);
}

TEST(BackendAdapter, OptionsThatABackendDoesNotCheckAreUnknown) {
  const Shown shown;
  const partition::KeyValue option[] = {{"speed", "1"}};
  EXPECT_EQ(adapt(shown)->parse_options(option).status().detail().found, "speed");
}

class Named : public RunBackend {
 public:
  std::string_view id() const override { return "Named"; }
  Result<std::unique_ptr<RunDelegate>> init(std::span<const std::byte>, const DelegateContext&) const override { return std::unique_ptr<RunDelegate>(); }
};

TEST(BackendAdapter, CallersBackendsComeBeforeThoseOfTheBuild) {
  const Named named;
  const RunBackend* callers[] = {&named};
  const RunBackends backends(callers);
  const auto own = builtin::builtin_run_backends();
  ASSERT_EQ(backends.all().size(), own.size() + 1);
  EXPECT_EQ(backends.all()[0]->id(), "Named");
  EXPECT_EQ(backends.all()[1], own[0]);
}

}  // namespace
}  // namespace pteron::api
