#include "backends/cpu/payload/plan.h"

#include <type_traits>

#include "backends/cpu/payload/checks.h"
#include "backends/cpu/payload/fields.h"
#include "base/checked.h"

namespace pteron::cpu_backend {
namespace {

constexpr size_t kHeaderBytes = 16;  // magic, version, bytes of the whole payload (64 bits)

template <class T>
inline constexpr bool kIsPlain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class T>
std::vector<std::byte>& put(std::vector<std::byte>& out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
  return out;
}

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out) {}

  template <class T>
  void operator()(const char* name, T& value) {
    if constexpr (std::is_same_v<T, bool>) put(out_, static_cast<uint8_t>(value));
    else if constexpr (kIsPlain<T>) put(out_, value);
    else fields(*this, value);
    (void)name;
  }
  void operator()(const char*, std::string& text) {
    put(out_, static_cast<uint32_t>(text.size()));
    for (const char c : text) put(out_, c);
  }
  template <class T>
  void operator()(const char* name, std::vector<T>& items) {
    put(out_, static_cast<uint32_t>(items.size()));
    for (T& item : items) (*this)(name, item);
  }
  void operator()(const char* name, Step& step) {
    put(out_, static_cast<uint8_t>(step.index()));
    visit_step(step, [&](auto& kind) { (*this)(name, kind); });
  }

 private:
  std::vector<std::byte>& out_;
};

template <size_t kIndex = 0>
bool make_step(size_t kind, Step& step) {
  if constexpr (kIndex == std::variant_size_v<Step>) {
    return false;
  } else {
    if (kind != kIndex) return make_step<kIndex + 1>(kind, step);
    step.emplace<kIndex>();
    return true;
  }
}

// Reads fields until one does not fit; from then on nothing changes any more and `status` names that field.
class Reader {
 public:
  Reader(ByteSpan in, size_t at) : in_(in), at_(at) {}

  template <class T>
  void operator()(const char* name, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t byte = 0;
      take(name, byte);
      if (byte > 1) fail(name, "0 or 1", std::to_string(byte));
      value = byte == 1;
    } else if constexpr (kIsPlain<T>) {
      take(name, value);
    } else {
      nested(name, value);
    }
  }
  void operator()(const char* name, std::string& text) {
    const size_t size = count(name);
    text.assign(reinterpret_cast<const char*>(in_.data()) + at_, size);
    at_ += size;
  }
  template <class T>
  void operator()(const char* name, std::vector<T>& items) {
    const size_t size = count(name);
    for (size_t i = 0; i < size && status_.ok(); ++i) {
      items.emplace_back();
      (*this)((name + ("[" + std::to_string(i) + "]")).c_str(), items.back());
    }
  }
  void operator()(const char* name, Step& step) {
    uint8_t kind = 0;
    take(name, kind);
    if (!make_step(kind, step)) return fail(std::string(name) + ".kind", "a known step kind", std::to_string(kind));
    visit_step(step, [&](auto& of_kind) { nested(name, of_kind); });
  }

  size_t at() const { return at_; }
  Status status() && { return std::move(status_); }

 private:
  template <class T>
  void nested(const char* name, T& value) {
    if (!status_.ok()) return;
    const size_t length = path_.size();
    path_ += std::string(name) + ".";
    fields(*this, value);
    path_.resize(length);
  }
  template <class T>
  void take(const char* name, T& value) {
    if (!status_.ok()) return;
    if (in_.size() - at_ < sizeof value) return fail(name, std::to_string(sizeof value) + " bytes", std::to_string(in_.size() - at_));
    value = load_unaligned<T>(in_.data() + at_);
    at_ += sizeof value;
  }
  // A number of things that take a byte at least.
  size_t count(const char* name) {
    uint32_t size = 0;
    take(name, size);
    if (size <= in_.size() - at_) return status_.ok() ? size : 0;
    fail(name, "at most " + std::to_string(in_.size() - at_) + " items", std::to_string(size));
    return 0;
  }
  void fail(const std::string& name, std::string expected, std::string found) {
    if (status_.ok()) status_ = malformed(path_ + name, std::move(expected), std::move(found));
  }

  ByteSpan in_;
  size_t at_;
  std::string path_;
  Status status_;
};

Status check_header(ByteSpan payload) {
  if (payload.size() < kHeaderBytes) return malformed("size", "at least 16 bytes", std::to_string(payload.size()));
  const auto magic = load_unaligned<uint32_t>(payload.data());
  if (magic != kPlanMagic) return malformed("magic", std::to_string(kPlanMagic), std::to_string(magic));
  const auto version = load_unaligned<uint32_t>(payload.data() + 4);
  if (version != kPlanVersion) return malformed("version", std::to_string(kPlanVersion), std::to_string(version));
  const auto size = load_unaligned<uint64_t>(payload.data() + 8);
  if (size != payload.size()) return malformed("size", std::to_string(payload.size()) + " bytes", std::to_string(size));
  return {};
}

}  // namespace

uint64_t TensorRef::bytes() const {
  if (packed) return packed_bytes(encoding, rows, cols).value_or(0);
  return uint64_t{rows} * cols * sizeof(float);
}

uint64_t Argument::elements() const { return checked_product(std::span<const int32_t>(sizes)).value_or(0); }

uint64_t buffer_row_bytes(const Buffer& buffer) {
  return buffer.format == BufferFormat::quantized ? quantized_bytes(buffer.width) : uint64_t{buffer.width} * sizeof(float);
}

std::string_view step_name(const Step& step) {
  static constexpr std::string_view kNames[] = {"embed", "norm", "project", "rope", "write", "attend", "map", "combine", "select", "convert"};
  static_assert(std::size(kNames) == std::variant_size_v<Step>);
  return kNames[step.index()];
}

std::vector<StoredWeight> stored_weights(const Plan& plan) {
  std::vector<StoredWeight> out;
  for (const TensorRef& t : plan.tensors) {
    if (!t.packed) continue;
    StoredWeight& weight = out.emplace_back();
    weight.key = t.key;
    weight.encoding = packed_layout(t.encoding)->name;
    weight.shape = {t.rows, t.cols};
    weight.bytes = t.bytes();
    if (t.error > 0) weight.error = t.error;
  }
  return out;
}

std::vector<std::byte> write_plan(const Plan& plan) {
  std::vector<std::byte> out;
  put(put(put(out, kPlanMagic), kPlanVersion), uint64_t{0});
  Plan copy = plan;  // the list of fields takes what it lists by reference
  Writer writer(out);
  fields(writer, copy);
  store_unaligned(out.data() + 8, static_cast<uint64_t>(out.size()));
  return out;
}

Result<Plan> read_plan(ByteSpan payload) {
  PTERON_TRY(check_header(payload));
  Plan plan;
  Reader reader(payload, kHeaderBytes);
  fields(reader, plan);
  const size_t end = reader.at();
  PTERON_TRY(std::move(reader).status());
  if (end != payload.size()) return malformed("size", std::to_string(end) + " bytes", std::to_string(payload.size()));
  PTERON_TRY(check_plan(plan));
  return plan;
}

}  // namespace pteron::cpu_backend
