// Keys and policy for the verbs that sign or check.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "pteron/manifest.h"
#include "pteron/status.h"

namespace pteron::tools {

// A private key from a PEM file. The passphrase of an encrypted key is the first line of `passphrase_file`, or is asked for on the terminal.
Result<PrivateKey> read_private_key(const std::string& path, const std::string& passphrase_file);

// Asks twice on the terminal for the passphrase of a key that is made.
Passphrase new_passphrase(const std::string& path);

// What a person says about trust on the command line.
struct TrustOptions {
  std::vector<std::string> trust;
  bool require_signed = false, allow_expired = false;
  uint64_t minimum_counter = 0;
  std::string load = "mmap";
};

void add_trust_options(CLI::App& verb, TrustOptions& options);

// The policy with the keys that it points to; may be moved.
struct TrustedPolicy {
  std::vector<PublicKey> keys;
  LoadPolicy policy;
};

Result<TrustedPolicy> load_policy(const TrustOptions& options);

}  // namespace pteron::tools
