#include "models/build.h"

#include <gtest/gtest.h>

#include "ir/printer.h"
#include "ir/verifier.h"
#include "models/test_model.h"

namespace pteron::models {
namespace {

constexpr const char* kLlama = R"({"architectures": ["LlamaForCausalLM"], "vocab_size": 20, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2,
  "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64, "tie_word_embeddings": true})";
constexpr const char* kGemma3 = R"({"architectures": ["Gemma3ForCausalLM"], "vocab_size": 20, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2, "head_dim": 4,
  "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64, "sliding_window": 8, "sliding_window_pattern": 2})";

// Every tensor that a description asks for.
TestWeights weights_of(const Decoder& d) {
  TestWeights out;
  out.add(d.embedding, {d.vocab, d.hidden});
  const auto norm = [&](const Norm& n) {
    if (n) out.add(n.weight, n.shape);
  };
  const auto matrix = [&](const Matrix& m) { out.add(m.weight, {m.out, m.in}); };
  norm(d.final_norm);
  if (!d.tied) matrix(d.head);
  for (const Block& b : d.blocks) {
    for (const Norm& n : {b.attention_pre, b.attention_post, b.mlp_pre, b.mlp_post, b.attention.query_norm, b.attention.key_norm}) norm(n);
    for (const Matrix& m : {b.attention.query, b.attention.key, b.attention.value, b.attention.output, b.mlp.gate, b.mlp.up, b.mlp.down}) matrix(m);
  }
  return out;
}

std::string ports(const ir::Graph& graph, const std::vector<ir::Port>& list) {
  std::string out;
  for (const ir::Port& port : list) out += port.name + " " + to_string(graph.type(port.value)) + "\n";
  return out;
}

TEST(Build, MethodsHaveTheContractsInputsInItsOrder) {
  const Decoder d = described(kLlama);
  const TestWeights weights = weights_of(d);
  auto built = build(d, weights, {.context_length = 32, .prefill_rows = 4, .cache_dtype = ScalarType::Half, .ids_dtype = ScalarType::Int});
  ASSERT_TRUE(built.ok()) << built.status().message();
  ASSERT_TRUE(ir::verify(built->module).ok()) << ir::verify(built->module).message();
  ASSERT_EQ(built->module.methods.size(), 2u);
  const ir::Graph& prefill = built->module.methods[0];
  EXPECT_EQ(prefill.name, "prefill");
  EXPECT_EQ(ports(prefill, prefill.inputs),
            "token_ids int32[1,4]\nposition_ids int32[1,4]\nmask_full float32[1,1,4,32]\nlast_row int64[1]\n");
  EXPECT_EQ(ports(prefill, prefill.outputs), "logits float32[1,1,20]\n");
  EXPECT_EQ(built->module.methods[1].inputs.size(), 3u) << "decode has one row, so no row to choose";
  const std::string text = ir::print(built->module, prefill);
  for (const char* cache : {"float16[1,1,32,4] = pteron::cache(kind=\"key\", layer=0)", "pteron::cache(kind=\"value\", layer=0)", "pteron::cache(kind=\"value\", layer=1)"}) {
    EXPECT_NE(text.find(cache), std::string::npos) << text;
  }
  EXPECT_TRUE(built->unused.empty());
}

TEST(Build, BothMethodsShareEveryConstantAndTheTiedEmbeddingIsOne) {
  const Decoder d = described(kLlama);
  const TestWeights weights = weights_of(d);
  auto built = build(d, weights, {.context_length = 32, .prefill_rows = 4});
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(built->module.constants.size(), 1 + 1 + 2 * 9 + 1u) << "embedding, final norm, nine a layer, frequencies";
  auto apart = build(d, weights, {.context_length = 32, .prefill_rows = 4, .packing = ir::Packing::int4, .embedding_packing = ir::Packing::int8, .head_packing = ir::Packing::int4});
  ASSERT_TRUE(apart.ok());
  EXPECT_EQ(apart->module.constants.size(), built->module.constants.size() + 1) << "embedding and head are packed differently";
  EXPECT_EQ(apart->module.constants[static_cast<size_t>(*apart->module.find_constant("lm_head.weight"))].packing, ir::Packing::int4);
}

TEST(Build, AMethodForGuessesShowsAllRowsAndCountsForTheRings) {
  const Decoder d = described(kGemma3);
  const TestWeights weights = weights_of(d);
  auto built = build(d, weights, {.context_length = 64, .prefill_rows = 3, .verify_rows = 5});
  ASSERT_TRUE(built.ok()) << built.status().message();
  ASSERT_EQ(built->module.methods.size(), 3u);
  const ir::Graph& verify = built->module.methods[2];
  EXPECT_EQ(verify.name, "verify");
  EXPECT_EQ(ports(verify, verify.outputs), "logits float32[1,5,20]\n");
  EXPECT_EQ(built->cache[0].slots, 8 + 5 - 1);
  EXPECT_EQ(build(d, weights, {.context_length = 64, .prefill_rows = 3, .verify_rows = 1}).status().detail().field, "verify_rows");
}

TEST(Build, RingsHaveRoomForAWindowBesideAChunk) {
  const Decoder d = described(kGemma3);
  const TestWeights weights = weights_of(d);
  const auto slots = [&](BuildOptions options) {
    auto built = build(d, weights, options);
    EXPECT_TRUE(built.ok()) << built.status().message();
    return built.ok() ? built->cache[0].slots : -1;
  };
  EXPECT_EQ(slots({.context_length = 64, .prefill_rows = 5}), 8 + 5 - 1);
  EXPECT_EQ(slots({.context_length = 64, .prefill_rows = 0}), 8) << "decode only: a chunk of one row";
  EXPECT_EQ(slots({.context_length = 10, .prefill_rows = 5}), 10) << "never more than the context";
  EXPECT_EQ(slots({.context_length = 64, .prefill_rows = 5, .flat_sliding = true}), 64);
  auto built = build(d, weights, {.context_length = 64, .prefill_rows = 5});
  EXPECT_TRUE(built->cache[0].sliding);
  EXPECT_FALSE(built->cache[1].sliding);
  EXPECT_EQ(built->cache[0].window, 8);
  const ir::Graph& decode = built->module.methods[1];
  EXPECT_EQ(decode.inputs[2].mask, "full");
  EXPECT_EQ(decode.inputs[3].mask, "sliding");
  EXPECT_NE(ir::print(built->module, decode).find("ring=true"), std::string::npos);
  auto full = build(d, weights, {.context_length = 8, .prefill_rows = 4});
  EXPECT_FALSE(full->cache[0].sliding) << "a window of the whole context is no window";
}

TEST(Build, SelectedRowsComeBeforeTheHead) {
  const Decoder d = described(kLlama);
  const TestWeights weights = weights_of(d);
  auto all = build(d, weights, {.context_length = 32, .prefill_rows = 4, .prefill_selected = false});
  const ir::Graph& prefill = all->module.methods[0];
  EXPECT_EQ(prefill.type(prefill.outputs[0].value), ir::Type(ScalarType::Float, {1, 4, 20}));
  auto one = build(d, weights, {.context_length = 32, .prefill_rows = 4});
  const std::string text = ir::print(one->module, one->module.methods[0]);
  EXPECT_LT(text.find("select_row"), text.rfind("rms_norm"));
}

TEST(Build, WrongTensorsAndOptionsAreErrors) {
  const Decoder d = described(kLlama);
  TestWeights weights = weights_of(d);
  EXPECT_EQ(build(d, weights, {.context_length = 0}).status().detail().field, "context_length");
  EXPECT_EQ(build(d, weights, {.context_length = 8, .prefill_rows = 9}).status().detail().found, "9");
  EXPECT_EQ(build(d, weights, {.context_length = 8, .prefill_rows = 1}).status().detail().field, "prefill_rows");
  weights.add("stray", {1});
  EXPECT_EQ(build(d, weights, {.context_length = 8, .prefill_rows = 0})->unused, std::vector<std::string>{"stray"});
  weights.add("model.layers.1.mlp.up_proj.weight", {12, 9});
  const Status status = build(d, weights, {.context_length = 8, .prefill_rows = 0}).status();
  EXPECT_EQ(status.detail().file, "model.safetensors");
  EXPECT_EQ(status.detail().field, "model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(status.detail().expected, "[12, 8]");
  EXPECT_EQ(status.detail().found, "[12, 9]");
}

TEST(Build, LearnedPositionsLimitTheContext) {
  Decoder d = described(kLlama);
  d.position_embedding = "wpe.weight";
  d.positions_limited = true;
  TestWeights weights = weights_of(d);
  weights.add("wpe.weight", {64, 8});
  EXPECT_TRUE(build(d, weights, {.context_length = 64, .prefill_rows = 0}).ok());
  EXPECT_EQ(build(d, weights, {.context_length = 65, .prefill_rows = 0}).status().detail().found, "65");
}

}  // namespace
}  // namespace pteron::models
