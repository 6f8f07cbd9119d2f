// Files: mapped or copied for reading, streamed into a temporary name and renamed for writing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

struct stat;

namespace pteron {

// The bytes of a file (or of a caller), at an address that stays the same while the object or one moved from it lives.
class FileBytes {
 public:
  // Maps the whole file read-only. An empty file gives an empty span. Directories and other non-files are errors.
  static Result<FileBytes> map(const std::string& path);
  // Reads the whole file into private memory, aligned to 64 bytes.
  static Result<FileBytes> copy(const std::string& path);
  // Borrows a caller's bytes, which must outlive the object.
  static FileBytes borrow(ByteSpan bytes);

  FileBytes() = default;
  FileBytes(FileBytes&& other) noexcept { swap(other); }
  FileBytes& operator=(FileBytes&& other) noexcept {
    FileBytes taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~FileBytes();

  ByteSpan bytes() const { return bytes_; }
  bool mapped() const { return kind_ == Kind::mapped; }
  const std::string& path() const { return path_; }  // empty for borrowed bytes

  // For a mapped file: that nobody has written to it or cut it since, as far as the file system tells. A file that another one has replaced
  // under its name is fine: the mapping keeps the old one. Always true for other bytes.
  bool unchanged() const;

 private:
  friend class FileWriter;
  enum class Kind { borrowed, mapped, owned };
  // What tells one state of a file from another.
  struct Stamp {
    uint64_t device = 0, inode = 0, size = 0;
    int64_t modified = 0, changed = 0;  // nanoseconds
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp_of(const struct stat& info);
  static Result<FileBytes> map_descriptor(int fd, size_t size, const std::string& path);
  void swap(FileBytes& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(bytes_, other.bytes_);
    std::swap(path_, other.path_);
    std::swap(stamp_, other.stamp_);
  }
  Kind kind_ = Kind::borrowed;
  ByteSpan bytes_;
  std::string path_;
  Stamp stamp_;
};

// A whole small text file, at most `limit` bytes.
Result<std::string> read_text_file(const std::string& path, size_t limit = size_t{64} << 20);

// Writes a file whole or not at all: bytes go to a file beside the target, without a name where the file system can do that; `commit` gives it the
// target's. Destroyed without commit, or killed, it leaves nothing behind. The path "-" is standard output, where nothing can be taken back.
class FileWriter {
 public:
  static Result<FileWriter> create(const std::string& path, uint32_t mode = 0644);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  Status write(ByteSpan bytes);
  Status write_zeros(uint64_t count);
  uint64_t position() const { return position_; }  // bytes written so far
  // What has been written so far, mapped, for what is computed over it before more is appended. Not for standard output, pipes and devices.
  Result<FileBytes> map_written();
  Status commit();

 private:
  FileWriter() = default;
  Status flush();
  int fd_ = -1;
  std::string path_, temporary_;  // temporary_: the name until commit, below /proc for a file without one
  std::vector<std::byte> buffer_;
  uint64_t position_ = 0;
};

// Writes a small file whole or not at all.
Status write_file(const std::string& path, ByteSpan bytes, uint32_t mode = 0644);

// The text of errno `error`, thread-safe.
std::string errno_text(int error);

}  // namespace pteron
