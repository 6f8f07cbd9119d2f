// Errors as values: what every fallible call of pteron returns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace pteron {

/// What kind of failure it was; stable across releases, also as text (`code_name`).
enum class Code : uint8_t {
  ok = 0,
  invalid_argument,  ///< the caller's value is wrong
  not_found,         ///< a file, method, tensor or key that does not exist
  invalid_data,      ///< a file or payload that breaks its format or contract
  unsupported,       ///< well-formed, but this build or version does not do it
  out_of_capacity,   ///< a fixed size (context, buffer, limit) is exceeded
  io_error,          ///< the operating system refused a read or write
  out_of_memory,     ///< an allocator returned nothing
  refused,           ///< policy forbids it (signatures)
  cancelled,         ///< stopped on request
  poisoned,          ///< an earlier failure left the object unusable until reset
  internal,          ///< a defect of pteron itself
};

/// The name of a code as scripts see it, for example "invalid_data". Static storage.
std::string_view code_name(Code code);

/// The parts of an error that machines read. Empty parts are left out of the message.
struct Detail {
  std::string file = {};      ///< path of the offending file
  std::string field = {};     ///< field, tensor or option
  std::string expected = {};  ///< what would have been right
  std::string found = {};     ///< what was there
};

/// Success, or a code with a one-line message. Cheap to move; success allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;
  Status(const Status& other);
  Status& operator=(const Status& other);

  /// An error. `what` says what failed, without the parts that `detail` carries.
  static Status error(Code code, std::string_view what, Detail detail = {});

  bool ok() const { return rep_ == nullptr; }
  explicit operator bool() const { return ok(); }
  Code code() const { return rep_ ? rep_->code : Code::ok; }
  /// `<what> (<file>: <field>): expected <expected>, found <found>`; empty for success.
  const std::string& message() const;
  /// Just the `what`; empty for success.
  const std::string& what() const;
  const Detail& detail() const;

  /// The same error with the file filled in where it was empty.
  Status in_file(std::string_view file) &&;
  /// The same error with the field filled in, or put in front of the field (`outer.inner`).
  Status in_field(std::string_view field) &&;

 private:
  struct Rep {
    Code code;
    std::string what;
    Detail detail;
    std::string message;
  };
  void compose();
  std::unique_ptr<Rep> rep_;
};

/// A value or the error that stood in its way.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}           // NOLINT
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}    // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; only after `ok()`.
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The error, or success where there is a value.
  Status status() const& { return ok() ? Status() : *std::get_if<1>(&state_); }
  Status status() && { return ok() ? Status() : std::move(*std::get_if<1>(&state_)); }
  Code code() const { return ok() ? Code::ok : std::get_if<1>(&state_)->code(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace pteron
