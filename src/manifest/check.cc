#include "manifest/check.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "manifest/key.h"
#include "manifest/malformed.h"

namespace pteron {

std::string_view trust_state_name(Trust::State state) {
  switch (state) {
    case Trust::State::unsigned_file: return "unsigned";
    case Trust::State::unknown_key: return "unknown-key";
    case Trust::State::valid: return "valid";
    case Trust::State::expired: return "expired";
    case Trust::State::rolled_back: return "rolled-back";
    case Trust::State::invalid: return "invalid";
  }
  return {};
}

namespace manifest {
namespace {

Status refused(std::string_view what, std::string_view field = {}, std::string expected = {}, std::string found = {}) {
  return Status::error(Code::refused, what,
                       {.file = {}, .field = std::string(field), .expected = std::move(expected), .found = std::move(found)});
}

std::string seconds_text(Time time) { return std::to_string(time.time_since_epoch().count()) + " s after 1970"; }

}  // namespace

Result<std::optional<FileLayout>> read_layout(ByteSpan file) {
  PTERON_ASSIGN(const std::optional<Footer> footer, parse_footer(file.last(std::min(file.size(), kTailBytes)), file.size()));
  if (!footer) return std::optional<FileLayout>();
  FileLayout layout;
  layout.footer = *footer;
  layout.block.program_bytes = footer->signed_bytes;
  const bool marked = has_marker(file.first(footer->signed_bytes));
  if (marked == footer->extension.empty()) {
    return malformed(marked ? "the manifest's extension has been taken away" : "the manifest's digests have been taken away",
                     marked ? "extension" : "digests", "both or none", "one");
  }
  if (marked) {
    PTERON_ASSIGN(layout.extension, parse_extension(footer->extension));
    const size_t block_signature = layout.extension->sealed ? footer->signature.size() : 0;
    PTERON_ASSIGN(layout.block, block_layout(footer->signed_bytes, layout.extension->statement, block_signature));
  }
  return std::optional<FileLayout>(layout);
}

CheckedFile CheckedFile::open(ByteSpan file, const LoadPolicy& policy) {
  CheckedFile result(file);
  if (result.keep(result.establish(policy)).ok()) result.judge(policy);
  return result;
}

// A failure is remembered in the trust.
Status CheckedFile::keep(Status status) {
  if (!status.ok()) {
    trust_.state = Trust::State::invalid;
    trust_.verdict = status;
  }
  return status;
}

Status CheckedFile::establish(const LoadPolicy& policy) {
  PTERON_ASSIGN(layout_, read_layout(file_));
  if (!layout_) return {};
  trust_.state = Trust::State::unknown_key;
  trust_.program_bytes = layout_->block.program_bytes;
  return layout_->extension ? establish_statement(policy) : establish_opaque(policy);
}

Status CheckedFile::establish_statement(const LoadPolicy& policy) {
  const SignedStatement& statement = layout_->extension->statement;
  trust_.key = statement.key;
  trust_.algorithm = statement.algorithm;
  trust_.signed_at = statement.signed_at;
  trust_.not_after = statement.not_after;
  trust_.counter = statement.counter;
  bool known = false;
  for (const PublicKey& key : policy.trusted) {
    if (key.id() != statement.key) continue;
    known = true;
    if (key.algorithm() != statement.algorithm || !statement_holds(key)) continue;
    key_ = &key;
    break;
  }
  if (!known) return {};
  if (key_ == nullptr)
    return refused("the signature of the manifest does not hold", "manifest.extension", "a statement signed by key " + statement.key.hex());
  PTERON_TRY(check_seal());
  PTERON_TRY(check_root());
  trust_.state = Trust::State::valid;
  return {};
}

Status CheckedFile::establish_opaque(const LoadPolicy& policy) {
  const ByteSpan signature = layout_->footer.signature;
  if (begins_like_statement(file_)) return refused("a signed statement passed off as a signed file", "manifest.extension");
  bool possible = false;
  for (const PublicKey& key : policy.trusted) {
    if (!can_be_signature(key.algorithm(), signature.size())) continue;
    possible = true;
    if (!signature_holds(key, file_.first(layout_->footer.signed_bytes), signature)) continue;
    key_ = &key;
    trust_.key = key.id();
    trust_.algorithm = key.algorithm();
    trust_.state = Trust::State::valid;
    return {};
  }
  if (!possible) return {};
  return refused("the signature does not hold", "manifest.signature", "the signature of a trusted key",
                 std::to_string(signature.size()) + " bytes that are none");
}

bool CheckedFile::statement_holds(const PublicKey& key) const {
  const Extension& extension = *layout_->extension;
  if (extension.sealed) return signature_holds(key, block_message(extension.fields), layout_->block_signature(file_));
  return signature_holds(key, inline_message(extension.fields, layout_->footer.signature, layout_->footer.covered_fields), extension.proof);
}

Status CheckedFile::check_seal() const {
  const Extension& extension = *layout_->extension;
  if (!extension.sealed) return {};
  const std::vector<std::byte> seal = seal_of(extension.fields, layout_->footer.signature, layout_->footer.covered_fields);
  if (std::equal(seal.begin(), seal.end(), extension.proof.begin(), extension.proof.end())) return {};
  return refused("the manifest is damaged", "manifest.extension.seal", to_hex(seal), to_hex(extension.proof));
}

Status CheckedFile::check_root() const {
  const SignedStatement& statement = layout_->extension->statement;
  const Digest root = tree_root(trust_.program_bytes, statement.chunk_bytes, layout_->leaves(file_), layout_->external(file_));
  if (root == statement.root) return {};
  return refused("the digests are not what was signed", "manifest.extension.root", to_hex(statement.root), to_hex(root));
}

void CheckedFile::judge(const LoadPolicy& policy) {
  if (trust_.state == Trust::State::valid) {
    const Time now = policy.now.value_or(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
    if (trust_.not_after && *trust_.not_after < now) trust_.state = Trust::State::expired;
    if (trust_.counter < policy.minimum_counter) trust_.state = Trust::State::rolled_back;
    if (trust_.state == Trust::State::expired && !policy.allow_expired) {
      trust_.verdict = refused("the signature has expired", "manifest.extension.not_after", "at least " + seconds_text(now),
                               seconds_text(*trust_.not_after));
    } else if (trust_.state == Trust::State::rolled_back) {
      trust_.verdict = refused("the file is older than the policy allows", "manifest.extension.counter",
                               "at least " + std::to_string(policy.minimum_counter), std::to_string(trust_.counter));
    }
  } else if (trust_.state == Trust::State::unsigned_file && policy.require_signed) {
    trust_.verdict = refused("the file is not signed", "manifest", "a signature by a trusted key", "no manifest");
  } else if (trust_.state == Trust::State::unknown_key && (policy.require_signed || !policy.trusted.empty())) {
    const bool named = trust_.key != KeyId{};
    trust_.verdict = refused("no trusted key signed the file", "manifest", "a signature by a trusted key",
                             named ? "key " + trust_.key.hex() : "an opaque signature");
  }
}

Status CheckedFile::check_leaves(size_t first, size_t last, ThreadPool* pool) {
  const uint32_t chunk_bytes = layout_->extension->statement.chunk_bytes;
  PTERON_TRY(keep(check_chunks(program(), chunk_bytes, layout_->leaves(file_), first, last, pool)));
  checked_.resize(layout_->extension->statement.leaf_count);
  std::fill(checked_.begin() + static_cast<ptrdiff_t>(first), checked_.begin() + static_cast<ptrdiff_t>(last), true);
  return {};
}

Status CheckedFile::check_program(ThreadPool* pool) {
  if (key_ == nullptr || !layout_->extension) return {};
  return check_leaves(0, layout_->extension->statement.leaf_count, pool);
}

Status CheckedFile::check_range(uint64_t offset, uint64_t size) {
  if (key_ == nullptr || !layout_->extension || size == 0) return {};
  if (!range_inside(offset, size, trust_.program_bytes)) {
    return Status::error(Code::invalid_argument, "a range outside the program",
                         {.file = {},
                          .field = {},
                          .expected = "at most " + std::to_string(trust_.program_bytes) + " bytes",
                          .found = std::to_string(offset) + " + " + std::to_string(size)});
  }
  const SignedStatement& statement = layout_->extension->statement;
  checked_.resize(statement.leaf_count);
  const size_t last = chunk_count(offset + size, statement.chunk_bytes);
  for (size_t i = offset / statement.chunk_bytes; i < last; ++i) {
    if (!checked_[i]) PTERON_TRY(check_leaves(i, i + 1, nullptr));
  }
  return {};
}

Status CheckedFile::check_external(std::string_view name, ByteSpan bytes, ThreadPool* pool) {
  if (key_ == nullptr) return {};
  const std::string field = "external data " + std::string(name);
  if (!layout_->extension)
    return keep(refused("the signature does not cover the data file", field, "a digest in the manifest", "an opaque signature"));
  Result<std::vector<ExternalData>> entries = parse_external(layout_->external(file_));
  if (!entries.ok()) return keep(std::move(entries).status());
  const auto entry = std::find_if(entries->begin(), entries->end(), [&](const ExternalData& e) { return e.name == name; });
  if (entry == entries->end())
    return keep(refused("the signature does not cover the data file", field, "a digest in the manifest", "none"));
  if (entry->size != bytes.size())
    return keep(
        refused("the data file is not what was signed", field, std::to_string(entry->size) + " bytes", std::to_string(bytes.size())));
  const Digest digest = tree_digest(bytes, layout_->extension->statement.chunk_bytes, pool);
  if (digest == entry->digest) return {};
  return keep(refused("the data file is not what was signed", field, to_hex(entry->digest), to_hex(digest)));
}

Status CheckedFile::check_unchanged(const FileBytes& file) {
  if (key_ == nullptr || file.unchanged()) return {};
  return keep(Status::error(Code::refused, "the file was changed while it was checked",
                            {.file = file.path(), .field = {}, .expected = {}, .found = {}}));
}

Status CheckedFile::check_rest(ThreadPool* pool) {
  if (!layout_ || !layout_->extension) return {};
  if (key_ != nullptr) {
    if (signature_holds(*key_, file_.first(layout_->footer.signed_bytes), layout_->footer.signature)) return {};
    return keep(refused("the plain signature does not hold", "manifest.signature", "the signature of key " + key_->id().hex()));
  }
  PTERON_TRY(keep(check_seal()));
  PTERON_TRY(keep(check_root()));
  return check_leaves(0, layout_->extension->statement.leaf_count, pool);
}

}  // namespace manifest

namespace {

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

Result<FileBytes> load(const std::string& path, LoadMode mode) {
  return mode == LoadMode::copy ? FileBytes::copy(path) : FileBytes::map(path);
}

// All the bytes of program and data; what they say goes into the trust, an error is one of reading.
Status check_bytes(manifest::CheckedFile& file, const FileBytes& program, std::span<const std::string> external_data, size_t threads,
                   LoadMode mode, bool everything) {
  ThreadPool pool(threads);
  const bool intact = file.check_program(&pool).ok() && (!everything || file.check_rest(&pool).ok()) && file.check_unchanged(program).ok();
  for (size_t i = 0; intact && i < external_data.size(); ++i) {
    PTERON_ASSIGN(const FileBytes data, load(external_data[i], mode));
    if (!file.check_external(file_name(external_data[i]), data.bytes(), &pool).ok() || !file.check_unchanged(data).ok()) break;
  }
  return {};
}

Result<Trust> examine(const std::string& path, const LoadPolicy& policy, std::span<const std::string> external_data, size_t threads,
                      bool everything) {
  PTERON_ASSIGN(const FileBytes bytes, load(path, policy.mode));
  manifest::CheckedFile file = manifest::CheckedFile::open(bytes.bytes(), policy);
  const bool readable = file.trust().state != Trust::State::invalid && file.trust().state != Trust::State::unsigned_file;
  if (readable && (everything || file.trust().verdict.ok()))
    PTERON_TRY(check_bytes(file, bytes, external_data, threads, policy.mode, everything));
  Trust trust = file.trust();
  trust.verdict = std::move(trust.verdict).in_file(path);
  return trust;
}

}  // namespace

Result<Trust> check(const std::string& path, const LoadPolicy& policy, std::span<const std::string> external_data, size_t threads) {
  return examine(path, policy, external_data, threads, false);
}

Result<Trust> verify_manifest(const std::string& path, const LoadPolicy& policy, std::span<const std::string> external_data,
                              size_t threads) {
  return examine(path, policy, external_data, threads, true);
}

}  // namespace pteron
