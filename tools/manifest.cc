// pteron manifest: shows, strips and appends what signs a file.
#include <cstdio>
#include <memory>

#include "tools/keys.h"
#include "tools/times.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  std::string file, output, signature_file;
  const std::string& target() const { return output.empty() ? file : output; }
};

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  char digits[3];
  for (const std::byte b : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(b));
    text += digits;
  }
  return text;
}

Json statement_json(const SignedStatement& statement) {
  Json json = {{"version", statement.version},
               {"algorithm", algorithm_name(statement.algorithm)},
               {"key_id", statement.key.hex()},
               {"counter", statement.counter}};
  if (statement.signed_at) json["signed_at"] = time_text(*statement.signed_at);
  if (statement.not_after) json["not_after"] = time_text(*statement.not_after);
  json["chunk_bytes"] = statement.chunk_bytes;
  json["leaf_count"] = statement.leaf_count;
  json["root"] = hex(statement.root);
  return json;
}

int show_json(const Manifest& manifest) {
  Json json = {
      {"file_bytes", manifest.file_bytes},       {"program_bytes", manifest.program_bytes},      {"signed_bytes", manifest.signed_bytes},
      {"padding_bytes", manifest.padding_bytes}, {"signature_bytes", manifest.signature.size()}, {"signature", hex(manifest.signature)}};
  if (manifest.statement) json["statement"] = statement_json(*manifest.statement);
  for (const ExternalData& entry : manifest.external_data) {
    json["external_data"].push_back({{"name", entry.name}, {"bytes", entry.size}, {"digest", hex(entry.digest)}});
  }
  return print_json(json);
}

void show_text(const Manifest& manifest) {
  std::printf("program:   %llu bytes\n", static_cast<unsigned long long>(manifest.program_bytes));
  std::printf("signed:    %llu bytes, %llu of them digests\n", static_cast<unsigned long long>(manifest.signed_bytes),
              static_cast<unsigned long long>(manifest.signed_bytes - manifest.program_bytes));
  std::printf("signature: %zu bytes, %s...\n", manifest.signature.size(),
              hex(std::span(manifest.signature).first(std::min<size_t>(8, manifest.signature.size()))).c_str());
  if (!manifest.statement) {
    std::printf("statement: none; whoever checks must know algorithm and key\n");
    return;
  }
  const SignedStatement& statement = *manifest.statement;
  std::printf("algorithm: %s\nkey:       %s\n", std::string(algorithm_name(statement.algorithm)).c_str(), statement.key.hex().c_str());
  if (statement.signed_at) std::printf("signed at: %s\n", time_text(*statement.signed_at).c_str());
  if (statement.not_after) std::printf("not after: %s\n", time_text(*statement.not_after).c_str());
  std::printf("counter:   %llu\ntree:      %u chunks of %u bytes, root %s\n", static_cast<unsigned long long>(statement.counter),
              statement.leaf_count, statement.chunk_bytes, hex(statement.root).c_str());
  for (const ExternalData& entry : manifest.external_data) {
    std::printf("data:      %s, %llu bytes, %s\n", entry.name.c_str(), static_cast<unsigned long long>(entry.size),
                hex(entry.digest).c_str());
  }
  std::printf("(read, not checked: `pteron verify` checks)\n");
}

int run_show(Context& context, const Options& options) {
  const Result<Manifest> manifest = read_manifest(options.file);
  if (!manifest.ok()) return fail(context, manifest.status());
  if (context.json) return show_json(*manifest);
  show_text(*manifest);
  return kDone;
}

int run_strip(Context& context, const Options& options) {
  const Status status = strip_manifest(options.file, options.target());
  if (!status.ok()) return fail(context, status);
  if (context.json) return print_json({{"output", options.target()}});
  if (!context.quiet) std::printf("%s: the original bytes, without manifest\n", options.target().c_str());
  return kDone;
}

int run_append(Context& context, const Options& options) {
  const Result<std::string> signature = read_input(options.signature_file);
  if (!signature.ok()) return fail(context, signature.status());
  const Status status = append_manifest(options.file, options.target(), std::as_bytes(std::span(*signature)));
  if (!status.ok()) return fail(context, status);
  if (context.json) return print_json({{"output", options.target()}, {"signature_bytes", signature->size()}});
  if (!context.quiet) std::printf("%s: signature of %zu bytes appended\n", options.target().c_str(), signature->size());
  return kDone;
}

}  // namespace

void add_manifest(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("manifest", "show, strip or append what signs a file");
  verb.require_subcommand(1);

  CLI::App& show = *verb.add_subcommand("show", "print the manifest; nothing is checked");
  reads(show.add_option("FILE", options->file, "a signed file"))->required();
  finish_verb(show, context, "pteron manifest show model.pte", [&context, options] { return run_show(context, *options); });

  CLI::App& strip = *verb.add_subcommand("strip", "take the manifest away: the original bytes");
  strip.add_option("FILE", options->file, "a signed file; replaced as a whole unless -o is given")->required();
  writes(strip.add_option("-o,--output", options->output, "write the result here"));
  finish_verb(strip, context, "pteron manifest strip signed.pte -o model.pte",
              [&context, options] { return run_strip(context, *options); });

  CLI::App& append = *verb.add_subcommand("append", "append a signature that was made elsewhere");
  append.add_option("FILE", options->file, "a program; replaced as a whole unless -o is given")->required();
  reads(append.add_option("--signature-file", options->signature_file, "the signature, raw bytes (at most 512)"))->required();
  writes(append.add_option("-o,--output", options->output, "write the result here"));
  finish_verb(append, context, "pteron manifest append model.pte --signature-file model.sig",
              [&context, options] { return run_append(context, *options); });
}

}  // namespace pteron::tools
