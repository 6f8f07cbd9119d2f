#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#if defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1 << 20)
#endif
#ifndef HWCAP2_I8MM
#define HWCAP2_I8MM (1 << 13)
#endif
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

namespace pteron {
namespace {

struct Named {
  CpuTarget target;
  std::string_view name;
};
constexpr std::array kTargets = {
    Named{CpuTarget::scalar, "scalar"},         Named{CpuTarget::avx2, "avx2"}, Named{CpuTarget::avxvnni, "avxvnni"},
    Named{CpuTarget::avx512vnni, "avx512vnni"}, Named{CpuTarget::neon, "neon"}, Named{CpuTarget::dotprod, "dotprod"},
    Named{CpuTarget::i8mm, "i8mm"},
};

#if defined(__x86_64__)
bool has_avxvnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1u << 4)) != 0;
}
#endif

// The CPU quota of the cgroup (version 2, then 1) in cores; infinity where there is none.
double cgroup_quota() {
  std::string quota;
  double period = 0;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> quota >> period && quota != "max" && period > 0) {
    return std::strtod(quota.c_str(), nullptr) / period;
  }
  std::ifstream q("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), p("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double micros = 0;
  if (q >> micros && p >> period && micros > 0 && period > 0) return micros / period;
  return INFINITY;
}

}  // namespace

std::string_view cpu_target_name(CpuTarget target) {
  for (const Named& named : kTargets) {
    if (named.target == target) return named.name;
  }
  return "scalar";
}

bool cpu_supports(CpuTarget target) {
  switch (target) {
    case CpuTarget::scalar: return true;
#if defined(__x86_64__)
    case CpuTarget::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    case CpuTarget::avxvnni: return cpu_supports(CpuTarget::avx2) && has_avxvnni();
    case CpuTarget::avx512vnni:
      return cpu_supports(CpuTarget::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
    case CpuTarget::neon: return true;
    case CpuTarget::dotprod: return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
    case CpuTarget::i8mm: return cpu_supports(CpuTarget::dotprod) && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#endif
    default: return false;
  }
}

Result<CpuTarget> cpu_target() {
  const char* forced = std::getenv("PTERON_CPU");
  CpuTarget best = CpuTarget::scalar;
  std::string usable;
  for (const Named& named : kTargets) {
    if (!cpu_supports(named.target)) continue;
    if (forced != nullptr && named.name == forced) return named.target;
    best = named.target;
    usable += (usable.empty() ? "" : ", ") + std::string(named.name);
  }
  if (forced != nullptr && *forced != '\0') {
    return Status::error(Code::invalid_argument, "unknown or unusable instruction set",
                         {.file = {}, .field = "PTERON_CPU", .expected = "one of " + usable, .found = forced});
  }
  return best;
}

size_t usable_cores() {
  size_t cores = 1;
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) cores = static_cast<size_t>(std::max(1, CPU_COUNT(&mask)));
  const double quota = std::ceil(cgroup_quota());
  if (quota < static_cast<double>(cores)) cores = static_cast<size_t>(std::max(1.0, quota));
  return cores;
}

}  // namespace pteron
