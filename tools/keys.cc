#include "tools/keys.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "tools/verb.h"

namespace pteron::tools {
namespace {

// Asks on the terminal without echo.
Result<std::string> ask_passphrase(const std::string& question) {
  if (::isatty(STDIN_FILENO) != 1) {
    return Status::error(Code::invalid_argument, "a passphrase is needed and there is no terminal to ask on",
                         {.file = {}, .field = {}, .expected = "--passphrase-file", .found = {}});
  }
  std::fprintf(stderr, "%s: ", question.c_str());
  termios before{};
  tcgetattr(STDIN_FILENO, &before);
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  catch_interrupts();  // the terminal must get its echo back
  std::string line;
  std::getline(std::cin, line);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
  std::fprintf(stderr, "\n");
  if (interrupted()) return Status::error(Code::cancelled, "interrupted");
  leave_on_interrupt();
  return line;
}

}  // namespace

Result<PrivateKey> read_private_key(const std::string& path, const std::string& passphrase_file) {
  return PrivateKey::from_file(path, passphrase_file.empty() ? Passphrase([path] { return ask_passphrase("Passphrase for " + path); }) : passphrase_from_file(passphrase_file));
}

Passphrase new_passphrase(const std::string& path) {
  return [path]() -> Result<std::string> {
    Result<std::string> first = ask_passphrase("New passphrase for " + path);
    if (!first.ok()) return first;
    const Result<std::string> second = ask_passphrase("The same again");
    if (second.ok() && *first != *second) return Status::error(Code::invalid_argument, "the two passphrases differ");
    return first;
  };
}

void add_trust_options(CLI::App& verb, TrustOptions& options) {
  reads(verb.add_option("--trust", options.trust, "a public key (PEM) to trust (repeatable)"));
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
    Result<PublicKey> key = PublicKey::from_file(path);
    if (!key.ok()) return key.status();
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
