// From a region's graph to a plan.
#pragma once

#include "backends/cpu/compile/pack.h"
#include "backends/cpu/payload/plan.h"
#include "partition/backend.h"

namespace pteron::cpu_backend {

// The plan of a region of claimed nodes. What it needs of weights goes into `data`, packed, under names that all methods share.
Result<Plan> make_plan(const partition::Region& region, const StoreOptions& store, partition::NamedDataStore& data);

}  // namespace pteron::cpu_backend
