#include "runtime/profile.h"

namespace pteron::runtime {

void Profile::Row::add(Clock::duration time, StepWork work) {
  const std::scoped_lock lock(mutex_);
  ++totals_.calls;
  totals_.time += time;
  totals_.work.bytes += work.bytes;
  totals_.work.operations += work.operations;
}

Profile::Totals Profile::Row::totals() const {
  const std::scoped_lock lock(mutex_);
  return totals_;
}

void Profile::Row::clear() {
  const std::scoped_lock lock(mutex_);
  totals_ = {};
}

Profile::Row& Profile::row(std::string_view method, std::string_view kind) {
  const std::scoped_lock lock(mutex_);
  for (Row& known : rows_) {
    if (known.method == method && known.kind == kind) return known;
  }
  return rows_.emplace_back(method, kind);
}

}  // namespace pteron::runtime
