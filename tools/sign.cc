// pteron sign: signs a program, replacing the manifest that it has.
#include <cstdio>
#include <memory>

#include "pteron/program.h"
#include "tools/keys.h"
#include "tools/times.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  std::string file, output, key, passphrase_file, not_after;
  std::vector<std::string> data;
  uint64_t counter = 0;
  bool no_time = false;
};

Result<SignOptions> sign_options(const Context& context, const Options& options) {
  SignOptions result;
  const Result<Time> now = signing_time();
  if (!now.ok()) return now.status();
  if (!options.no_time) result.signed_at = *now;
  if (!options.not_after.empty()) {
    const Result<Time> end = parse_time("--not-after", options.not_after, *now);
    if (!end.ok()) return end.status();
    if (*end <= *now && !context.quiet) std::fprintf(stderr, "pteron: note: a signature not valid after %s has expired already\n", time_text(*end).c_str());
    result.not_after = *end;
  }
  result.counter = options.counter;
  result.external_data = options.data;
  result.threads = context.threads;
  return result;
}

int run_sign(Context& context, const Options& options) {
  const Result<SignOptions> how = sign_options(context, options);
  if (!how.ok()) return how.code() == Code::invalid_argument ? fail_usage(context, how.status().message()) : fail(context, how.status());
  if (const Status structure = Program::open(options.file).status(); !structure.ok()) return fail(context, structure);
  const Result<PrivateKey> key = read_private_key(options.key, options.passphrase_file);
  if (!key.ok()) return fail(context, key.status());
  const std::string output = options.output.empty() ? options.file : options.output;
  if (const Status status = sign(options.file, output, *key, *how); !status.ok()) return fail(context, status);
  const std::string id = key->public_key().id().hex();
  const std::string algorithm(algorithm_name(key->algorithm()));
  if (context.json) {
    Json json = {{"output", output}, {"algorithm", algorithm}, {"key_id", id}, {"counter", options.counter}};
    if (how->signed_at) json["signed_at"] = time_text(*how->signed_at);
    if (how->not_after) json["not_after"] = time_text(*how->not_after);
    return print_json(json);
  }
  std::printf("%s: signed with %s key %s\n", output.c_str(), algorithm.c_str(), id.c_str());
  return kDone;
}

}  // namespace

void add_sign(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("sign", "sign a program");
  verb.add_option("FILE", options->file, "the program; replaced as a whole unless -o is given")->required();
  reads(verb.add_option("--key", options->key, "the private key (PEM)"))->required();
  writes(verb.add_option("-o,--output", options->output, "write the signed program here"));
  reads(verb.add_option("--passphrase-file", options->passphrase_file, "the passphrase of an encrypted key is the first line of this file"));
  verb.add_option("--counter", options->counter, "a number that grows with each release, against roll-back")->capture_default_str();
  verb.add_option("--not-after", options->not_after, "when the signature expires: 2027-01-31, 2027-01-31T12:00:00Z or 90d");
  verb.add_flag("--no-time", options->no_time, "do not state the time of signing");
  reads(verb.add_option("--data", options->data, "a .ptd file that belongs to the program, to sign with it (repeatable)"));
  finish_verb(verb, context, "pteron sign model.pte --key maker.key.pem --counter 3",
              [&context, options] { return run_sign(context, *options); });
}

}  // namespace pteron::tools
