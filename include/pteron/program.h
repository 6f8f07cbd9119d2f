// Programs: open a `.pte`, look inside, run its methods.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pteron/allocator.h"
#include "pteron/backend.h"
#include "pteron/manifest.h"
#include "pteron/method.h"
#include "pteron/status.h"
#include "pteron/tensor.h"

namespace pteron {

/// How a method is loaded.
struct MethodOptions {
  Allocator* allocator = nullptr;  ///< memory for arenas and delegates; null: host memory. Must outlive the method.
  size_t threads = 0;              ///< for kernels; 0: the cores that this process may use
  std::vector<const RunBackend*> backends = {};  ///< the caller's own, besides those of this build; must outlive the method
};

/// A verified file, mapped or copied. Shared freely between threads; methods that were loaded from it keep it alive.
class Program {
 public:
  /// Opens and verifies `path` (a `.pte`, or the program inside a bundled one): footer, then policy, then structure. `external_data` are
  /// `.ptd` files that hold tensors which the program names.
  /// Errors: `not_found`, `io_error`; `refused` where the policy forbids the file; `invalid_data` with the field that breaks the format.
  static Result<Program> open(const std::string& path, const LoadPolicy& policy = {}, std::span<const std::string> external_data = {});

  /// For looking at a file of any size (`methods`, `describe`): where a trusted key vouches for the file, only the bytes that are parsed are
  /// checked. Methods cannot be loaded from it, nor named data read.
  static Result<Program> open_tables(const std::string& path, const LoadPolicy& policy = {});

  /// As `open`, over bytes in memory (aligned to 16), which the caller keeps alive and unchanged as long as the program and its methods.
  static Result<Program> from_bytes(std::span<const std::byte> bytes, const LoadPolicy& policy = {});

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  /// What was established about the signature.
  const Trust& trust() const;

  /// All methods in file order, constant methods included.
  std::span<const MethodInfo> methods() const;
  /// The method of that name, or null.
  const MethodInfo* find(std::string_view method) const;

  /// Bytes stored under `key`, in place; valid while the program lives. `not_found` names the key.
  Result<std::span<const std::byte>> named_data(std::string_view key) const;
  std::vector<std::string> named_data_keys() const;

  /// A method ready to run, with memory of its own.
  Result<Method> load(std::string_view method, const MethodOptions& options = {}) const;

  /// Everything that `pteron inspect` shows, as one JSON object (docs/cli.md lists the keys). With `instructions`, the listing of each method too.
  std::string describe(bool instructions = false) const;

  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl);
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pteron
