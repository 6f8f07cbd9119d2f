#include "base/status.h"

namespace pteron {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid_argument";
    case Code::not_found: return "not_found";
    case Code::invalid_data: return "invalid_data";
    case Code::unsupported: return "unsupported";
    case Code::out_of_capacity: return "out_of_capacity";
    case Code::io_error: return "io_error";
    case Code::out_of_memory: return "out_of_memory";
    case Code::refused: return "refused";
    case Code::cancelled: return "cancelled";
    case Code::poisoned: return "poisoned";
    case Code::internal: return "internal";
  }
  return "internal";
}

Status::Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
  return *this;
}

Status Status::error(Code code, std::string_view what, Detail detail) {
  Status status;
  status.rep_ = std::make_unique<Rep>(Rep{code, std::string(what), std::move(detail), {}});
  status.compose();
  return status;
}

void Status::compose() {
  const Detail& d = rep_->detail;
  std::string text = rep_->what;
  if (!d.file.empty() || !d.field.empty()) {
    text += " (" + d.file + (!d.file.empty() && !d.field.empty() ? ": " : "") + d.field + ")";
  }
  if (!d.expected.empty()) text += ": expected " + d.expected;
  if (!d.found.empty()) text += (d.expected.empty() ? ": found " : ", found ") + d.found;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';  // an error is one line, whatever a file put in it
  }
  rep_->message = std::move(text);
}

namespace {
const std::string& empty_text() {
  static const std::string* const text = new std::string();
  return *text;
}
}  // namespace

const std::string& Status::message() const { return rep_ ? rep_->message : empty_text(); }

const std::string& Status::what() const { return rep_ ? rep_->what : empty_text(); }

const Detail& Status::detail() const {
  static const Detail* const none = new Detail();
  return rep_ ? rep_->detail : *none;
}

Status Status::in_file(std::string_view file) && {
  if (rep_ && rep_->detail.file.empty()) {
    rep_->detail.file = file;
    compose();
  }
  return std::move(*this);
}

Status Status::in_field(std::string_view field) && {
  if (rep_) {
    std::string& inner = rep_->detail.field;
    inner = inner.empty() ? std::string(field) : std::string(field) + "." + inner;
    compose();
  }
  return std::move(*this);
}

}  // namespace pteron
