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

Result<std::vector<FileDigest>> source_digests(const Checkpoint& checkpoint, size_t threads, const DigestProgress& progress) {
  constexpr size_t kStep = size_t{16} << 20;
  std::vector<FileBytes> files;
  std::vector<FileDigest> digests;
  uint64_t total = 0;
  for (const std::string& path : checkpoint.files) {
    PTERON_ASSIGN(FileBytes file, FileBytes::map(path));
    total += file.bytes().size();
    files.push_back(std::move(file));
    digests.push_back({fs::path(path).filename().string(), {}});
  }
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> done{0};
  std::atomic<bool> stopped{false};
  const auto work = [&](const DigestProgress& tell) -> Status {
    for (size_t i = next++; i < files.size(); i = next++) {
      Sha256 sha;
      for (ByteSpan rest = files[i].bytes(); !rest.empty(); rest = rest.subspan(std::min(kStep, rest.size()))) {
        if (stopped) return {};
        if (tell) PTERON_TRY(tell(done, total));
        sha.update(rest.first(std::min(kStep, rest.size())));
        done += std::min(kStep, rest.size());
      }
      digests[i].sha256 = to_hex(sha.finish());
    }
    return {};
  };
  std::vector<std::thread> helpers;
  const size_t wanted = std::min(threads == 0 ? usable_cores() : threads, files.size());
  for (size_t i = 1; i < wanted; ++i) helpers.emplace_back([&] { (void)work({}); });
  const Status status = work(progress);
  stopped = !status.ok();
  for (std::thread& helper : helpers) helper.join();
  PTERON_TRY(status);
  return digests;
}

}  // namespace pteron::importer
