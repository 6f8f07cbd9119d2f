// From a verified program to loaded methods.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "format/flat_tensor.h"
#include "format/verified_program.h"
#include "pteron/allocator.h"
#include "runtime/delegate.h"
#include "runtime/kernel.h"
#include "runtime/method.h"

namespace pteron::runtime {

// Planned memory that several methods of one program share: arena k of each method is `arenas()[k - 1]`, of the largest size that any asks.
class SharedArenas {
 public:
  static Result<SharedArenas> create(const format::VerifiedProgram& program, Allocator& allocator = host_allocator());
  SharedArenas(SharedArenas&& other) noexcept;
  SharedArenas& operator=(SharedArenas&&) = delete;
  ~SharedArenas();
  std::span<const MutableByteSpan> arenas() const { return arenas_; }

 private:
  explicit SharedArenas(Allocator& allocator) : allocator_(&allocator) {}
  Allocator* allocator_;
  std::vector<Block> blocks_;
  std::vector<MutableByteSpan> arenas_;
};

// Everything that is pointed to here must outlive the method.
struct LoadOptions {
  Allocator* allocator = nullptr;                   // null: host memory
  const KernelTable* kernels = nullptr;             // null: only the prim operators
  std::span<const RunBackend* const> backends = {};
  ThreadPool* threads = nullptr;                    // null: a pool of the method's own, of `own_threads`
  size_t own_threads = 1;                           // 1: the calling thread alone; 0: the cores that this process may use
  std::span<const format::FlatTensorFile> external = {};   // `.ptd` files; the method keeps them. A key must not stand in two of them
  std::span<const MutableByteSpan> shared_arenas = {};     // entry k-1, where it has bytes, is arena k; contents are kept as they are
  std::span<const BackendOption> backend_options = {};
  Profile* profile = nullptr;                              // counts operators and steps of delegates, where it is there
};

// What the methods of a program take and give, in file order, without loading them.
std::vector<MethodInfo> method_infos(const format::VerifiedProgram& program);

// Loads the first method called `name`: allocates and fills its memory, initialises its delegates, finds its kernels. Errors: not_found
// (no such method, an unknown backend, external data that is missing), unsupported (all operators that are missing, at once),
// invalid_data, out_of_memory, and what a backend says.
Result<Method> load_method(const format::VerifiedProgram& program, std::string_view name, const LoadOptions& options = {});

}  // namespace pteron::runtime
