// Any bytes as one of the small files of a Hugging Face folder (the first byte says which); the rest of the folder is good.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "import/checkpoint.h"

namespace {

constexpr std::array<const char*, 7> kNames = {"config.json",
                                               "generation_config.json",
                                               "tokenizer_config.json",
                                               "model.safetensors.index.json",
                                               "chat_template.json",
                                               "special_tokens_map.json",
                                               "README.md"};

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "pteron_fuzz_XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
    constexpr std::string_view kHeader = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const uint64_t size = kHeader.size();
    write("part.safetensors", std::string(reinterpret_cast<const char*>(&size), sizeof size) + std::string(kHeader) + "1234");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void remove(const std::string& name) const { std::filesystem::remove(path_ + "/" + name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  if (size == 0) return 0;
  folder.write("config.json", "{}");
  folder.write("model.safetensors.index.json", R"({"weight_map":{"w":"part.safetensors"}})");
  const char* name = kNames[data[0] % kNames.size()];
  folder.write(name, {reinterpret_cast<const char*>(data) + 1, size - 1});
  const auto checkpoint = pteron::importer::open_checkpoint(folder.path());
  if (checkpoint.ok() && checkpoint->weights->names().empty()) __builtin_trap();
  folder.remove(name);
  return 0;
}
