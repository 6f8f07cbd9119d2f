#include "manifest/extension.h"

#include <algorithm>
#include <bit>
#include <string>

#include "manifest/encode.h"
#include "manifest/malformed.h"

namespace pteron::manifest {
namespace {

constexpr uint8_t kCritical = 0x80;
constexpr int64_t kLastTime = 253402300799;  // the end of the year 9999: what date libraries can show

// Numbers of the fields, without the critical bit.
enum Tag : uint8_t {
  kVersion = 1,
  kAlgorithm = 2,
  kKeyId = 3,
  kSignedAt = 4,
  kNotAfter = 5,
  kCounter = 6,
  kChunkSize = 7,
  kLeafCount = 8,
  kExternalSize = 9,
  kRoot = 10,
  kStatementSignature = 126,
  kSeal = 127,
};

Status bad(std::string_view what, std::string_view field, std::string expected = {}, std::string found = {}) {
  return malformed(what, "extension." + std::string(field), std::move(expected), std::move(found));
}

Status unsupported(std::string_view what, std::string_view field, std::string expected = {}, std::string found = {}) {
  Detail detail{
      .file = {}, .field = "manifest.extension." + std::string(field), .expected = std::move(expected), .found = std::move(found)};
  return Status::error(Code::unsupported, what, std::move(detail));
}

struct Field {
  uint8_t tag = 0;
  bool critical = false;
  ByteSpan value;
};

// Takes fields off the front of a block, in ascending order.
class FieldReader {
 public:
  explicit FieldReader(ByteSpan bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }
  size_t left() const { return rest_.size(); }

  Result<Field> next() {
    if (rest_.size() < 2) return bad("a field is cut off", "field");
    const auto head = std::to_integer<uint8_t>(rest_[0]);
    const auto size = std::to_integer<uint8_t>(rest_[1]);
    Field field{static_cast<uint8_t>(head & ~kCritical), (head & kCritical) != 0, {}};
    if (rest_.size() - 2 < size)
      return bad("a field is cut off", "field " + std::to_string(field.tag), std::to_string(size) + " bytes",
                 std::to_string(rest_.size() - 2));
    if (field.tag <= last_)
      return bad("fields are out of order", "field " + std::to_string(field.tag), "a tag above " + std::to_string(last_));
    last_ = field.tag;
    field.value = rest_.subspan(2, size);
    rest_ = rest_.subspan(2u + size);
    return field;
  }

 private:
  ByteSpan rest_;
  uint8_t last_ = 0;
};

template <class T>
Status read_number(const Field& field, std::string_view name, T& value) {
  if (field.value.size() != sizeof(T))
    return bad("a field has the wrong size", name, std::to_string(sizeof(T)), std::to_string(field.value.size()));
  value = load_unaligned<T>(field.value.data());
  return {};
}

Status read_time(const Field& field, std::string_view name, std::optional<Time>& value) {
  int64_t seconds = 0;
  PTERON_TRY(read_number(field, name, seconds));
  if (seconds < 0 || seconds > kLastTime)
    return bad("a time is out of range", name, "0 to " + std::to_string(kLastTime), std::to_string(seconds));
  value = Time(std::chrono::seconds(seconds));
  return {};
}

Status read_version(const Field& field, uint8_t& version) {
  PTERON_TRY(read_number(field, "version", version));
  if (version == kManifestVersion) return {};
  return unsupported("the manifest has another version", "version", std::to_string(kManifestVersion), std::to_string(version));
}

Status read_algorithm(const Field& field, Algorithm& algorithm) {
  uint8_t number = 0;
  PTERON_TRY(read_number(field, "algorithm", number));
  algorithm = static_cast<Algorithm>(number);
  if (!algorithm_name(algorithm).empty()) return {};
  return unsupported("unknown signature algorithm", "algorithm", "1 to 3", std::to_string(number));
}

Status read_chunk_size(const Field& field, uint32_t& chunk) {
  PTERON_TRY(read_number(field, "chunk_size", chunk));
  if (std::has_single_bit(chunk) && chunk >= (1u << 16) && chunk <= (1u << 26)) return {};
  return bad("the chunk size is out of range", "chunk_size", "a power of two from 64 KiB to 64 MiB", std::to_string(chunk));
}

Status read_field(const Field& field, SignedStatement& statement) {
  switch (field.tag) {
    case kVersion: return read_version(field, statement.version);
    case kAlgorithm: return read_algorithm(field, statement.algorithm);
    case kKeyId: return read_number(field, "key_id", statement.key.bytes);
    case kSignedAt: return read_time(field, "signed_at", statement.signed_at);
    case kNotAfter: return read_time(field, "not_after", statement.not_after);
    case kCounter: return read_number(field, "counter", statement.counter);
    case kChunkSize: return read_chunk_size(field, statement.chunk_bytes);
    case kLeafCount: return read_number(field, "leaf_count", statement.leaf_count);
    case kExternalSize: return read_number(field, "external_size", statement.external_bytes);
    case kRoot: return read_number(field, "root", statement.root);
    default: break;
  }
  if (!field.critical) return {};
  return unsupported("the manifest has a field that must be understood and is not known", "field " + std::to_string(field.tag));
}

// Every statement has these.
Status check_present(const std::array<bool, 128>& seen) {
  static constexpr std::pair<uint8_t, std::string_view> kRequired[] = {
      {kVersion, "version"},      {kAlgorithm, "algorithm"},  {kKeyId, "key_id"}, {kCounter, "counter"},
      {kChunkSize, "chunk_size"}, {kLeafCount, "leaf_count"}, {kRoot, "root"}};
  for (const auto& [tag, name] : kRequired) {
    if (!seen[tag]) return bad("a field is missing", name);
  }
  return {};
}

template <class T>
void write_field(std::vector<std::byte>& out, uint8_t tag, const T& value) {
  out.push_back(std::byte{tag});
  out.push_back(static_cast<std::byte>(sizeof value));
  append_value(out, value);
}

std::vector<std::byte> message(std::string_view kind, std::initializer_list<ByteSpan> parts) {
  std::vector<std::byte> out;
  append_bytes(out, as_bytes(kStatementDomain));
  append_bytes(out, as_bytes(kind));
  for (const ByteSpan part : parts) {
    append_value(out, static_cast<uint32_t>(part.size()));
    append_bytes(out, part);
  }
  return out;
}

}  // namespace

bool begins_like_statement(ByteSpan file) { return as_text(file).starts_with(kStatementDomain); }

Result<Extension> parse_extension(ByteSpan bytes) {
  Extension extension;
  FieldReader reader(bytes);
  std::array<bool, 128> seen{};
  while (!reader.done()) {
    const size_t before = reader.left();
    PTERON_ASSIGN(const Field field, reader.next());
    seen[field.tag] = true;
    if (field.tag != kStatementSignature && field.tag != kSeal) {
      PTERON_TRY(read_field(field, extension.statement));
      continue;
    }
    if (!reader.done()) return bad("something follows the proof", "proof", "the last field", std::to_string(reader.left()) + " more bytes");
    if (!field.critical) return bad("the proof is marked as one to skip", "proof");
    extension.sealed = field.tag == kSeal;
    if (extension.sealed && field.value.size() != kSealBytes)
      return bad("a field has the wrong size", "seal", std::to_string(kSealBytes), std::to_string(field.value.size()));
    extension.fields = bytes.first(bytes.size() - before);
    extension.proof = field.value;
    PTERON_TRY(check_present(seen));
    return extension;
  }
  return bad("a field is missing", "proof", "statement_signature or seal", "none");
}

std::vector<std::byte> write_fields(const SignedStatement& statement) {
  std::vector<std::byte> out;
  write_field(out, kVersion | kCritical, statement.version);
  write_field(out, kAlgorithm | kCritical, statement.algorithm);
  write_field(out, kKeyId | kCritical, statement.key.bytes);
  if (statement.signed_at) write_field(out, kSignedAt, int64_t{statement.signed_at->time_since_epoch().count()});
  if (statement.not_after) write_field(out, kNotAfter | kCritical, int64_t{statement.not_after->time_since_epoch().count()});
  write_field(out, kCounter | kCritical, statement.counter);
  write_field(out, kChunkSize | kCritical, statement.chunk_bytes);
  write_field(out, kLeafCount | kCritical, statement.leaf_count);
  if (statement.external_bytes > 0) write_field(out, kExternalSize | kCritical, statement.external_bytes);
  write_field(out, kRoot | kCritical, statement.root);
  return out;
}

void append_proof(std::vector<std::byte>& fields, bool sealed, ByteSpan proof) {
  fields.push_back(std::byte{static_cast<uint8_t>((sealed ? kSeal : kStatementSignature) | kCritical)});
  fields.push_back(static_cast<std::byte>(proof.size()));
  append_bytes(fields, proof);
}

std::vector<std::byte> inline_message(ByteSpan fields, ByteSpan signature, ByteSpan covered_fields) {
  return message("inline", {fields, signature, covered_fields});
}

std::vector<std::byte> block_message(ByteSpan fields) { return message("block", {fields}); }

std::vector<std::byte> seal_of(ByteSpan fields, ByteSpan signature, ByteSpan covered_fields) {
  const Digest digest = sha256(message("seal", {fields, signature, covered_fields}));
  return {digest.begin(), digest.begin() + kSealBytes};
}

}  // namespace pteron::manifest
