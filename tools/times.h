// Times on the command line: dates in, dates out, always UTC.
#pragma once

#include <optional>
#include <string>

#include "pteron/manifest.h"

namespace pteron::tools {

// "2027-01-31", "2027-01-31T12:00:00Z", or "90d" (from `now`).
Result<Time> parse_time(const std::string& option, const std::string& text, Time now);

// "2027-01-31T12:00:00Z".
std::string time_text(Time time);

// The clock, or what SOURCE_DATE_EPOCH says instead of it (for builds that are to be repeated).
Result<Time> signing_time();

}  // namespace pteron::tools
