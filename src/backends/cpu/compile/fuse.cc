#include "backends/cpu/compile/fuse.h"

#include "backends/cpu/payload/step_values.h"

namespace pteron::cpu_backend {
namespace {

class Fuser {
 public:
  Fuser(std::vector<Step>& steps, const std::set<int32_t>& kept) : steps_(steps), kept_(kept) {}

  void run() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (fold_factor(i)) --i;
      if (fold_scale(i) || fold_sum(i)) steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(i--));
    }
  }

 private:
  bool uses(size_t step, int32_t value) const {
    bool found = false;
    each_buffer(steps_[step], [&](int32_t index, Access) { found = found || index == value; });
    return found;
  }
  size_t count_uses(int32_t value, size_t begin, size_t end) const {
    size_t count = 0;
    for (size_t i = begin; i < end; ++i) count += uses(i, value) ? 1 : 0;
    return count;
  }
  // The step before `end` that writes a value which only it and step `end` touch; -1 otherwise.
  std::ptrdiff_t sole_writer(int32_t value, size_t end) const {
    if (kept_.count(value) != 0 || count_uses(value, 0, steps_.size()) != 2) return -1;
    for (size_t i = 0; i < end; ++i) {
      if (uses(i, value)) return static_cast<std::ptrdiff_t>(i);
    }
    return -1;
  }
  void rename(int32_t from, int32_t to) {
    for (Step& step : steps_) {
      each_buffer(step, [&](int32_t& index, Access) {
        if (index == from) index = to;
      });
    }
  }

  // embed, scale -> embed with a scale
  bool fold_scale(size_t i) {
    const auto* map = std::get_if<MapStep>(&steps_[i]);
    if (map == nullptr || map->kind != MapKind::scale) return false;
    const auto writer = sole_writer(map->in, i);
    auto* embed = writer < 0 ? nullptr : std::get_if<EmbedStep>(&steps_[static_cast<size_t>(writer)]);
    if (embed == nullptr || embed->scale != 1) return false;
    embed->scale = map->factor;
    embed->out = map->out;
    return true;
  }

  // a + b, where b is f * c and c is made for nothing else -> a + f * c. Takes the step of the scale away.
  bool fold_factor(size_t i) {
    auto* sum = std::get_if<CombineStep>(&steps_[i]);
    if (sum == nullptr || sum->kind != CombineKind::add || sum->a == sum->b || sum->factor != 1) return false;
    for (const bool swapped : {false, true}) {
      const int32_t a = swapped ? sum->b : sum->a, b = swapped ? sum->a : sum->b;
      const auto writer = sole_writer(b, i);
      const auto* map = writer < 0 ? nullptr : std::get_if<MapStep>(&steps_[static_cast<size_t>(writer)]);
      if (map == nullptr || map->kind != MapKind::scale || sole_writer(map->in, i) < 0) continue;
      *sum = {CombineKind::add, map->factor, a, map->in, sum->out};
      steps_.erase(steps_.begin() + writer);
      return true;
    }
    return false;
  }

  // a + b, where b was only projected or normalised for this sum
  bool fold_sum(size_t i) {
    const auto* sum = std::get_if<CombineStep>(&steps_[i]);
    if (sum == nullptr || sum->kind != CombineKind::add || sum->a == sum->b || sum->factor != 1) return false;
    for (const bool swapped : {false, true}) {
      const auto writer = sole_writer(swapped ? sum->a : sum->b, i);
      if (writer >= 0 && add_in_place(static_cast<size_t>(writer), i, swapped ? sum->b : sum->a)) return true;
    }
    return false;
  }

  // Makes step `writer` add to `a` what it would have written, and `a` the result of sum `i`.
  bool add_in_place(size_t writer, size_t i, int32_t a) {
    const bool ends_here = kept_.count(a) == 0 && count_uses(a, writer + 1, i) == 0 && count_uses(a, i + 1, steps_.size()) == 0;
    const bool made_before = count_uses(a, 0, writer) > 0;
    if (!ends_here || !made_before || uses(writer, a)) return false;
    if (auto* norm = std::get_if<NormStep>(&steps_[writer])) {
      norm->accumulate = true;
      norm->out = a;
    } else if (auto* project = std::get_if<ProjectStep>(&steps_[writer])) {
      if (project->projections.size() != 1 || project->mode != ProjectMode::store || project->activation != Activation::none) return false;
      project->mode = ProjectMode::accumulate;
      project->projections[0].out = a;
    } else {
      return false;
    }
    const int32_t result = std::get<CombineStep>(steps_[i]).out;
    if (kept_.count(result) == 0) rename(result, a);
    else rename(a, result);  // everything happens in the region's own output
    return true;
  }

  std::vector<Step>& steps_;
  const std::set<int32_t>& kept_;
};

}  // namespace

void fuse_steps(std::vector<Step>& steps, const std::set<int32_t>& kept) { Fuser(steps, kept).run(); }

}  // namespace pteron::cpu_backend
