// The I/O contract of a compiled model: the object and the integers that constant methods carry.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emit/emit.h"
#include "ir/graph.h"
#include "models/build.h"
#include "models/decoder.h"

namespace pteron::compiler {

struct ContractFacts {
  const models::Decoder* decoder = nullptr;
  const models::BuildOptions* options = nullptr;
  const std::vector<models::CacheLayer>* cache = nullptr;
  const std::vector<models::RopeTable>* ropes = nullptr;
  bool state_outputs = false;
  std::vector<int64_t> eos_ids;
  std::optional<int64_t> bos_id;
  int64_t pad_token = 0;
};

// The object of contract `hf_static` version 1 for methods as they are emitted. Keys are in a fixed order.
nlohmann::ordered_json contract_object(const ir::Module& module, const ContractFacts& facts);

// `io_contract` and the integers that other runners read.
std::vector<emit::ConstantMethod> contract_methods(const ir::Module& module, const ContractFacts& facts);

}  // namespace pteron::compiler
