#include "backends/cpu/compile/planner.h"

#include <gtest/gtest.h>

#include <map>

#include "backends/cpu/compile/backend.h"
#include "core/constant_recipes.h"
#include "ir/builder.h"
#include "partition/partition.h"

namespace pteron::cpu_backend {
namespace {

using ir::Op;
using ir::Role;
using ir::Type;
using ir::ValueId;

constexpr int64_t kHidden = 32, kHeads = 4, kKvHeads = 2, kDim = 8, kSlots = 16, kInner = 64, kVocab = 50;

// One decoder layer as the model builders make it.
struct Model {
  ir::Module module;
  ir::Graph graph;
  ir::Builder b{module, graph};
  int64_t rows;
  bool selected, boolean_mask;
  bool qk_norm = false, post_norm = false;
  std::string plain_weight;  // stays as floats
  std::map<std::string, ValueId> constants;

  explicit Model(int64_t rows_in, bool selected_in = true, bool boolean_mask_in = false) : rows(rows_in), selected(selected_in), boolean_mask(boolean_mask_in) {}

  // A constant is made once; who asks for its name again shares it, as tied embeddings and the frequencies of all rotations do.
  ValueId constant(const std::string& name, std::vector<int64_t> shape, float value, ir::Packing packing) {
    if (const auto known = constants.find(name); known != constants.end()) return known->second;
    size_t elements = 1;
    for (const int64_t size : shape) elements *= static_cast<size_t>(size);
    return constants[name] = b.constant(name, *constant_from_values(std::move(shape), std::vector<float>(elements, value)), packing);
  }
  ValueId weight(const std::string& name, int64_t out, int64_t in) { return constant(name, {out, in}, 0.01f, name == plain_weight ? ir::Packing::plain : ir::Packing::int8); }
  ValueId vector(const std::string& name, int64_t n) { return constant(name, {n}, 1.0f, ir::Packing::plain); }
  ValueId norm(const std::string& name, ValueId x, int64_t width) { return b.op(Op::rms_norm, {x, vector(name, width)}, {{"eps", 1e-5}}); }
  ValueId linear(const std::string& name, ValueId x, int64_t out, int64_t in) { return b.op(Op::linear, {x, weight(name, out, in)}); }
  ValueId heads(const std::string& name, ValueId x, int64_t count, bool rotate, ValueId positions) {
    ValueId y = b.view(linear(name, x, count * kDim, kHidden), {1, rows, count, kDim});
    if (qk_norm && rotate) y = norm(name + ".norm", y, kDim);
    return rotate ? b.op(Op::rope, {y, positions, vector("freq", kDim / 2)}) : y;
  }

  void build() {
    graph.name = "prefill";
    const ValueId ids = b.input(Type(ScalarType::Long, {1, rows}), {.name = "token_ids", .role = Role::token_ids});
    const ValueId positions = b.input(Type(ScalarType::Long, {1, rows}), {.name = "position_ids", .role = Role::position_ids});
    const ValueId mask = b.input(Type(boolean_mask ? ScalarType::Bool : ScalarType::Float, {1, 1, rows, kSlots}), {.name = "mask_full", .role = Role::mask});
    const Type cache(ScalarType::Half, {1, kKvHeads, kSlots, kDim});
    const ValueId keys = b.input(cache, {.name = "key_cache_0", .role = Role::key_cache, .layer = 0});
    const ValueId values = b.input(cache, {.name = "value_cache_0", .role = Role::value_cache, .layer = 0});
    ValueId x = b.scale(b.op(Op::embedding, {weight("embed", kVocab, kHidden), ids}), 2.0);
    const ValueId normed = norm("norm1", x, kHidden);
    const ValueId q = heads("q", normed, kHeads, true, positions), k = heads("k", normed, kKvHeads, true, positions), v = heads("v", normed, kKvHeads, false, positions);
    const ValueId new_keys = b.op(Op::cache_write, {keys, k, positions}), new_values = b.op(Op::cache_write, {values, v, positions});
    const ValueId attended = b.op(Op::attention, {q, new_keys, new_values, mask}, {{"scale", 0.35}});
    ValueId update = linear("o", attended, kHidden, kHeads * kDim);
    if (post_norm) update = norm("norm2", update, kHidden);
    x = b.op(Op::aten_add, {x, update});
    const ValueId mlp = b.op(Op::gated_mlp, {norm("norm3", x, kHidden), weight("gate", kInner, kHidden), weight("up", kInner, kHidden), weight("down", kHidden, kInner)}, {{"activation", std::string("silu")}});
    x = b.op(Op::aten_add, {x, mlp});
    if (selected) x = b.op(Op::select_row, {x, b.input(Type(ScalarType::Long, {1}), {.name = "last_row", .role = Role::last_row})});
    x = linear("embed", norm("norm4", x, kHidden), kVocab, kHidden);
    b.output(x, {.name = "logits", .role = Role::logits});
    b.output(new_keys, {.name = "key_state_0", .role = Role::key_state, .layer = 0, .alias = 3});
    b.output(new_values, {.name = "value_state_0", .role = Role::value_state, .layer = 0, .alias = 4});
    ASSERT_TRUE(b.status().ok()) << b.status().message();
  }

  // Partitions, expecting one region, and reads its plan.
  Plan plan(partition::NamedDataStore& data) {
    const auto options = compile_backend().parse_options({});
    auto made = partition::partition(module, graph, compile_backend(), **options, data);
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (!made.ok()) return {};
    for (const auto& refused : made->refused) ADD_FAILURE() << refused.op << ": " << refused.reason;
    EXPECT_EQ(made->delegates.size(), 1u);
    auto plan = read_plan(made->delegates[0].payload.bytes);
    EXPECT_TRUE(plan.ok());
    return *plan;
  }
};

std::string kinds(const Plan& plan) {
  std::string out;
  for (const Step& step : plan.steps) out += (out.empty() ? "" : " ") + std::string(step_name(step));
  return out;
}

TEST(Planner, ALayerIsAHandfulOfSteps) {
  Model model(4);
  model.build();
  partition::NamedDataStore data;
  const Plan plan = model.plan(data);
  EXPECT_EQ(kinds(plan), "embed project attend project project project select project");
  EXPECT_EQ(plan.rows, 4u);
  EXPECT_EQ(plan.last_row, 5);
  EXPECT_EQ(std::get<EmbedStep>(plan.steps[0]).scale, 2.0f);
  const auto& qkv = std::get<ProjectStep>(plan.steps[1]);
  EXPECT_EQ(qkv.projections.size(), 3u);
  EXPECT_EQ(qkv.norm.kind, NormKind::rms);
  const auto& attend = std::get<AttendStep>(plan.steps[2]);
  EXPECT_NE(attend.keys, kAbsent);
  EXPECT_EQ(attend.query_rope, attend.key_rope);
  EXPECT_EQ(std::get<ProjectStep>(plan.steps[3]).mode, ProjectMode::accumulate);
  const auto& gated = std::get<ProjectStep>(plan.steps[4]);
  EXPECT_EQ(gated.mode, ProjectMode::gated);
  EXPECT_EQ(plan.buffers[static_cast<size_t>(gated.projections[0].out)].format, BufferFormat::quantized);
  EXPECT_EQ(std::get<ProjectStep>(plan.steps[5]).mode, ProjectMode::accumulate);
  const auto& head = std::get<ProjectStep>(plan.steps[7]);
  EXPECT_EQ(plan.buffers[static_cast<size_t>(head.projections[0].out)].argument, 6);
}

TEST(Planner, PrefillAndDecodeShareTheirWeights) {
  partition::NamedDataStore data;
  Model prefill(4);
  prefill.build();
  prefill.plan(data);
  const size_t entries = data.entries().size();
  Model decode(1, false);
  decode.build();
  const Plan plan = decode.plan(data);
  EXPECT_EQ(data.entries().size(), entries);
  EXPECT_EQ(plan.last_row, kAbsent);
  for (const TensorRef& tensor : plan.tensors) EXPECT_EQ(tensor.error, data.find(tensor.key)->error) << "the second plan knows what the first one found: " << tensor.key;
  for (const auto& entry : data.entries()) EXPECT_EQ(entry.alignment, 64u);
  for (const TensorRef& tensor : plan.tensors) EXPECT_TRUE(data.contains(tensor.key)) << tensor.key;
}

TEST(Planner, NormsOfHeadsAndAfterBlocksAreTakenAlong) {
  Model model(4, true, true);
  model.qk_norm = model.post_norm = true;
  model.build();
  partition::NamedDataStore data;
  const Plan plan = model.plan(data);
  EXPECT_EQ(kinds(plan), "embed project attend project norm project project select project");
  const auto& attend = std::get<AttendStep>(plan.steps[2]);
  EXPECT_EQ(attend.query_norm.width, static_cast<uint32_t>(kDim));
  EXPECT_EQ(attend.key_norm.kind, NormKind::rms);
  EXPECT_TRUE(std::get<NormStep>(plan.steps[4]).accumulate);
}

TEST(Planner, IntegersAndFloatsOfOneMlpAreProjectedByThemselves) {
  Model model(4);
  model.plain_weight = "up";
  model.build();
  partition::NamedDataStore data;
  const Plan plan = model.plan(data);
  EXPECT_EQ(kinds(plan), "embed project attend project project project combine project select project");
  EXPECT_EQ(std::get<ProjectStep>(plan.steps[4]).activation, Activation::silu);
  EXPECT_EQ(std::get<ProjectStep>(plan.steps[5]).norm.kind, NormKind::rms);
}

TEST(Planner, AllRowsAreComputedWhereAllAreReturned) {
  Model model(4, false);
  model.build();
  partition::NamedDataStore data;
  EXPECT_EQ(model.plan(data).last_row, kAbsent);
}

}  // namespace
}  // namespace pteron::cpu_backend
