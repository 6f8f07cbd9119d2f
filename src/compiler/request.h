// What is asked of the compiler.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "ir/graph.h"
#include "ir/pass.h"
#include "partition/backend.h"

namespace pteron::compiler {

enum class Quantization : uint8_t { keep, none, int8, int4 };

struct CompileRequest {
  std::string source;  // a folder with config.json and safetensors, or a .gguf file
  std::string output;  // the program, whole or not at all

  const partition::CompileBackend* backend = nullptr;  // null: portable, nothing is claimed
  std::vector<partition::KeyValue> backend_options;
  std::vector<ir::Pass> passes;                        // the caller's own, on graphs under the contract, before everything else

  std::optional<Quantization> quant, embedding_quant, head_quant;
  ScalarType dtype = ScalarType::Float;       // float32, float16 or bfloat16
  int64_t context_length = 0;                 // 0: the model's, at most 4096
  std::optional<int64_t> prefill_rows;        // 0: decode only; unset: 128, less where the context is shorter
  std::optional<ScalarType> cache_dtype;
  ScalarType ids_dtype = ScalarType::Long;    // int64 or int32
  bool boolean_mask = false;
  std::optional<bool> selected_logits;        // one row of logits from every method, or all rows; unset: one from prefill, all (one) from decode
  bool flat_sliding = false;
  bool state_outputs = false;                 // updated caches as outputs of the methods too

  std::string external_constants;             // file name of a .ptd beside the output; empty: inside
  std::string tokenizer, chat_template, generation_config;  // paths that override the source's
  bool assets = true;

  std::vector<std::string> print_after;       // names of passes
  size_t threads = 0;

  std::function<bool(std::string_view stage, uint64_t done, uint64_t total)> progress;  // false ends the run: `cancelled`
  // Called when program and external constants (null where there are none) are written, before they get their names (a signature).
  std::function<Status(FileWriter& program, FileWriter* external)> seal;
};

struct CompileReport {
  std::string json;
  std::string printed;
  uint64_t bytes = 0;
  std::vector<std::string> warnings;
};

}  // namespace pteron::compiler
