// A program between its driver and itself: sees every call as the program sees it, and notes what the driver owes and does not do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/contract.h"
#include "llm/method_source.h"

namespace pteron::llm {

struct AuditedCall {
  MethodRole role = MethodRole::decode;
  std::vector<int64_t> ids;
  int64_t position = 0;                // of the first row
  std::optional<int64_t> last_row;
};

// The buffers of a call, for cases that meddle with them.
struct AuditedBuffers {
  MethodRole role = MethodRole::decode;
  const MethodSpec* spec = nullptr;
  std::vector<void*> inputs, outputs;  // by index in the program; planned outputs are null

  void* input(InputRole wanted) const;
  void set_id(size_t row, int64_t id) const;
};

// For the methods of one session. The source, the contract and this object must outlive the methods loaded through it.
class AuditedSource final : public MethodSource {
 public:
  AuditedSource(const MethodSource& source, const Contract& contract) : source_(source), contract_(contract) {}

  std::span<const MethodInfo> infos() const override { return source_.infos(); }
  Result<std::unique_ptr<StepMethod>> load(std::string_view name, const MethodResources& resources) const override;
  Allocator* io_allocator() const override { return source_.io_allocator(); }
  Digest identity() const override { return source_.identity(); }

  // Called before and after the program's own work; an error of `before` stands for a failed call.
  std::function<Status(const AuditedBuffers&)> before;
  std::function<void(const AuditedBuffers&)> after;

  const std::vector<std::string>& loaded() const { return loaded_; }
  std::vector<AuditedCall> take_calls() const { return std::exchange(calls_, {}); }
  // What the driver did wrong, as "subject: what". The subjects: padding, positions, counter, masks, last_row, token_ids, binding, capacity.
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  friend class AuditedMethod;
  void note(std::string_view subject, std::string what) const;

  const MethodSource& source_;
  const Contract& contract_;
  mutable std::vector<std::string> loaded_;
  mutable std::vector<AuditedCall> calls_;
  mutable std::vector<std::string> violations_;
  mutable std::vector<const void*> caches_;  // the address of each key and value cache, as first bound
};

}  // namespace pteron::llm
