#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/checked.h"

namespace pteron {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

Status os_error(std::string_view what, const std::string& path, int error) {
  const Code code = error == ENOENT ? Code::not_found : Code::io_error;
  return Status::error(code, what, {.file = path, .field = {}, .expected = {}, .found = errno_text(error)});
}

struct OpenFile {
  int fd = -1;
  size_t size = 0;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

Status open_regular(const std::string& path, OpenFile& file) {
  file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd < 0) return os_error("cannot open", path, errno);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return os_error("cannot read the size", path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Status::error(Code::invalid_argument, "cannot read",
                         {.file = path, .field = {}, .expected = "a regular file", .found = S_ISDIR(info.st_mode) ? "a folder" : "something else"});
  }
  file.size = static_cast<size_t>(info.st_size);
  return {};
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// A name beside `path` that was free until `take(name)` took it; `take` is a system call that fails where the name is in use.
template <class Take>
Result<std::string> free_name(const std::string& path, Take take) {
  for (int i = 0;; ++i) {
    std::string name = folder_of(path) + "/.pteron-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    if (take(name.c_str()) >= 0) return name;
    if (errno != EEXIST) return os_error("cannot create", path, errno);
  }
}

// Opens a new file in the folder of `path`, and says under which name: a file without one lies below /proc.
Result<std::string> open_beside(const std::string& path, uint32_t mode, int& fd) {
  std::string name;
  fd = ::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd >= 0) name = descriptor_path(fd);
  if (fd >= 0 && ::access(name.c_str(), F_OK) != 0) ::close(std::exchange(fd, -1));  // no /proc, so no way to name it later
  if (fd < 0) {
    PTERON_ASSIGN(name, free_name(path, [&](const char* free) { return fd = ::open(free, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR); }));
  }
  if (::fchmod(fd, mode) != 0) {
    const Status failed = os_error("cannot set the mode of", path, errno);
    ::unlink(name.c_str());
    return failed;
  }
  return name;
}

}  // namespace

std::string errno_text(int error) { return std::generic_category().message(error); }

Result<FileBytes> FileBytes::map(const std::string& path) {
  OpenFile file;
  PTERON_TRY(open_regular(path, file));
  return map_descriptor(file.fd, file.size, path);
}

Result<FileBytes> FileBytes::map_descriptor(int fd, size_t size, const std::string& path) {
  FileBytes result;
  result.path_ = path;
  if (size == 0) return result;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return os_error("cannot map", path, errno);
  result.kind_ = Kind::mapped;
  result.bytes_ = {static_cast<const std::byte*>(address), size};
  struct stat info {};
  if (::fstat(fd, &info) == 0) result.stamp_ = stamp_of(info);
  return result;
}

FileBytes::Stamp FileBytes::stamp_of(const struct stat& info) {
  const auto nanoseconds = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
}

bool FileBytes::unchanged() const {
  struct stat info {};
  if (kind_ != Kind::mapped || ::stat(path_.c_str(), &info) != 0) return true;
  const Stamp now = stamp_of(info);
  return now == stamp_ || now.inode != stamp_.inode || now.device != stamp_.device;
}

Result<FileBytes> FileBytes::copy(const std::string& path) {
  OpenFile file;
  PTERON_TRY(open_regular(path, file));
  FileBytes result;
  result.path_ = path;
  if (file.size == 0) return result;
  void* memory = std::aligned_alloc(64, align_up(file.size, 64));
  if (memory == nullptr) {
    return Status::error(Code::out_of_memory, "cannot copy the file into memory",
                         {.file = path, .field = {}, .expected = std::to_string(file.size) + " bytes", .found = "none"});
  }
  result.kind_ = Kind::owned;
  result.bytes_ = {static_cast<const std::byte*>(memory), file.size};
  size_t done = 0;
  while (done < file.size) {
    const ssize_t got = ::read(file.fd, static_cast<std::byte*>(memory) + done, file.size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("cannot read", path, errno);
    if (got == 0) {
      return Status::error(Code::io_error, "the file shrank while it was read",
                           {.file = path, .field = {}, .expected = std::to_string(file.size) + " bytes", .found = std::to_string(done)});
    }
    done += static_cast<size_t>(got);
  }
  return result;
}

FileBytes FileBytes::borrow(ByteSpan bytes) {
  FileBytes result;
  result.bytes_ = bytes;
  return result;
}

FileBytes::~FileBytes() {
  void* address = const_cast<std::byte*>(bytes_.data());
  if (kind_ == Kind::mapped) ::munmap(address, bytes_.size());
  if (kind_ == Kind::owned) std::free(address);
}

Result<std::string> read_text_file(const std::string& path, size_t limit) {
  OpenFile file;
  PTERON_TRY(open_regular(path, file));
  if (file.size > limit) {
    return Status::error(Code::out_of_capacity, "the file is too large",
                         {.file = path, .field = {}, .expected = "at most " + std::to_string(limit) + " bytes", .found = std::to_string(file.size)});
  }
  std::string text(file.size, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(file.fd, text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("cannot read", path, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

Result<FileWriter> FileWriter::create(const std::string& path, uint32_t mode) {
  FileWriter writer;
  writer.path_ = path;
  writer.buffer_.reserve(kBufferBytes);
  if (path == "-") {
    writer.fd_ = ::dup(STDOUT_FILENO);
    if (writer.fd_ < 0) return os_error("cannot write to standard output", path, errno);
    return writer;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    // A device or a pipe cannot be replaced by a rename: write to it as it is.
    if (S_ISDIR(info.st_mode)) return os_error("cannot write", path, EISDIR);
    writer.fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (writer.fd_ < 0) return os_error("cannot write", path, errno);
    return writer;
  }
  PTERON_ASSIGN(writer.temporary_, open_beside(path, mode, writer.fd_));
  return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      buffer_(std::move(other.buffer_)),
      position_(other.position_) {}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status FileWriter::flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t put = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return os_error("cannot write", path_, errno);
    done += static_cast<size_t>(put);
  }
  buffer_.clear();
  return {};
}

Status FileWriter::write(ByteSpan bytes) {
  position_ += bytes.size();
  while (!bytes.empty()) {
    const size_t take = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(take));
    bytes = bytes.subspan(take);
    if (buffer_.size() == kBufferBytes) PTERON_TRY(flush());
  }
  return {};
}

Status FileWriter::write_zeros(uint64_t count) {
  static constexpr std::byte kZeros[4096] = {};
  while (count > 0) {
    const size_t take = static_cast<size_t>(std::min<uint64_t>(count, sizeof kZeros));
    PTERON_TRY(write({kZeros, take}));
    count -= take;
  }
  return {};
}

Result<FileBytes> FileWriter::map_written() {
  if (temporary_.empty()) {
    return Status::error(Code::invalid_argument, "cannot read back what was written", {.file = path_, .field = {}, .expected = "a regular file", .found = "something else"});
  }
  PTERON_TRY(flush());
  return FileBytes::map_descriptor(fd_, static_cast<size_t>(position_), path_);
}

Status FileWriter::commit() {
  PTERON_TRY(flush());
  if (temporary_.empty()) return {};
  if (temporary_ == descriptor_path(fd_)) {
    PTERON_ASSIGN(temporary_, free_name(path_, [this](const char* name) { return ::linkat(AT_FDCWD, temporary_.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW); }));
  }
  if (::close(std::exchange(fd_, -1)) != 0) return os_error("cannot write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return os_error("cannot rename to", path_, errno);
  temporary_.clear();
  return {};
}

Status write_file(const std::string& path, ByteSpan bytes, uint32_t mode) {
  PTERON_ASSIGN(FileWriter writer, FileWriter::create(path, mode));
  PTERON_TRY(writer.write(bytes));
  return writer.commit();
}

}  // namespace pteron
