// The state of a loaded method, shared by the loader that fills it, the executor that runs it and the calls around them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/delegate.h"
#include "runtime/memory.h"
#include "runtime/method.h"
#include "runtime/program.h"

namespace pteron::runtime {

struct Instruction {
  enum class Kind : uint8_t { kernel, delegate, move, jump_false, free } kind = Kind::kernel;
  const Kernel* kernel = nullptr;
  Delegate* delegate = nullptr;
  std::span<Value* const> args;   // kernel, delegate
  Profile::Row* row = nullptr;    // kernel, delegate: where its time is counted, if at all
  int32_t from = 0, to = 0;       // move: values; jump_false: condition and destination; free: value
};

// Planned bytes that a method starts with.
struct InitialState {
  void* to = nullptr;
  ByteSpan bytes;
};

// A tensor that a FreeCall takes the memory of; every execution starts with it back.
struct FreedTensor {
  Tensor* tensor = nullptr;
  void* data = nullptr;
  bool writable = true;
};

struct MethodState {
  explicit MethodState(const format::VerifiedProgram& verified) : program(verified) {}

  format::VerifiedProgram program;  // keeps constants and payloads in place
  std::vector<format::FlatTensorFile> external;  // the same for what lies outside the program
  MethodInfo info;
  std::optional<ThreadPool> own_threads;
  ThreadPool* threads = nullptr;
  MethodMemory memory;
  std::vector<InitialState> initial_states;

  std::vector<Value> values;        // these five never grow after load: instructions hold pointers into them
  std::vector<Tensor> tensors;
  std::deque<std::string_view> strings;
  std::deque<BoxedList> boxed_lists;
  std::deque<std::span<const double>> double_lists;
  std::deque<std::span<const uint8_t>> bool_lists;
  std::deque<std::vector<uint8_t>> bool_storage;

  std::vector<int32_t> inputs, outputs;
  std::vector<uint8_t> input_set;
  std::vector<std::unique_ptr<Delegate>> delegates;
  std::vector<Value*> args;
  std::vector<std::vector<Instruction>> chains;
  std::vector<FreedTensor> freed;
  MutableByteSpan scratch;
};

// One step of loading each; see the files of these names.
Status load_values(const format::Plan& plan, const LoadOptions& options, MethodState& method);
Status init_delegates(const format::Plan& plan, const LoadOptions& options, MethodState& method);
Status resolve_instructions(const format::Plan& plan, const LoadOptions& options, MethodState& method);
Status execute_chains(MethodState& method);
MethodInfo describe_plan(const format::Plan& plan);

}  // namespace pteron::runtime

// Behind the public type.
struct pteron::Method::Impl : pteron::runtime::MethodState {
  using MethodState::MethodState;
};
