#include "backends/cpu/compile/backend.h"

#include <gtest/gtest.h>

#include "backends/cpu/payload/plan.h"
#include "core/constant_recipes.h"
#include "ir/builder.h"
#include "partition/partition.h"

namespace pteron::cpu_backend {
namespace {

TEST(Backend, NamesItselfAsTheRunHalfDoes) {
  EXPECT_EQ(compile_backend().name(), "cpu");
  EXPECT_EQ(compile_backend().delegate_id(), kDelegateId);
  EXPECT_EQ(compile_backend().default_packing(), ir::Packing::int4);
  EXPECT_EQ(compile_backend().default_cache_dtype(), ScalarType::Half);
}

TEST(Backend, UnknownOptionsAreErrorsThatListTheKnown) {
  const partition::KeyValue unknown[] = {{"speed", "fast"}}, wrong[] = {{"float-weights", "int3"}}, good[] = {{"float-weights", "float16"}};
  const auto refused = compile_backend().parse_options(unknown);
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_NE(refused.status().message().find("float-weights"), std::string::npos) << refused.status().message();
  EXPECT_EQ(compile_backend().parse_options(wrong).status().detail().expected, "keep, float16 or bfloat16");
  EXPECT_TRUE(compile_backend().parse_options(good).ok());
  const partition::KeyValue affine[] = {{"int4", "affine"}}, both[] = {{"int4", "both"}};
  EXPECT_TRUE(compile_backend().parse_options(affine).ok());
  EXPECT_EQ(compile_backend().parse_options(both).status().detail().field, "int4");
}

// The plan of y = x * W^T and what it stores.
TEST(Backend, OptionsDecideHowFloatWeightsAreStored) {
  for (const auto& [value, encoding] : {std::pair{"keep", PackedEncoding::float32}, {"float16", PackedEncoding::float16}, {"bfloat16", PackedEncoding::bfloat16}}) {
    ir::Module module;
    ir::Graph graph;
    graph.name = "forward";
    ir::Builder b(module, graph);
    const ir::ValueId x = b.input(ir::Type(ScalarType::Float, {1, 3, 8}), {.name = "x"});
    const ir::ValueId w = b.constant("w", *constant_from_values({5, 8}, std::vector<float>(40, 0.5f)));
    b.output(b.op(ir::Op::linear, {x, w}), {.name = "y"});
    ASSERT_TRUE(b.status().ok()) << b.status().message();
    const partition::KeyValue option[] = {{"float-weights", value}};
    const auto options = compile_backend().parse_options(option);
    partition::NamedDataStore data;
    const auto made = partition::partition(module, graph, compile_backend(), **options, data);
    ASSERT_TRUE(made.ok()) << made.status().message();
    ASSERT_EQ(made->delegates.size(), 1u);
    EXPECT_EQ(made->delegates[0].id, kDelegateId);
    const auto plan = read_plan(made->delegates[0].payload.bytes);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    ASSERT_EQ(plan->tensors.size(), 1u);
    EXPECT_EQ(plan->tensors[0].encoding, encoding);
    ASSERT_EQ(data.entries().size(), 1u);
    EXPECT_EQ(data.entries()[0].key, plan->tensors[0].key);
    EXPECT_EQ(data.entries()[0].bytes.nbytes, plan->tensors[0].bytes());
  }
}

}  // namespace
}  // namespace pteron::cpu_backend
