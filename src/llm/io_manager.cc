#include "llm/io_manager.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "llm/hf_static.h"

namespace pteron {

Status IoManager::unsupported(std::string_view operation) {
  return Status::error(Code::unsupported, "this contract has no such session operation", {"", std::string(operation), "", ""});
}

std::shared_ptr<ThreadPool> make_thread_pool(size_t threads) { return std::make_shared<ThreadPool>(threads); }

}  // namespace pteron

namespace pteron::llm {

IoManagerRegistry IoManagerRegistry::with_defaults() {
  IoManagerRegistry registry;
  (void)register_hf_static(registry);  // the first entry of an empty registry
  return registry;
}

Status IoManagerRegistry::add(std::string contract, int64_t version, OpenContract open) {
  if (!open) return Status::error(Code::invalid_argument, "a contract needs a function that opens it", {"", contract, "a function", "none"});
  for (const ContractEntry& entry : entries_) {
    if (entry.contract == contract && entry.version == version) {
      return Status::error(Code::invalid_argument, "the contract is registered already", {"", contract, "one entry", "version " + std::to_string(version) + " again"});
    }
  }
  entries_.push_back({std::move(contract), version, std::move(open)});
  return {};
}

Result<std::unique_ptr<IoContract>> IoManagerRegistry::open(const MethodSource& source) const {
  PTERON_ASSIGN(const std::string_view json, source.constant_string(kContractMethod));
  const std::string field(kContractMethod);
  auto id = identify_contract(json);
  if (!id.ok()) return std::move(id).status().in_field(field);
  std::string known;
  bool contract_known = false;
  for (const ContractEntry& entry : entries_) {
    contract_known = contract_known || entry.contract == id->contract;
    if (entry.contract == id->contract && entry.version == id->version) {
      auto opened = entry.open(json, source);
      if (!opened.ok()) return std::move(opened).status().in_field(field);
      return opened;
    }
    known.append(known.empty() ? "" : ", ").append(entry.contract).append(" version ").append(std::to_string(entry.version));
  }
  if (contract_known) {
    return Status::error(Code::unsupported, "unknown version of the contract", {"", field + ".version", known, std::to_string(id->version)});
  }
  return Status::error(Code::unsupported, "unknown contract", {"", field + ".contract", known, id->contract});
}

}  // namespace pteron::llm
