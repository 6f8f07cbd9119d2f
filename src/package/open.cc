#include "package/open.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/thread_pool.h"
#include "format/bundled_program.h"
#include "format/program_layout.h"
#include "manifest/check.h"

namespace pteron::package {

// Holds what may be done only here: turning bytes that have passed the footer and the policy into a verified program.
class Gate {
 public:
  static Result<format::VerifiedProgram> verify(FileBytes file, ByteSpan program) {
    if (format::is_bundled_program(program)) {
      PTERON_ASSIGN(format::BundledProgram bundle, format::read_bundled_program(program));
      program = bundle.program;
    }
    return format::verify_program(std::move(file), program, format::PackageKey());
  }
};

namespace {

Result<FileBytes> load(const std::string& path, LoadMode mode) { return mode == LoadMode::map ? FileBytes::map(path) : FileBytes::copy(path); }

// The part of a path that a signed list of data files knows.
std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// No key may stand in two files: which of them counts would depend on their order.
Status check_keys(const std::vector<format::FlatTensorFile>& files) {
  std::map<std::string_view, const format::FlatTensorFile*> owners;
  for (const format::FlatTensorFile& file : files) {
    for (const format::FlatTensor& entry : file.entries()) {
      const auto [at, fresh] = owners.emplace(entry.key, &file);
      if (fresh) continue;
      return Status::error(Code::invalid_data, "two data files hold the same key", {file.path(), "named_data", "'" + entry.key + "' once", "it also in " + at->second->path()});
    }
  }
  return {};
}

enum class Extent { everything, tables };

// Checks what is parsed before it is parsed: the header, then what it spans.
Status check_tables(manifest::CheckedFile& checked, ThreadPool* pool) {
  const ByteSpan program = checked.program();
  PTERON_TRY(checked.check_range(0, std::min(program.size(), format::kProbeBytes)));
  if (format::is_bundled_program(program)) return checked.check_program(pool);
  PTERON_ASSIGN(const format::ProgramLayout layout, format::read_program_layout(program));
  return checked.check_range(0, layout.program_size);
}

// What small payloads say is shown beside the tables.
Status check_payloads(manifest::CheckedFile& checked, const format::VerifiedProgram& program) {
  if (format::is_bundled_program(checked.program())) return {};  // checked as a whole
  for (const format::Plan& plan : program.program().plans) {
    for (const format::Delegate& delegate : plan.delegates) {
      const ByteSpan payload = program.delegate_data(delegate);
      if (!delegate.in_segment || payload.size() > kTablePayloadBytes) continue;
      PTERON_TRY(checked.check_range(static_cast<uint64_t>(payload.data() - checked.program().data()), payload.size()));
    }
  }
  return {};
}

Result<Opened> admit(FileBytes file, const LoadPolicy& policy, std::span<const std::string> external_data, Extent extent) {
  manifest::CheckedFile checked = manifest::CheckedFile::open(file.bytes(), policy);
  PTERON_TRY(checked.trust().verdict);
  std::optional<ThreadPool> threads;  // only where a trusted key vouches for the file there are bytes to check
  if (checked.trust().state == Trust::State::valid || checked.trust().state == Trust::State::expired) threads.emplace();
  ThreadPool* pool = threads ? &*threads : nullptr;
  PTERON_TRY(extent == Extent::everything ? checked.check_program(pool) : check_tables(checked, pool));
  PTERON_TRY(checked.check_unchanged(file));

  std::vector<format::FlatTensorFile> external;
  for (const std::string& path : external_data) {
    PTERON_ASSIGN(FileBytes data, load(path, policy.mode));
    if (Status s = checked.check_external(file_name(path), data.bytes(), pool); !s.ok()) return std::move(s).in_file(path);
    PTERON_TRY(checked.check_unchanged(data));
    PTERON_ASSIGN(format::FlatTensorFile opened, format::FlatTensorFile::open(std::move(data)));
    external.push_back(std::move(opened));
  }
  PTERON_TRY(check_keys(external));
  PTERON_ASSIGN(format::VerifiedProgram program, Gate::verify(std::move(file), checked.program()));
  if (extent == Extent::tables) PTERON_TRY(check_payloads(checked, program));
  return Opened{std::move(program), checked.trust(), std::move(external), extent == Extent::everything};
}

Result<Opened> admit_file(const std::string& path, const LoadPolicy& policy, std::span<const std::string> external_data, Extent extent) {
  PTERON_ASSIGN(FileBytes file, load(path, policy.mode));
  auto opened = admit(std::move(file), policy, external_data, extent);
  if (!opened.ok()) return std::move(opened).status().in_file(path);
  return opened;
}

}  // namespace

Result<Opened> open(const std::string& path, const LoadPolicy& policy, std::span<const std::string> external_data) {
  return admit_file(path, policy, external_data, Extent::everything);
}

Result<Opened> open_tables(const std::string& path, const LoadPolicy& policy) { return admit_file(path, policy, {}, Extent::tables); }

Result<Opened> from_bytes(ByteSpan bytes, const LoadPolicy& policy) { return admit(FileBytes::borrow(bytes), policy, {}, Extent::everything); }

}  // namespace pteron::package
