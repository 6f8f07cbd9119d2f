// Reading config.json: typed, with defaults where the architecture has them, and errors that name the field.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pteron::models {

// The largest counts that anything is made of; a file may claim more than there is memory for.
constexpr int64_t kMaxSize = 2147483647, kMaxLayers = 10000, kMaxHeads = 65536, kMaxHeadDim = 65536;

// A view of one JSON object. The first error is kept in `status()`; after it, reads give their fallbacks.
class Config {
 public:
  // `file` is what errors name. The JSON must outlive the view.
  Config(const nlohmann::json& object, std::string file, std::string prefix = "");

  const Status& status() const { return *status_; }
  void fail(std::string_view key, std::string what, std::string expected, std::string found);
  const std::string& file() const { return file_; }

  // Present and not null.
  bool has(std::string_view key) const { return find(key) != nullptr; }
  // Present, null or not.
  bool mentions(std::string_view key) const;
  const nlohmann::json* find(std::string_view key) const;

  // A positive integer up to `most`. Without a fallback the field is required.
  int64_t size(std::string_view key, std::optional<int64_t> fallback = std::nullopt, int64_t most = kMaxSize);
  std::optional<int64_t> optional_size(std::string_view key, int64_t most = kMaxSize);  // absent or null: nothing
  double number(std::string_view key, double fallback);  // in the range of float32, as all numbers here
  std::optional<double> optional_number(std::string_view key);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, const std::string& fallback);
  std::vector<std::string> texts(std::string_view key);     // absent or null: empty
  std::vector<double> numbers(std::string_view key);
  std::vector<int64_t> integers(std::string_view key);
  // The object under a key (absent or null: nothing); shares the status.
  std::optional<Config> object(std::string_view key);

 private:
  template <class T>
  std::vector<T> list(std::string_view key, std::string_view what, bool (nlohmann::json::*is)() const noexcept);
  std::string path(std::string_view key) const { return prefix_ + std::string(key); }

  const nlohmann::json* object_;
  std::string file_, prefix_;
  std::shared_ptr<Status> status_;
};

}  // namespace pteron::models
