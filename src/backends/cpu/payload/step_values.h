// The buffers that a step reads and writes, as one list for the passes over steps and for the checks.
#pragma once

#include "backends/cpu/payload/plan.h"

namespace pteron::cpu_backend {

enum class Access : uint8_t { read, write, update };

// Heads that are normalised or rotated are so in place.
inline Access turned(const Norm& norm, int32_t rope) { return norm.kind != NormKind::none || rope != kAbsent ? Access::update : Access::read; }

// Calls f(index, access) for each buffer of a step; f may change the index.
template <class S, class F>
void each_buffer(S& step, F&& f) {
  visit_step(step, [&](auto& s) {
    using T = std::decay_t<decltype(s)>;
    if constexpr (std::is_same_v<T, EmbedStep>) {
      f(s.out, Access::write);
    } else if constexpr (std::is_same_v<T, NormStep>) {
      f(s.in, Access::read);
      f(s.out, s.accumulate ? Access::update : Access::write);
    } else if constexpr (std::is_same_v<T, ProjectStep>) {
      f(s.in, Access::read);
      for (auto& p : s.projections) f(p.out, s.mode == ProjectMode::accumulate ? Access::update : Access::write);
    } else if constexpr (std::is_same_v<T, RopeStep>) {
      f(s.buffer, Access::update);
    } else if constexpr (std::is_same_v<T, WriteStep>) {
      f(s.rows, Access::read);
    } else if constexpr (std::is_same_v<T, AttendStep>) {
      f(s.queries, turned(s.query_norm, s.query_rope));
      if (s.keys != kAbsent) {
        f(s.keys, turned(s.key_norm, s.key_rope));
        f(s.values, Access::read);
      }
      f(s.out, Access::write);
    } else if constexpr (std::is_same_v<T, MapStep> || std::is_same_v<T, SelectStep>) {
      f(s.in, Access::read);
      f(s.out, Access::write);
    } else if constexpr (std::is_same_v<T, CombineStep>) {
      f(s.a, Access::read);
      f(s.b, Access::read);
      f(s.out, Access::write);
    } else {
      f(s.buffer, s.to_argument ? Access::read : Access::write);
    }
  });
}

}  // namespace pteron::cpu_backend
