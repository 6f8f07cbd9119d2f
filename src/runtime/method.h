// The loaded method of the public interface, as the runtime builds it.
#pragma once

#include "base/status.h"
#include "pteron/method.h"

namespace pteron::runtime {

using pteron::Method;
using pteron::MethodInfo;
using pteron::SlotInfo;
using pteron::ValueKind;

}  // namespace pteron::runtime
