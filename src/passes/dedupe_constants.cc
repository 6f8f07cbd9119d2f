#include <map>
#include <tuple>

#include "base/sha256.h"
#include "core/dtype.h"
#include "passes/passes.h"

namespace pteron::passes {
namespace {

// A cheap sign of difference: type and the first row. Constants that share it are compared by their digests.
Result<std::string> fingerprint(const ir::Constant& constant) {
  std::string out = to_string(constant.type()) + std::string(ir::packing_name(constant.packing));
  const ConstantSource& source = *constant.source;
  if (!constant.digest.empty()) return out + constant.digest;
  if (!is_float(source.dtype()) || source.shape().empty() || source.shape()[0] == 0) return out;
  std::vector<float> row(static_cast<size_t>(*constant.type().numel()) / static_cast<size_t>(source.shape()[0]));
  PTERON_TRY(source.read_rows_f32(0, 1, row.data()));
  return out + to_hex(sha256(std::as_bytes(std::span(row))));
}

Result<std::string> digest(const ir::Constant& constant) {
  if (!constant.digest.empty()) return constant.digest;
  Sha256 hash;
  PTERON_TRY(constant.source->stream([&](ByteSpan bytes) {
    hash.update(bytes);
    return Status();
  }));
  return to_hex(hash.finish());
}

}  // namespace

Status dedupe_constants(ir::Module& module, ir::Notes& notes) {
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t i = 0; i < module.constants.size(); ++i) {
    PTERON_ASSIGN(std::string key, fingerprint(module.constants[i]));
    groups[std::move(key)].push_back(i);
  }
  std::vector<int32_t> same(module.constants.size());
  for (size_t i = 0; i < same.size(); ++i) same[i] = static_cast<int32_t>(i);
  for (const auto& [key, members] : groups) {
    if (members.size() < 2) continue;
    std::map<std::string, size_t> first;
    for (size_t i : members) {
      PTERON_ASSIGN(const std::string bytes, digest(module.constants[i]));
      const auto [it, fresh] = first.emplace(bytes, i);
      if (fresh) continue;
      same[i] = static_cast<int32_t>(it->second);
      notes.push_back("constant " + module.constants[i].name + " equals " + module.constants[it->second].name);
    }
  }
  for (ir::Graph& graph : module.methods) {
    for (size_t v = 0; v < graph.values.size(); ++v) {
      ir::Value& value = graph.values[v];
      if (value.def != ir::Def::constant || same[static_cast<size_t>(value.constant)] == value.constant) continue;
      const int32_t target = same[static_cast<size_t>(value.constant)];
      value.constant = target;
      for (size_t other = 0; other < v; ++other) {
        if (graph.values[other].def == ir::Def::constant && graph.values[other].constant == target) {
          graph.replace_uses(static_cast<ir::ValueId>(v), static_cast<ir::ValueId>(other));
          break;
        }
      }
    }
  }
  return {};
}

}  // namespace pteron::passes
