// Export: a checkpoint becomes a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pteron/backend.h"
#include "pteron/manifest.h"
#include "pteron/status.h"
#include "pteron/tensor.h"

namespace pteron {

/// How weights are stored: as the source has them, as floats, or quantised in symmetric groups of 32 along the input dimension.
enum class Quantization : uint8_t { keep, none, int8, int4 };

enum class MaskForm : uint8_t { additive, boolean };
enum class LogitsRows : uint8_t { all, selected };

/// What to export and how. Unset options take the defaults that docs/cli.md states.
struct ExportRequest {
  std::string source = {};  ///< a folder with config.json and safetensors, a `.gguf` file, or a `.pt2` file
  std::string output = {};  ///< the `.pte` to write, whole or not at all

  std::string backend = "cpu";                                        ///< see `list_backends`
  std::vector<const CompileBackend*> backends = {};                   ///< the caller's own, besides those of this build; must outlive the call
  std::vector<std::pair<std::string, std::string>> backend_options = {};  ///< key and value, as `--backend name:key=value` gives them

  std::optional<Quantization> quant = {}, embedding_quant = {}, head_quant = {};
  ScalarType dtype = ScalarType::Float;  ///< of float weights and activations: float32, float16 or bfloat16

  size_t context_length = 0;             ///< tokens; 0: the model's maximum, at most 4096
  std::optional<size_t> prefill_rows = {};  ///< rows of the prefill method; 0: a decode-only program
  std::optional<ScalarType> cache_dtype = {};  ///< float32, float16 or bfloat16
  MaskForm mask_form = MaskForm::additive;
  std::optional<LogitsRows> logits_rows = {};  ///< of the prefill method (selected)
  ScalarType ids_dtype = ScalarType::Long;  ///< of token and position ids: int64 or int32
  bool flat_sliding = false;             ///< sliding layers as flat caches under a window mask

  std::string external_constants = {};   ///< file name of a `.ptd` beside the output that takes the weights; empty: inside
  std::string tokenizer = {}, chat_template = {}, generation_config = {};  ///< paths that override what the source carries
  bool assets = true;                    ///< store tokenizer, template and generation config in the program

  const PrivateKey* key = nullptr;       ///< sign what is written; must outlive the call
  std::vector<std::string> print_after = {};  ///< passes whose result is wanted as text (see `list_passes`)
  size_t threads = 0;                    ///< 0: the cores that this process may use

  /// Told about progress: the stage's name, and bytes done of bytes in all (0 of 0 where a stage has no measure). False ends the export with
  /// `cancelled`, and nothing is left behind. May be empty.
  std::function<bool(std::string_view stage, uint64_t done, uint64_t total)> progress = {};
};

struct ExportReport {
  std::string json;       ///< methods, regions claimed and refused with reasons, bytes by kind, memory plan, time per stage, peak memory
  std::string printed;    ///< the graphs asked for by `print_after`
  uint64_t bytes = 0;     ///< size of what was written
  std::vector<std::string> warnings;
};

/// Makes a program. Errors name the file and the field; nothing is left at `output` unless the whole call succeeds.
Result<ExportReport> export_program(const ExportRequest& request);

struct Described {
  std::string name, summary;
};
std::vector<Described> list_backends();
std::vector<Described> list_passes();
/// Architectures by their Hugging Face class name.
std::vector<Described> list_models();

}  // namespace pteron
