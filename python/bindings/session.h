// Sessions as Python holds them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "pteron/llm.h"
#include "python/bindings/convert.h"

namespace pteron::python {

// What to bring into a session before it generates.
struct Prompt {
  std::vector<TokenId> ids;
  bool whole = false;  // all that the session is to hold; else what comes next
};

// A session that several Python threads may hold: what they ask is done one after the other, without the GIL. Others may look at it between two calls of
// the program, and Ctrl-C is heard there. Nobody waits for a lock with the GIL, or for the GIL with a lock that a look needs.
class PySession {
 public:
  // Asked between two calls of the program: whether to go on.
  using Breath = std::function<bool()>;

  PySession(Session session, GenerateOptions defaults, size_t vocab) : session_(std::move(session)), defaults_(std::move(defaults)), vocab_(vocab) {}

  template <class Work>
  auto look(Work work) {
    const Unlocked unlocked;
    ++waiting_;
    const std::lock_guard lock(state_);
    --waiting_;
    return work(std::as_const(session_));
  }

  // Runs work(session, breath). `in_stream`: for the generation that hands out its text; everybody else is refused while there is one.
  template <class Work>
  void change(Work work, bool in_stream = false) {
    Interrupts interrupts;
    const Status status = [&] {
      if (Status own = process_.check("session"); !own.ok()) return own;
      const Unlocked unlocked;
      if (owner_ == std::this_thread::get_id()) return busy("another call of this thread");  // from a signal handler
      const std::lock_guard turn(turn_);
      if (streaming_ && !in_stream) return busy("a generation that was not read to its end");
      owner_ = std::this_thread::get_id();
      std::unique_lock lock(state_);
      Status result = work(session_, [&] {
        lock.unlock();
        while (waiting_ > 0) std::this_thread::yield();
        const bool go_on = interrupts.none();
        lock.lock();
        return go_on;
      });
      owner_ = std::thread::id();
      return result;
    }();
    interrupts.raise();
    check(status);
  }

  py::array append(const std::vector<TokenId>& ids);
  py::array append_rows(const std::vector<TokenId>& ids);
  // Feeds the prompt and generates in one turn.
  py::dict complete(const std::optional<Prompt>& prompt, const py::dict& given);
  std::unique_ptr<PySession> fork();
  void cancel() { session_.cancel(); }

  // Arrays over the session's own memory, which keep it alive.
  static py::dict caches(const py::object& self);

 private:
  friend class PyStream;

  static Status busy(const char* found) {
    return Status::error(Code::invalid_argument, "the session is in use", {.file = {}, .field = "session", .expected = "the end of what it does", .found = found});
  }

  const Process process_;
  std::mutex turn_;                            // of the change that goes on
  std::mutex state_;                           // held while the session computes or is looked at
  std::atomic<int> waiting_{0};                // for a look
  std::atomic<std::thread::id> owner_{};       // whose turn it is
  std::atomic<bool> streaming_{false};         // changes with `turn_` held, but for a stream that nobody holds any more
  Session session_;
  GenerateOptions defaults_;
  size_t vocab_;
};

}  // namespace pteron::python
