#include "import/checkpoint.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/cpu.h"
#include "base/file.h"
#include "base/sha256.h"
#include "import/gguf_checkpoint.h"
#include "import/hf_folder.h"

namespace pteron::importer {

namespace fs = std::filesystem;

Result<Checkpoint> open_checkpoint(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return Status::error(Code::not_found, "no checkpoint", {path, "", "a folder with config.json or a .gguf file", "nothing"});
  if (fs::is_directory(status)) return open_hf_folder(path);
  if (fs::path(path).extension() == ".safetensors") {
    return Status::error(Code::invalid_argument, "weights alone are no checkpoint",
                         {path, "", "the folder that also holds config.json", "a .safetensors file"});
  }
  return open_gguf_checkpoint(path);
}

Result<std::vector<FileDigest>> source_digests(const Checkpoint& checkpoint, size_t threads) {
  const std::vector<std::string>& files = checkpoint.files;
  std::vector<FileDigest> digests(files.size());
  std::vector<Status> statuses(files.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < files.size(); i = next++) {
      const Result<FileBytes> file = FileBytes::map(files[i]);
      statuses[i] = file.status();
      if (file.ok()) digests[i] = {fs::path(files[i]).filename().string(), to_hex(sha256(file->bytes()))};
    }
  };
  std::vector<std::thread> helpers;
  const size_t wanted = std::min(threads == 0 ? usable_cores() : threads, files.size());
  for (size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  for (Status& status : statuses) PTERON_TRY(std::move(status));
  return digests;
}

}  // namespace pteron::importer
