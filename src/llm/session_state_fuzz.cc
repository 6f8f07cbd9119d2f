// Any bytes as a saved session, with the digest at the end made right so that the rest is looked at.
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/sha256.h"
#include "llm/session.h"
#include "llm/testing/tiny_program.h"

namespace {

struct Target {
  Target() : program(config()), contract(*pteron::llm::IoManagerRegistry::with_defaults().open(program)), session(*pteron::llm::Session::create(*contract, program)) {}
  static pteron::llm::testing::TinyConfig config() {
    pteron::llm::testing::TinyConfig c;
    c.layers = {{}, {.window = 5}};
    return c;
  }
  pteron::llm::testing::TinyProgram program;
  std::unique_ptr<pteron::llm::IoContract> contract;
  pteron::llm::Session session;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Target* const target = new Target;
  pteron::llm::SessionState state;
  state.bytes.resize(size);
  if (size > 0) std::memcpy(state.bytes.data(), data, size);
  (void)target->session.adopt(state);
  if (size >= sizeof(pteron::Digest)) {
    const size_t body = size - sizeof(pteron::Digest);
    const pteron::Digest digest = pteron::sha256(pteron::ByteSpan(state.bytes).first(body));
    std::memcpy(state.bytes.data() + body, digest.data(), digest.size());
    if (target->session.adopt(state).ok() && target->session.can_append(1)) {
      const pteron::TokenId token = 1;
      (void)target->session.append(std::span(&token, 1));  // caches may hold anything, NaN too
    }
  }
  (void)target->session.reset();
  return 0;
}
