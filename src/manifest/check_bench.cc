// How fast a file of 1 GiB in memory is checked: the digest tree by 1 and by all threads, and the plain Ed25519 signature over all of it.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>

#include "base/cpu.h"
#include "base/file.h"
#include "manifest/check.h"
#include "manifest/key.h"
#include "manifest/sign.h"

namespace pteron::manifest {
namespace {

constexpr size_t kBytes = size_t{1} << 30;

// A signed file that lives as long as the process, with the key that signed it.
struct SignedFile {
  SignedFile() : path((std::filesystem::temp_directory_path() / ("check_bench." + std::to_string(::getpid()))).string()) {
    FileWriter writer = *FileWriter::create(path);
    std::vector<std::byte> block(size_t{1} << 20);
    for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i * 2654435761u >> 11);
    for (size_t done = 0; done < kBytes; done += block.size()) {
      store_unaligned(block.data(), done);
      if (!writer.write(block).ok()) return;
    }
    if (append_signature(writer, key, {}).ok()) (void)writer.commit().ok();
  }
  ~SignedFile() { std::filesystem::remove(path); }

  std::string path;
  PrivateKey key = *PrivateKey::generate(Algorithm::ed25519);
};

const SignedFile& file() {
  static const SignedFile made;
  return made;
}

// As a loader does it: the mapping is new each time, the pages are in memory.
void BM_Check(benchmark::State& state) {
  const PublicKey trusted[] = {file().key.public_key()};
  ThreadPool pool(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    const FileBytes bytes = *FileBytes::map(file().path);
    CheckedFile checked = CheckedFile::open(bytes.bytes(), {.trusted = trusted, .require_signed = true});
    if (!checked.trust().verdict.ok() || !checked.check_program(&pool).ok()) state.SkipWithError("refused");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(kBytes));
}
BENCHMARK(BM_Check)->Arg(1)->Arg(static_cast<int64_t>(usable_cores()))->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_PlainSignature(benchmark::State& state) {
  for (auto _ : state) {
    const FileBytes bytes = *FileBytes::map(file().path);
    const FileLayout layout = **read_layout(bytes.bytes());
    if (!signature_holds(file().key.public_key(), bytes.bytes().first(layout.footer.signed_bytes), layout.footer.signature))
      state.SkipWithError("refused");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(kBytes));
}
BENCHMARK(BM_PlainSignature)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pteron::manifest
