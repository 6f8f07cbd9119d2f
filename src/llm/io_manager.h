// The registry that finds what implements a program's I/O contract. A session speaks to a program only through that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/contract.h"
#include "llm/method_source.h"
#include "llm/token.h"
#include "pteron/io_manager.h"

namespace pteron::llm {

using pteron::CacheView;
using pteron::IoContract;
using pteron::IoManager;
using pteron::Limits;
using pteron::ManagerOptions;
using pteron::OpenContract;
using pteron::StateSink;
using pteron::Step;

// (contract, version) -> how to open it. Entries are added by explicit calls only.
class IoManagerRegistry {
 public:
  // The contracts of this build: hf_static version 1.
  static IoManagerRegistry with_defaults();
  // A second entry for the same contract and version is an error.
  Status add(std::string contract, int64_t version, OpenContract open);
  // Selects by the program's `io_contract`. not_found: the program is under no contract. unsupported: unknown contract or version.
  // Never falls back from a malformed object.
  Result<std::unique_ptr<IoContract>> open(const MethodSource& source) const;

 private:
  std::vector<ContractEntry> entries_;
};

// The constant method that holds the object.
inline constexpr std::string_view kContractMethod = "io_contract";

}  // namespace pteron::llm
