#include "models/config.h"

#include <cmath>

namespace pteron::models {
namespace {

std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

// Programs compute in float32: neither infinite there, nor zero where the file says otherwise.
bool fits_float(double number) {
  const auto f = static_cast<float>(number);
  return std::isfinite(f) && (f != 0 || number == 0);
}

}  // namespace

Config::Config(const nlohmann::json& object, std::string file, std::string prefix)
    : object_(&object), file_(std::move(file)), prefix_(std::move(prefix)), status_(std::make_shared<Status>()) {
  if (!object.is_object()) fail("", "a configuration must be a JSON object", "an object", shown(object));
}

void Config::fail(std::string_view key, std::string what, std::string expected, std::string found) {
  if (!status_->ok()) return;
  *status_ = Status::error(Code::invalid_data, what, {.file = file_, .field = path(key), .expected = std::move(expected), .found = std::move(found)});
}

const nlohmann::json* Config::find(std::string_view key) const {
  if (!object_->is_object()) return nullptr;
  const auto it = object_->find(std::string(key));
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

bool Config::mentions(std::string_view key) const { return object_->is_object() && object_->contains(std::string(key)); }

int64_t Config::size(std::string_view key, std::optional<int64_t> fallback, int64_t most) {
  const auto value = optional_size(key, most);
  if (value) return *value;
  if (!fallback && status_->ok()) fail(key, "a required field is missing", "a positive integer", "nothing");
  return fallback.value_or(1);
}

std::optional<int64_t> Config::optional_size(std::string_view key, int64_t most) {
  const nlohmann::json* value = find(key);
  if (!value) return std::nullopt;
  // Some writers store integers as 32.0.
  const double number = value->is_number() ? value->get<double>() : 0;
  if (!(number >= 1 && number <= static_cast<double>(most) && number == std::floor(number))) {
    fail(key, "a field has a wrong value", most == kMaxSize ? "a positive integer" : "an integer from 1 to " + std::to_string(most), shown(*value));
    return std::nullopt;
  }
  return static_cast<int64_t>(number);
}

std::optional<double> Config::optional_number(std::string_view key) {
  const nlohmann::json* value = find(key);
  if (!value) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!std::isfinite(number)) {
    fail(key, "a field has a wrong type", "a number", shown(*value));
    return std::nullopt;
  }
  if (!fits_float(number)) {
    fail(key, "a field has a wrong value", "a number in the range of float32", shown(*value));
    return std::nullopt;
  }
  return number;
}

double Config::number(std::string_view key, double fallback) { return optional_number(key).value_or(fallback); }

bool Config::boolean(std::string_view key, bool fallback) {
  const nlohmann::json* value = find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) {
    fail(key, "a field has a wrong type", "true or false", shown(*value));
    return fallback;
  }
  return value->get<bool>();
}

std::string Config::text(std::string_view key, const std::string& fallback) {
  const nlohmann::json* value = find(key);
  if (!value) return fallback;
  if (!value->is_string()) {
    fail(key, "a field has a wrong type", "a string", shown(*value));
    return fallback;
  }
  return value->get<std::string>();
}

template <class T>
std::vector<T> Config::list(std::string_view key, std::string_view what, bool (nlohmann::json::*is)() const noexcept) {
  std::vector<T> out;
  const nlohmann::json* value = find(key);
  if (!value) return out;
  bool good = value->is_array();
  for (size_t i = 0; good && i < value->size(); ++i) {
    const nlohmann::json& item = (*value)[i];
    good = (item.*is)();
    if (good) out.push_back(item.get<T>());
  }
  if (!good) {
    fail(key, "a field has a wrong type", "a list of " + std::string(what), shown(*value));
    out.clear();
  }
  return out;
}

std::vector<std::string> Config::texts(std::string_view key) { return list<std::string>(key, "strings", &nlohmann::json::is_string); }

std::vector<double> Config::numbers(std::string_view key) {
  std::vector<double> out = list<double>(key, "numbers", &nlohmann::json::is_number);
  for (const double number : out) {
    if (!fits_float(number)) fail(key, "a field has a wrong value", "numbers in the range of float32", shown(number));
  }
  return out;
}

std::vector<int64_t> Config::integers(std::string_view key) { return list<int64_t>(key, "integers", &nlohmann::json::is_number_integer); }

std::optional<Config> Config::object(std::string_view key) {
  const nlohmann::json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_object()) {
    fail(key, "a field has a wrong type", "an object", shown(*value));
    return std::nullopt;
  }
  Config inner(*value, file_, path(key) + ".");
  inner.status_ = status_;
  return inner;
}

}  // namespace pteron::models
