#include "tools/keys.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "tools/verb.h"

namespace pteron::tools {
namespace {

// Asks on the terminal without echo.
Result<std::string> ask_passphrase(const std::string& path) {
  if (::isatty(STDIN_FILENO) != 1) {
    return Status::error(Code::invalid_argument, "the key is encrypted and there is no terminal to ask on",
                         {.file = path, .field = {}, .expected = "--passphrase-file", .found = {}});
  }
  std::fprintf(stderr, "Passphrase for %s: ", path.c_str());
  termios before{};
  tcgetattr(STDIN_FILENO, &before);
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  std::string line;
  std::getline(std::cin, line);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
  std::fprintf(stderr, "\n");
  return line;
}

}  // namespace

void add_trust_options(CLI::App& verb, TrustOptions& options) {
  verb.add_option("--trust", options.trust, "a public key (PEM) to trust (repeatable)");
  verb.add_flag("--require-signed", options.require_signed, "refuse a file that no trusted key signed");
  verb.add_flag("--allow-expired", options.allow_expired, "accept a signature whose not-after has passed");
  verb.add_option("--minimum-counter", options.minimum_counter, "refuse a signed file with a smaller roll-back counter");
  verb.add_option("--load", options.load, "mmap (shares pages) or copy (private memory: what was checked is what is used)")
      ->check(CLI::IsMember({"mmap", "copy"}))
      ->capture_default_str();
}

Result<TrustedPolicy> load_policy(const TrustOptions& options) {
  TrustedPolicy result;
  for (const std::string& path : options.trust) {
    Result<std::string> text = read_input(path);
    if (!text.ok()) return text.status();
    Result<PublicKey> key = PublicKey::from_pem(*text);
    if (!key.ok()) return key.status().in_file(path);
    result.keys.push_back(std::move(*key));
  }
  result.policy.trusted = result.keys;
  result.policy.require_signed = options.require_signed;
  result.policy.allow_expired = options.allow_expired;
  result.policy.minimum_counter = options.minimum_counter;
  result.policy.mode = options.load == "copy" ? LoadMode::copy : LoadMode::map;
  return result;
}

}  // namespace pteron::tools
