#include "manifest/sign.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "base/thread_pool.h"
#include "manifest/check.h"
#include "manifest/key.h"

namespace pteron {
namespace manifest {
namespace {

// Parts of a signed file as they come into being.
struct Draft {
  SignedStatement statement;
  std::vector<std::byte> leaves, external;
};

Status too_large(std::string_view what, uint64_t found) {
  return Status::error(Code::out_of_capacity, "too much to sign",
                       {.file = {},
                        .field = std::string(what),
                        .expected = "at most " + std::to_string(std::numeric_limits<uint32_t>::max()),
                        .found = std::to_string(found)});
}

Result<std::vector<std::byte>> list_external(std::span<const DataFile> files, ThreadPool& pool) {
  std::vector<ExternalData> entries;
  for (const DataFile& file : files) {
    entries.push_back({file.name, file.bytes.bytes().size(), tree_digest(file.bytes.bytes(), kChunkBytes, &pool)});
    if (file.name.size() > 255) {
      return Status::error(Code::invalid_argument, "a file name is too long",
                           {.file = file.name, .field = {}, .expected = "at most 255 bytes", .found = {}});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const ExternalData& a, const ExternalData& b) { return a.name < b.name; });
  std::vector<std::byte> list = write_external(entries);
  PTERON_TRY(parse_external(list).status());  // what no reader would take is not written
  return list;
}

Result<Draft> draft(ByteSpan program, const PrivateKey& key, const SignOptions& options, std::span<const DataFile> data) {
  if (begins_like_statement(program)) {
    return Status::error(Code::invalid_data, "not a program: it begins like a signed statement, and signing it could be taken for one");
  }
  ThreadPool pool(options.threads);
  Draft result;
  PTERON_ASSIGN(result.external, list_external(data, pool));
  result.leaves = hash_leaves(program, kChunkBytes, &pool);
  const uint64_t leaf_count = chunk_count(program.size(), kChunkBytes);
  if (leaf_count > std::numeric_limits<uint32_t>::max()) return too_large("chunks of the program", leaf_count);
  if (result.external.size() > std::numeric_limits<uint32_t>::max())
    return too_large("bytes of external data names", result.external.size());
  SignedStatement& statement = result.statement;
  statement.version = kManifestVersion;
  statement.algorithm = key.algorithm();
  statement.key = key.public_key().id();
  statement.signed_at = options.signed_at;
  statement.not_after = options.not_after;
  statement.counter = options.counter;
  statement.chunk_bytes = kChunkBytes;
  statement.leaf_count = static_cast<uint32_t>(leaf_count);
  statement.external_bytes = static_cast<uint32_t>(result.external.size());
  statement.root = tree_root(program.size(), kChunkBytes, result.leaves, result.external);
  return result;
}

Result<FileBytes> map_program(const std::string& path, ByteSpan& program) {
  PTERON_ASSIGN(FileBytes file, FileBytes::map(path));
  Result<std::optional<FileLayout>> layout = read_layout(file.bytes());
  if (!layout.ok()) return std::move(layout).status().in_file(path);
  program = *layout ? (*layout)->program(file.bytes()) : file.bytes();
  return file;
}

// A copy of the program in `in`, with the same permissions, to which a manifest can be appended.
Result<FileWriter> copy_program(const std::string& in, const std::string& out) {
  ByteSpan program;
  PTERON_ASSIGN(const FileBytes file, map_program(in, program));
  struct stat info {};
  const uint32_t mode = ::stat(in.c_str(), &info) == 0 ? info.st_mode & 0777u : 0644u;
  PTERON_ASSIGN(FileWriter writer, FileWriter::create(out, mode));
  PTERON_TRY(writer.write(program));
  return writer;
}

}  // namespace

Status append_signature(FileWriter& writer, const PrivateKey& key, const SignOptions& options, std::vector<DataFile> data) {
  for (const std::string& path : options.external_data) {
    PTERON_ASSIGN(FileBytes bytes, FileBytes::map(path));
    data.push_back({path.substr(path.find_last_of('/') + 1), std::move(bytes)});
  }
  PTERON_ASSIGN(const FileBytes program, writer.map_written());
  PTERON_ASSIGN(const Draft parts, draft(program.bytes(), key, options, data));
  std::vector<std::byte> extension = write_fields(parts.statement);
  const size_t signature_bytes = max_signature_bytes(key.algorithm());
  const bool sealed = extension.size() + proof_field_bytes(signature_bytes) + signature_bytes > kMaxSignatureBytes;
  PTERON_TRY(writer.write(parts.leaves));
  PTERON_TRY(writer.write(parts.external));
  if (sealed) {
    PTERON_ASSIGN(const std::vector<std::byte> statement_signature, make_signature(key, block_message(extension)));
    PTERON_TRY(writer.write(statement_signature));
  }
  PTERON_TRY(writer.write(as_bytes(kBlockMarker)));
  PTERON_ASSIGN(const FileBytes signed_bytes, writer.map_written());
  PTERON_ASSIGN(const std::vector<std::byte> signature, make_signature(key, signed_bytes.bytes()));
  const std::vector<std::byte> fields = covered_fields(signed_bytes.bytes().size(), signature.size());
  std::vector<std::byte> proof;
  if (sealed) {
    proof = seal_of(extension, signature, fields);
  } else {
    PTERON_ASSIGN(proof, make_signature(key, inline_message(extension, signature, fields)));
  }
  append_proof(extension, sealed, proof);
  PTERON_TRY(parse_extension(extension).status());  // a time out of range, for one
  return writer.write(write_footer(signed_bytes.bytes().size(), extension, signature));
}

}  // namespace manifest

Status sign(const std::string& in, const std::string& out, const PrivateKey& key, const SignOptions& options) {
  PTERON_ASSIGN(FileWriter writer, manifest::copy_program(in, out));
  Status status = manifest::append_signature(writer, key, options);
  if (!status.ok()) return std::move(status).in_file(in);
  return writer.commit();
}

Status append_manifest(const std::string& in, const std::string& out, std::span<const std::byte> signature) {
  if (signature.empty() || signature.size() > manifest::kMaxSignatureBytes) {
    return Status::error(Code::invalid_argument, "unusable signature",
                         {.file = {}, .field = {}, .expected = "1 to 512 bytes", .found = std::to_string(signature.size())});
  }
  PTERON_ASSIGN(FileWriter writer, manifest::copy_program(in, out));
  PTERON_ASSIGN(const FileBytes program, writer.map_written());
  if (manifest::has_marker(program.bytes())) {
    return Status::error(Code::invalid_data, "the file ends in the digests of a manifest that was taken away",
                         {.file = in, .field = {}, .expected = "a program", .found = {}});
  }
  PTERON_TRY(writer.write(manifest::write_footer(writer.position(), {}, signature)));
  return writer.commit();
}

Status strip_manifest(const std::string& in, const std::string& out) {
  PTERON_TRY(read_manifest(in).status());
  PTERON_ASSIGN(FileWriter writer, manifest::copy_program(in, out));
  return writer.commit();
}

Result<Manifest> read_manifest(const std::string& path) {
  PTERON_ASSIGN(const FileBytes file, FileBytes::map(path));
  Result<std::optional<manifest::FileLayout>> found = manifest::read_layout(file.bytes());
  if (!found.ok()) return std::move(found).status().in_file(path);
  if (!*found) return Status::error(Code::not_found, "the file has no manifest", {.file = path, .field = {}, .expected = {}, .found = {}});
  const manifest::FileLayout& layout = **found;
  Manifest result;
  result.file_bytes = file.bytes().size();
  result.program_bytes = layout.block.program_bytes;
  result.signed_bytes = layout.footer.signed_bytes;
  result.padding_bytes = layout.footer.padding;
  result.signature.assign(layout.footer.signature.begin(), layout.footer.signature.end());
  if (layout.extension) {
    result.statement = layout.extension->statement;
    Result<std::vector<ExternalData>> entries = manifest::parse_external(layout.external(file.bytes()));
    if (!entries.ok()) return std::move(entries).status().in_file(path);
    result.external_data = std::move(*entries);
  }
  return result;
}

}  // namespace pteron
