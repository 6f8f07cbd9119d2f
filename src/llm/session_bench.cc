// What a session costs beside running its program: reading and checking a contract of 64 layers, and a fork against copying the bytes that it has to copy.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "llm/session.h"
#include "llm/session_state.h"
#include "llm/testing/tiny_program.h"

namespace pteron::llm {
namespace {

using testing::TinyConfig;
using testing::TinyProgram;

constexpr size_t kTokens = 1000, kContext = 4096;

TinyConfig many_layers() {
  TinyConfig config;
  config.layers.assign(64, {});
  for (size_t i = 0; i < 64; i += 2) config.layers[i].window = 6;
  config.states = testing::States::separate;
  return config;
}

void BM_Contract64Layers(benchmark::State& state) {
  const TinyProgram program(many_layers());
  const std::string json = program.contract_json();
  for (auto _ : state) {
    const auto contract = parse_contract(json);
    if (!contract.ok() || !validate_contract(*contract, program.infos()).ok()) state.SkipWithError("refused");
  }
}
BENCHMARK(BM_Contract64Layers)->Unit(benchmark::kMicrosecond);

// The caches of a model of 30 layers with 3 key and value heads of 64 elements, as SmolLM2-135M has them.
struct Forked {
  Forked() : program(config()), contract(*IoManagerRegistry::with_defaults().open(program)), session(*Session::create(*contract, program)) {
    if (!session.adopt(state()).ok()) std::abort();
  }
  // As after 1,000 tokens; what the caches hold makes no difference, but their pages must be there.
  SessionState state() {
    const auto manager = *contract->new_manager(program, {});
    const TokenId token = 0;
    SessionState out;
    if (!manager->run(Step::decode, std::span(&token, 1), kTokens - 1).ok()) return out;
    for (const CacheView& cache : manager->caches()) std::memset(cache.tensor.data, 0x3C, cache.tensor.nbytes);
    SavedSession saved;
    saved.program = program.identity();
    saved.tokens.assign(kTokens, token);
    const Status written = write_session(saved, *manager, [&](ByteSpan bytes) {
      out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
      return Status();
    });
    if (!written.ok()) out.bytes.clear();
    return out;
  }
  static TinyConfig config() {
    TinyConfig out;
    out.L = kContext;
    out.C = 4;
    out.heads = 3;
    out.key_dim = out.value_dim = 64;
    out.layers.assign(30, {});
    out.rope_facts = false;
    return out;
  }
  // The rows of the committed slots, head by head.
  size_t copy_to(std::span<std::byte> to) {
    size_t bytes = 0;
    for (const CacheView& cache : session.caches()) {
      const size_t head = cache.tensor.nbytes / 3, used = head / kContext * kTokens;
      for (size_t h = 0; h < 3; ++h) {
        std::memcpy(to.data() + bytes, static_cast<const std::byte*>(cache.tensor.data) + h * head, used);
        bytes += used;
      }
    }
    return bytes;
  }

  TinyProgram program;
  std::unique_ptr<IoContract> contract;
  Session session;
};

Forked& forked() {
  static Forked made;
  return made;
}

void BM_Fork1000Of4096(benchmark::State& state) {
  for (auto _ : state) {
    auto copy = forked().session.fork();
    if (!copy.ok()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(BM_Fork1000Of4096)->Unit(benchmark::kMicrosecond);

// Into fresh memory, as a second session has it.
void BM_CopyOfThoseBytes(benchmark::State& state) {
  const size_t room = forked().contract->cache_bytes();
  size_t bytes = 0;
  for (auto _ : state) {
    std::unique_ptr<std::byte, decltype(&std::free)> to(static_cast<std::byte*>(std::malloc(room)), std::free);
    bytes = forked().copy_to({to.get(), room});
    benchmark::DoNotOptimize(to);
    benchmark::ClobberMemory();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_CopyOfThoseBytes)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace pteron::llm
