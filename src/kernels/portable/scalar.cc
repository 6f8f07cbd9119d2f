// The loops of isa.h without intrinsics: the reference, and what runs on processors that no other file is written for.
#include "core/dtype.h"
#include "kernels/portable/isa_loops.h"

namespace pteron::portable {
namespace {

struct Plain {
  static constexpr int kLanes = 4, kTileM = 2, kTileN = 2, kGemmM = 2;
  struct Reg { float v[kLanes]; };

  static Reg zero() { return {}; }
  static Reg set1(float x) { return {{x, x, x, x}}; }
  template <class W>
  static Reg load(const W* p) { return {{widen(p[0]), widen(p[1]), widen(p[2]), widen(p[3])}}; }
  static void store(float* p, const Reg& r) {
    for (int i = 0; i < kLanes; ++i) p[i] = r.v[i];
  }
  static Reg add(const Reg& a, const Reg& b) {
    Reg out;
    for (int i = 0; i < kLanes; ++i) out.v[i] = a.v[i] + b.v[i];
    return out;
  }
  static Reg fma(const Reg& a, const Reg& b, const Reg& c) {
    Reg out;
    for (int i = 0; i < kLanes; ++i) out.v[i] = a.v[i] * b.v[i] + c.v[i];
    return out;
  }
  static float sum(const Reg& r) { return (r.v[0] + r.v[2]) + (r.v[1] + r.v[3]); }
};

void halves_to_floats(const uint16_t* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = widen(Half{in[i]});
}
void floats_to_halves(const float* in, uint16_t* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = float_to_half(in[i]);
}

}  // namespace

constexpr Isa kScalarIsa = make_isa<Plain>(CpuTarget::scalar, &halves_to_floats, &floats_to_halves);

}  // namespace pteron::portable
