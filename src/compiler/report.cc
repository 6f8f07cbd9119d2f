#include "compiler/report.h"

#include <sys/resource.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <set>

namespace pteron::compiler {
namespace {

using Json = nlohmann::ordered_json;

// Anonymous memory of this process in bytes, as the kernel counts it; 0 where it does not say.
uint64_t anonymous_bytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/status", "r"), std::fclose);
  if (!file) return 0;
  char line[256];
  while (std::fgets(line, sizeof line, file.get())) {
    const std::string_view text(line);
    if (!text.starts_with("RssAnon:")) continue;
    const size_t digit = text.find_first_of("0123456789");
    uint64_t kib = 0;
    if (digit != std::string_view::npos) std::from_chars(text.data() + digit, text.data() + text.size(), kib);
    return kib * 1024;
  }
  return 0;
}

Json method_json(const ir::Graph& graph, const partition::MethodPartition* partition, const emit::MethodReport& emitted) {
  Json out = {{"name", graph.name}, {"inputs", graph.inputs.size()}, {"outputs", graph.outputs.size()}, {"instructions", emitted.instructions}, {"values", emitted.values}};
  out["memory_plan"] = {{"arena_bytes", emitted.arena_bytes}, {"unshared_bytes", emitted.unshared_bytes}};
  if (!partition) return out;
  out["nodes"] = partition->nodes;
  out["claimed_nodes"] = partition->taken;
  out["regions"] = Json::array();
  for (size_t i = 0; i < partition->region_nodes.size(); ++i) {
    out["regions"].push_back({{"nodes", partition->region_nodes[i]}, {"payload_bytes", partition->delegates[i].payload.bytes.size()}});
  }
  out["refused"] = Json::array();
  for (const auto& refusal : partition->refused) out["refused"].push_back({{"operator", refusal.op}, {"reason", refusal.reason}, {"count", refusal.count}});
  return out;
}

// Each weight once, however many methods refer to it.
Json weights_json(const std::vector<partition::MethodPartition>& partitions) {
  Json out = Json::array();
  std::set<std::string_view> seen;
  for (const partition::MethodPartition& method : partitions) {
    for (const partition::Delegate& delegate : method.delegates) {
      for (const StoredWeight& weight : delegate.payload.weights) {
        if (!seen.insert(weight.key).second) continue;
        Json row = {{"key", weight.key}, {"encoding", weight.encoding}, {"shape", weight.shape}, {"bytes", weight.bytes}};
        if (weight.error) row["error"] = *weight.error;
        out.push_back(std::move(row));
      }
    }
  }
  return out;
}

}  // namespace

Status Stages::begin(std::string stage) {
  end();
  current_ = std::move(stage);
  start_ = Clock::now();
  return progress(0, 0);
}

void Stages::end() {
  note_memory();
  if (current_.empty()) return;
  done_.emplace_back(current_, std::chrono::duration<double, std::milli>(Clock::now() - start_).count());
  current_.clear();
}

Status Stages::progress(uint64_t done, uint64_t total) const {
  if (!request_.progress || request_.progress(current_, done, total)) return {};
  return Status::error(Code::cancelled, "the export was interrupted");
}

void Stages::note_memory() { peak_anonymous_ = std::max(peak_anonymous_, anonymous_bytes()); }

uint64_t Stages::peak_rss() const {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<uint64_t>(usage.ru_maxrss) * 1024 : 0;
}

Json Stages::json() const {
  Json out = Json::object();
  for (const auto& [stage, ms] : done_) out[stage] = ms;
  return out;
}

Json report_json(const ReportFacts& facts, const Stages& stages) {
  Json out;
  out["backend"] = facts.backend;
  out["options"] = facts.options;
  out["methods"] = Json::array();
  for (size_t i = 0; i < facts.module->methods.size(); ++i) {
    const auto* partition = i < facts.partitions->size() ? &(*facts.partitions)[i] : nullptr;
    out["methods"].push_back(method_json(facts.module->methods[i], partition, facts.emitted->methods[i]));
  }
  out["bytes"] = {{"file", facts.bytes}, {"constants", facts.emitted->constant_bytes}, {"delegates", facts.emitted->delegate_bytes}, {"named_data", facts.emitted->named_bytes}};
  out["weights"] = weights_json(*facts.partitions);
  out["stage_ms"] = stages.json();
  out["peak_rss_bytes"] = stages.peak_rss();
  out["peak_anonymous_bytes"] = stages.peak_anonymous();
  out["notes"] = facts.notes;
  out["warnings"] = facts.warnings;
  return out;
}

}  // namespace pteron::compiler
