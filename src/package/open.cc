#include "package/open.h"

#include <utility>

#include "base/file.h"
#include "format/bundled_program.h"

namespace pteron::package {

// Holds what may be done only here: turning bytes that have passed the footer and the policy into a verified program.
class Gate {
 public:
  static Result<format::VerifiedProgram> admit(FileBytes file) {
    ByteSpan program = file.bytes();
    if (format::is_bundled_program(program)) {
      auto bundle = format::read_bundled_program(program);
      if (!bundle.ok()) return std::move(bundle).status().in_file(file.path());
      program = bundle->program;
    }
    return format::verify_program(std::move(file), program, format::PackageKey());
  }
};

Result<format::VerifiedProgram> open(const std::string& path, LoadMode mode) {
  PTERON_ASSIGN(FileBytes file, mode == LoadMode::map ? FileBytes::map(path) : FileBytes::copy(path));
  return Gate::admit(std::move(file));
}

Result<format::VerifiedProgram> from_bytes(ByteSpan bytes) { return Gate::admit(FileBytes::borrow(bytes)); }

}  // namespace pteron::package
