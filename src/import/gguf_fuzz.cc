// Any bytes as a GGUF file: parsed, mapped to Hugging Face terms, and every tensor of a file that passes is streamed.
#include <cstddef>
#include <cstdint>

#include "import/gguf_config.h"
#include "import/gguf_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron;
  using namespace pteron::importer;
  const Result<GgufFile> file = GgufFile::parse(FileBytes::borrow({reinterpret_cast<const std::byte*>(data), size}));
  if (!file.ok()) return 0;
  for (const auto& [key, value] : file->metadata()) {
    (void)file->strings(key).ok();
    (void)file->floats(key).ok();
    (void)file->integers(key).ok();
    (void)file->number(key).ok();
  }
  const Result<const GgufArchitecture*> architecture = gguf_architecture(*file);
  if (!architecture.ok()) return 0;
  (void)gguf_config(*file, **architecture).ok();
  (void)gguf_generation_config(*file).ok();
  const Result<std::shared_ptr<const WeightSource>> weights = gguf_weights(*file, **architecture);
  if (!weights.ok()) return 0;
  for (const std::string& name : (*weights)->names()) {
    const ConstantPtr source = (*weights)->find(name);
    uint64_t bytes = 0;
    const Status status = source->stream([&](ByteSpan piece) {
      bytes += piece.size();
      return Status();
    });
    if (status.ok() && bytes != source->nbytes()) __builtin_trap();
  }
  return 0;
}
