// Counts what executions cost, by method and kind of step.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace pteron::runtime {

// What a step reads and computes, as far as it knows.
struct StepWork {
  uint64_t bytes = 0;       // of weights and caches
  uint64_t operations = 0;  // multiplications and additions
};

// Made by whoever wants to know, handed over at load, and safe to fill from several threads. Rows are made at load: counting allocates nothing.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  struct Totals {
    uint64_t calls = 0;
    Clock::duration time{};
    StepWork work;
  };

  class Row {
   public:
    Row(std::string_view row_method, std::string_view row_kind) : method(row_method), kind(row_kind) {}
    void add(Clock::duration time, StepWork work = {});
    Totals totals() const;
    void clear();
    const std::string method, kind;

   private:
    mutable std::mutex mutex_;
    Totals totals_;
  };

  // The row of this method and kind; stays in place as long as the profile.
  Row& row(std::string_view method, std::string_view kind);

  // Calls f(row) for each row, in the order in which they were made.
  template <class F>
  void each(F&& f) {
    const std::scoped_lock lock(mutex_);
    for (Row& row : rows_) f(row);
  }

 private:
  std::mutex mutex_;
  std::deque<Row> rows_;
};

}  // namespace pteron::runtime
