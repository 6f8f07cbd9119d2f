// The I/O contract object of a program (`io_contract`), contract `hf_static` version 1: parsed into plain structs and checked
// against the program before anything is allocated. docs/contract.md describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pteron/io_manager.h"
#include "pteron/tensor.h"
#include "runtime/method.h"

namespace pteron::llm {

enum class MethodRole : uint8_t { prefill, decode, verify };
enum class InputRole : uint8_t { token_ids, position_ids, mask, key_cache, value_cache, last_row, counter };
enum class OutputRole : uint8_t { logits, key_state, value_state };
using pteron::LayerKind;
enum class MaskForm : uint8_t { additive, boolean };
enum class LogitsRows : uint8_t { all, selected };

std::string_view role_name(MethodRole role);
std::string_view role_name(InputRole role);
std::string_view role_name(OutputRole role);
std::string_view kind_name(LayerKind kind);

struct InputSpec {
  InputRole role = InputRole::token_ids;
  uint32_t index = 0;           // position in the method's inputs
  ScalarType dtype = ScalarType::Float;
  std::vector<int64_t> shape;
  uint32_t layer = 0;           // caches only
  std::string mask;             // masks only: a name of Contract::masks
};

struct OutputSpec {
  OutputRole role = OutputRole::logits;
  uint32_t index = 0;
  ScalarType dtype = ScalarType::Float;
  std::vector<int64_t> shape;
  std::optional<uint32_t> layer;  // states only; optional, the aliased input has it too
  uint32_t aliases = 0;           // states only: the index of the input that it equals
};

struct MethodSpec {
  MethodRole role = MethodRole::decode;
  std::string name;
  int64_t rows = 1;             // q
  LogitsRows logits_rows = LogitsRows::all;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
};

struct MaskSpec {
  std::string name;
  LayerKind kind = LayerKind::full;
  MaskForm form = MaskForm::additive;
};

struct LayerSpec {
  LayerKind kind = LayerKind::full;
  int64_t heads = 0, key_dim = 0, value_dim = 0, slots = 0;
  int64_t window = 0;           // sliding layers only
};

// How keys were rotated, so that cached keys can be moved to other positions (`evict`). An optional key of the object.
struct RopeTable {
  int64_t dims = 0;                          // the first `dims` elements of a key are rotated
  std::vector<double> inverse_frequencies;   // dims / 2 of them; the angle of pair i at position p is p * inverse_frequencies[i]
};
struct RopeSpec {
  bool interleaved = false;                  // pairs (2i, 2i + 1) instead of (i, i + dims / 2)
  std::vector<RopeTable> tables;
  std::vector<std::optional<uint32_t>> layers;  // the table of each layer; nullopt where keys carry no rotation
};

struct Contract {
  int64_t context_length = 0;   // L
  int64_t vocab_size = 0;       // V
  int64_t pad_token = 0;
  std::string architecture;     // optional; for display
  std::vector<MethodSpec> methods;
  std::optional<MethodSpec> verify;  // optional key "verify": a method like prefill with all logits rows, for speculation
  std::vector<MaskSpec> masks;
  ScalarType cache_dtype = ScalarType::Float;
  std::vector<LayerSpec> layers;
  std::optional<RopeSpec> rope;

  const MethodSpec* method(MethodRole role) const;  // null where the program has none
  int64_t largest_rows() const;                     // the C of the ring rule
};

// Which contract an object claims to follow. `json` must be an object with a string "contract" and an integer "version".
struct ContractId {
  std::string contract;
  int64_t version = 0;
};
Result<ContractId> identify_contract(std::string_view json);

// The object of `hf_static` version 1. Checks syntax, required keys, types, duplicates, `requires`; an error's field is a path such as
// `methods[0].inputs[3].shape[2]`. Unknown optional keys are ignored. Does not look at a program.
Result<Contract> parse_contract(std::string_view json);

// Every check of chapters 2 to 8: the object against itself and against the program's methods. Allocates no buffer.
Status validate_contract(const Contract& contract, std::span<const MethodInfo> methods);

// True where every key of the context is held: a full layer, or a ring so large that nothing is ever overwritten.
inline bool holds_everything(const Contract& contract, const LayerSpec& layer) { return layer.slots >= contract.context_length; }

// Bytes of the caches of one session. Only for a validated contract (products cannot overflow).
size_t cache_bytes(const Contract& contract);
// Bytes of cache that one committed token takes, over all layers.
size_t cache_bytes_per_token(const Contract& contract);

}  // namespace pteron::llm
