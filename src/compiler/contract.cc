#include "compiler/contract.h"

#include <algorithm>

namespace pteron::compiler {
namespace {

using Json = nlohmann::ordered_json;

Json port_object(const ir::Graph& graph, const ir::Port& port, size_t index) {
  const ir::Type& type = graph.type(port.value);
  Json out = {{"role", ir::role_name(port.role)}, {"index", index}, {"dtype", dtype_name(type.dtype)}, {"shape", type.sizes()}};
  if (port.layer >= 0) out["layer"] = port.layer;
  if (!port.mask.empty()) out["mask"] = port.mask;
  if (port.alias >= 0) out["aliases"] = port.alias;
  return out;
}

Json method_object(const ir::Graph& graph, bool state_outputs) {
  int64_t rows = 1;
  bool selected = false;
  Json inputs = Json::array(), outputs = Json::array();
  for (const ir::Port& port : graph.inputs) {
    if (port.role == ir::Role::token_ids) rows = graph.type(port.value).size(1);
    selected = selected || port.role == ir::Role::last_row;
    inputs.push_back(port_object(graph, port, inputs.size()));
  }
  for (const ir::Port& port : graph.outputs) {
    if (port.alias < 0 || state_outputs) outputs.push_back(port_object(graph, port, outputs.size()));
  }
  return {{"role", graph.name}, {"name", graph.name}, {"rows", rows}, {"inputs", inputs}, {"outputs", outputs}, {"logits_rows", selected ? "selected" : "all"}};
}

Json cache_object(const ContractFacts& facts) {
  Json layers = Json::array();
  for (const models::CacheLayer& layer : *facts.cache) {
    Json out = {{"kind", layer.sliding ? "sliding" : "full"}, {"heads", layer.heads}, {"key_dim", layer.key_dim}, {"value_dim", layer.value_dim}, {"slots", layer.slots}};
    if (layer.sliding) out["window"] = layer.window;
    layers.push_back(std::move(out));
  }
  return {{"dtype", dtype_name(facts.options->cache_dtype)}, {"layout", "bhsd"}, {"layers", std::move(layers)}};
}

// How keys were rotated, for those that move cached keys to other positions.
Json rope_object(const ContractFacts& facts) {
  Json tables = Json::array(), layers = Json::array();
  for (const models::RopeTable& rope : *facts.ropes) tables.push_back({{"dims", 2 * rope.inv_freq.size()}, {"inverse_frequencies", rope.inv_freq}});
  for (const models::Block& block : facts.decoder->blocks) layers.push_back(block.attention.rope < 0 ? Json() : Json(block.attention.rope));
  return {{"pairing", facts.decoder->ropes[0].interleaved ? "interleaved" : "half"}, {"tables", std::move(tables)}, {"layers", std::move(layers)}};
}

}  // namespace

nlohmann::ordered_json contract_object(const ir::Module& module, const ContractFacts& facts) {
  Json methods = Json::array(), masks = Json::array();
  Json verify;  // an optional key of its own: readers that do not know it see the two methods of the contract
  for (const ir::Graph& graph : module.methods) {
    Json method = method_object(graph, facts.state_outputs);
    if (graph.name == "verify") {
      verify = std::move(method);
    } else {
      methods.push_back(std::move(method));
    }
  }
  for (bool sliding : {false, true}) {
    const auto of_kind = [&](const models::CacheLayer& layer) { return layer.sliding == sliding; };
    if (std::none_of(facts.cache->begin(), facts.cache->end(), of_kind)) continue;
    const char* kind = sliding ? "sliding" : "full";
    masks.push_back({{"name", kind}, {"kind", kind}, {"form", facts.options->boolean_mask ? "boolean" : "additive"}});
  }
  Json out = {{"contract", "hf_static"},
              {"version", 1},
              {"requires", Json::array()},
              {"context_length", facts.options->context_length},
              {"vocab_size", facts.decoder->vocab},
              {"pad_token", facts.pad_token},
              {"architecture", facts.decoder->architecture},
              {"methods", std::move(methods)},
              {"masks", std::move(masks)},
              {"cache", cache_object(facts)}};
  if (!facts.ropes->empty()) out["rope"] = rope_object(facts);
  if (!verify.is_null()) out["verify"] = std::move(verify);
  return out;
}

std::vector<emit::ConstantMethod> contract_methods(const ir::Module& module, const ContractFacts& facts) {
  std::vector<emit::ConstantMethod> out;
  out.push_back({"io_contract", {contract_object(module, facts).dump()}});
  out.push_back({"get_max_context_len", {facts.options->context_length}});
  out.push_back({"get_max_seq_len", {facts.options->context_length}});
  out.push_back({"get_vocab_size", {facts.decoder->vocab}});
  out.push_back({"use_kv_cache", {true}});
  if (facts.bos_id) out.push_back({"get_bos_id", {*facts.bos_id}});
  if (!facts.eos_ids.empty()) {
    emit::ConstantMethod eos{"get_eos_ids", {}};
    for (int64_t id : facts.eos_ids) eos.values.emplace_back(id);
    out.push_back(std::move(eos));
  }
  out.push_back({"get_n_layers", {static_cast<int64_t>(facts.decoder->blocks.size())}});
  return out;
}

}  // namespace pteron::compiler
