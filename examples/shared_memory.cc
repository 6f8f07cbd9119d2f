// Caches and inputs in memory that another process or a device can map: shared_memory MODEL.pte TEXT. Each block is a memfd; a child process
// maps the blocks of the caches by their descriptors alone and finds there what the model wrote.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "pteron/llm.h"

namespace {

class SharedMemory final : public pteron::Allocator {
 public:
  pteron::Result<pteron::Block> allocate(size_t bytes, size_t alignment, pteron::Purpose purpose) override {
    if (alignment > static_cast<size_t>(::sysconf(_SC_PAGESIZE))) return refused("a smaller alignment", alignment);
    if (bytes == 0) return pteron::Block{.purpose = purpose};
    const int file = ::memfd_create("pteron", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return failed(file);
    void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) return failed(file);
    const pteron::Block block{.data = data, .bytes = bytes, .purpose = purpose, .handle = static_cast<uint64_t>(file), .zeroed = true};
    const std::lock_guard lock(mutex_);
    blocks_[data] = block;
    return block;
  }
  // A driver would register the address with its device here.
  pteron::Status bind(void*, const pteron::Block&) override { return {}; }
  void release(const pteron::Block& block) override {
    if (block.data == nullptr) return;
    const std::lock_guard lock(mutex_);
    blocks_.erase(block.data);
    ::munmap(block.data, block.bytes);
    ::close(static_cast<int>(block.handle));
  }
  // The block whose memory starts at an address.
  pteron::Block block_of(const void* data) const {
    const auto found = blocks_.find(data);
    return found == blocks_.end() ? pteron::Block{} : found->second;
  }
  size_t live() const { return blocks_.size(); }

 private:
  static pteron::Status refused(const char* expected, size_t found) {
    return pteron::Status::error(pteron::Code::out_of_memory, "no shared memory", {.expected = expected, .found = std::to_string(found)});
  }
  static pteron::Status failed(int file) {
    const pteron::Status status = pteron::Status::error(pteron::Code::out_of_memory, "no shared memory", {.found = std::strerror(errno)});
    if (file >= 0) ::close(file);
    return status;
  }

  std::mutex mutex_;
  std::map<const void*, pteron::Block> blocks_;
};

uint64_t sum(const void* data, size_t bytes) {
  uint64_t out = 0;
  for (size_t i = 0; i < bytes; ++i) out = out * 31 + static_cast<const uint8_t*>(data)[i];
  return out;
}

// What another process finds behind the block's descriptor, mapped anew.
bool child_sees(const pteron::Block& block, uint64_t expected) {
  const pid_t child = ::fork();
  if (child == 0) {
    const void* const data = ::mmap(nullptr, block.bytes, PROT_READ, MAP_SHARED, static_cast<int>(block.handle), 0);
    ::_exit(data != MAP_FAILED && sum(data, block.bytes) == expected ? 0 : 1);
  }
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

int fail(const pteron::Status& status) {
  std::fprintf(stderr, "shared_memory: %s\n", status.message().c_str());
  return 1;
}

int run(const char* path, const char* text, SharedMemory& memory) {
  pteron::EngineOptions options;
  options.allocator = &memory;
  const auto engine = pteron::Engine::load(path, options);
  if (!engine.ok()) return fail(engine.status());
  auto session = engine->new_session();
  if (!session.ok()) return fail(session.status());
  const auto ids = engine->encode_prompt(text);
  if (!ids.ok()) return fail(ids.status());
  if (const auto read = session->append(*ids); !read.ok()) return fail(read.status());
  size_t seen = 0, caches = 0;
  for (const pteron::CacheTensor& cache : session->caches()) {
    const pteron::Block block = memory.block_of(cache.tensor.data);
    ++caches;
    seen += block.data != nullptr && child_sees(block, sum(cache.tensor.data, cache.tensor.nbytes)) ? 1 : 0;
  }
  std::printf("%zu blocks of shared memory; another process sees %zu of %zu caches\n", memory.live(), seen, caches);
  return seen == caches ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return std::fprintf(stderr, "usage: shared_memory MODEL.pte TEXT\n"), 2;
  SharedMemory memory;
  const int result = run(words[1], words[2], memory);
  std::printf("%zu blocks are left\n", memory.live());
  return result;
}
