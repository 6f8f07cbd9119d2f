// pteron verify: is the structure sound, and who signed it.
#include <cstdio>
#include <memory>

#include "pteron/program.h"
#include "tools/keys.h"
#include "tools/times.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> data;
  TrustOptions trust;
};

const char* signature_word(Trust::State state) {
  switch (state) {
    case Trust::State::unsigned_file: return "absent";
    case Trust::State::unknown_key: return "unknown-key";
    case Trust::State::valid: return "valid";
    case Trust::State::expired: return "expired";
    case Trust::State::rolled_back: return "rolled-back";
    case Trust::State::invalid: return "invalid";
  }
  return "invalid";
}

// A valid signature, or none where none is asked for; whatever else is there is refused.
int judge(const Trust& trust, const TrustOptions& options) {
  switch (trust.state) {
    case Trust::State::valid: return kDone;
    case Trust::State::expired: return options.allow_expired ? kDone : kRefused;
    case Trust::State::unsigned_file: return options.require_signed ? kRefused : kDone;
    case Trust::State::invalid: return kFailed;
    default: return kRefused;
  }
}

int run_verify(Context& context, const Options& options) {
  const Result<TrustedPolicy> trusted = load_policy(options.trust);
  if (!trusted.ok()) return fail(context, trusted.status());
  const Result<Trust> trust = verify_manifest(options.file, trusted->policy, options.data, context.threads);
  if (!trust.ok()) return fail(context, trust.status());
  int code = judge(*trust, options.trust);
  // The structure is looked at only where the policy lets the file through (which without any key includes an unknown one): nothing is
  // parsed before.
  Status structure;
  const bool parsed = trust->verdict.ok();
  if (parsed) {
    structure = Program::open(options.file, trusted->policy, options.data).status();
    if (!structure.ok()) code = kFailed;
  }
  const std::string structure_word = !parsed ? "not checked" : structure.ok() ? "ok" : structure.message();
  Status problem = !structure.ok() ? structure : trust->verdict;
  if (problem.ok() && code == kRefused) {  // an unknown key, which loading lets through where no key is given
    problem = Status::error(Code::refused, "no key to check the signature with", {.file = options.file, .field = {}, .expected = "--trust", .found = {}});
  }
  // What an unknown key states is no more than a claim.
  const bool established = trust->state == Trust::State::valid || trust->state == Trust::State::expired || trust->state == Trust::State::rolled_back;
  if (context.json) {
    Json json = {{"structure", structure_word}, {"signature", signature_word(trust->state)}, {"program_bytes", trust->program_bytes}};
    if (trust->algorithm) {
      json["algorithm"] = algorithm_name(*trust->algorithm);
      json["key_id"] = trust->key.hex();
    }
    if (established) {
      json["counter"] = trust->counter;
      if (trust->signed_at) json["signed_at"] = time_text(*trust->signed_at);
      if (trust->not_after) json["not_after"] = time_text(*trust->not_after);
    }
    if (!problem.ok()) json["error"] = error_json(problem);
    print_json(json);
  } else {
    std::printf("structure: %s\nsignature: %s", structure_word.c_str(), signature_word(trust->state));
    if (trust->algorithm) std::printf(" (%s, key %s)", std::string(algorithm_name(*trust->algorithm)).c_str(), trust->key.hex().c_str());
    if (established && trust->signed_at) std::printf(", signed at %s", time_text(*trust->signed_at).c_str());
    if (established && trust->not_after) std::printf(", not after %s", time_text(*trust->not_after).c_str());
    std::printf("\nprogram: %llu bytes\n", static_cast<unsigned long long>(trust->program_bytes));
  }
  std::fflush(stdout);
  if (!problem.ok()) std::fprintf(stderr, "pteron: %s\n", problem.message().c_str());
  return code;
}

}  // namespace

void add_verify(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("verify", "check a program's structure and signature");
  reads(verb.add_option("FILE", options->file, "the program"))->required();
  reads(verb.add_option("--data", options->data, "a .ptd file that belongs to it (repeatable)"));
  add_trust_options(verb, options->trust);
  finish_verb(verb, context, "pteron verify model.pte --trust maker.pub.pem --require-signed", [&context, options] { return run_verify(context, *options); });
}

}  // namespace pteron::tools
