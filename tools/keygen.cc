// pteron keygen: makes a key pair to sign programs with.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "tools/keys.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  std::string output, public_output, algorithm = "ed25519", passphrase_file;
  bool passphrase = false, force = false;
};

int run_keygen(Context& context, const Options& options) {
  const Result<Algorithm> algorithm = parse_algorithm(options.algorithm);
  if (!algorithm.ok()) return fail_usage(context, algorithm.status().message());
  std::error_code ignored;
  if (!options.force && std::filesystem::exists(options.public_output, ignored)) {
    const Result<std::string> there = read_input(options.public_output);
    if (there.ok() && !PublicKey::from_pem(*there).ok()) {
      return fail(context, Status::error(Code::invalid_argument, "a file that is no public key is not overwritten without --force", {.file = options.public_output}));
    }
  }
  const Result<PrivateKey> key = PrivateKey::generate(*algorithm);
  if (!key.ok()) return fail(context, key.status());
  Passphrase passphrase;
  if (!options.passphrase_file.empty()) passphrase = passphrase_from_file(options.passphrase_file);
  else if (options.passphrase) passphrase = new_passphrase(options.output);
  if (const Status status = key->save(options.output, passphrase, options.force); !status.ok()) {
    const bool exists = status.code() == Code::invalid_argument && !options.force && status.detail().found == "one";
    return fail(context, exists ? Status::error(status.code(), "a private key is not overwritten without --force", status.detail()) : status);
  }
  if (const Status status = write_output(options.public_output, key->public_key().to_pem()); !status.ok()) {
    std::filesystem::remove(options.output, ignored);  // half a pair is of no use
    return fail(context, status);
  }
  const std::string id = key->public_key().id().hex();
  if (context.json) {
    return print_json({{"algorithm", options.algorithm},
                       {"key_id", id},
                       {"private_key", options.output},
                       {"public_key", options.public_output},
                       {"encrypted", passphrase != nullptr}});
  }
  std::printf("%s key %s\nprivate: %s%s\npublic:  %s\n", options.algorithm.c_str(), id.c_str(), options.output.c_str(),
              passphrase ? " (encrypted)" : " (not encrypted; readable by its owner alone)", options.public_output.c_str());
  return kDone;
}

}  // namespace

void add_keygen(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("keygen", "make a key pair to sign programs with");
  writes(verb.add_option("-o,--output", options->output, "file for the private key (PEM, mode 0600)"))->required();
  writes(verb.add_option("--public", options->public_output, "file for the public key (PEM)"))->required();
  verb.add_option("--algorithm", options->algorithm, "ed25519, ecdsa-p256 or rsa-pss-3072")->capture_default_str();
  verb.add_flag("--passphrase", options->passphrase, "encrypt the private key with a passphrase that is asked for");
  reads(verb.add_option("--passphrase-file", options->passphrase_file, "encrypt it with the first line of this file"));
  verb.add_flag("--force", options->force, "replace an existing private key");
  finish_verb(verb, context, "pteron keygen -o maker.key.pem --public maker.pub.pem",
              [&context, options] { return run_keygen(context, *options); });
}

}  // namespace pteron::tools
