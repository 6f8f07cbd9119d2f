#include "tools/times.h"

#include <cstdio>
#include <cstdlib>

namespace pteron::tools {
namespace {

std::optional<Time> from_date(int year, int month, int day, int hour, int minute, int second) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1970 || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
}

}  // namespace

Result<Time> parse_time(const std::string& option, const std::string& text, Time now) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
  const auto whole = [&] { return static_cast<size_t>(used) == text.size(); };
  std::optional<Time> time;
  if (std::sscanf(text.c_str(), "%6d%n", &day, &used) == 1 && day > 0 && text.substr(static_cast<size_t>(used)) == "d")
    time = now + std::chrono::days(day);
  else if (std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3 && whole())
    time = from_date(year, month, day, 0, 0, 0);
  else if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &day, &hour, &minute, &second, &used) == 6 && whole())
    time = from_date(year, month, day, hour, minute, second);
  if (time) return *time;
  return Status::error(Code::invalid_argument, "not a time",
                       {.file = {}, .field = option, .expected = "2027-01-31, 2027-01-31T12:00:00Z or 90d", .found = text});
}

std::string time_text(Time time) {
  using namespace std::chrono;
  const sys_days date = floor<days>(time);
  const year_month_day ymd(date);
  const hh_mm_ss clock(time - date);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(ymd.year()), static_cast<unsigned>(ymd.month()),
                static_cast<unsigned>(ymd.day()), static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

Result<Time> signing_time() {
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  if (epoch == nullptr || *epoch == '\0') return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  char* end = nullptr;
  const long long seconds = std::strtoll(epoch, &end, 10);
  if (*end == '\0' && seconds >= 0) return Time(std::chrono::seconds(seconds));
  return Status::error(Code::invalid_argument, "not a time",
                       {.file = {}, .field = "SOURCE_DATE_EPOCH", .expected = "seconds since 1970", .found = epoch});
}

}  // namespace pteron::tools
