// Tokenizer speed on one core: loading a table, encoding prose and hostile text, decoding. PTERON_TOKENIZER names a tokenizer.json
// (default tests/data/tokenizers/gpt2_bytelevel/tokenizer.json), PTERON_TEXT a text file (default: made-up words).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <random>
#include <string>

#include "base/file.h"
#include "text/tokenizer.h"
#include "text/tokenizer_compile.h"

namespace pteron::text {
namespace {

std::string setting(const char* name, const char* absent) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : absent;
}

const std::vector<std::byte>& table() {
  static const auto* const bytes = [] {
    const auto json = read_text_file(setting("PTERON_TOKENIZER", "tests/data/tokenizers/gpt2_bytelevel/tokenizer.json"), size_t{1} << 30);
    auto compiled = json.ok() ? compile_tokenizer_json(*json) : Result<std::vector<std::byte>>(json.status());
    return new std::vector<std::byte>(compiled.ok() ? std::move(compiled).value() : std::vector<std::byte>());
  }();
  return *bytes;
}

// Words of a vocabulary of 20,000, the common ones much more often than the rare ones.
std::string prose() {
  if (const char* path = std::getenv("PTERON_TEXT")) return read_text_file(path, size_t{1} << 30).value();
  std::minstd_rand random(1);
  std::vector<std::string> words(20000);
  for (std::string& word : words) {
    for (size_t n = 2 + random() % 9; n > 0; --n) word += "etaoinshrdlucmfwypvbgkjqxz"[random() % (1 + random() % 26)];
  }
  std::string text;
  while (text.size() < 5000000) {
    text += words[random() % (1 + random() % (1 + random() % words.size()))];
    text += random() % 12 == 0 ? ". " : " ";
  }
  return text;
}

void encode(benchmark::State& state, const std::string& text) {
  const auto tokenizer = Tokenizer::from_table(table());
  if (!tokenizer.ok()) return state.SkipWithError(tokenizer.status().message().c_str());
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->encode(text).ok());
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

void BM_Load(benchmark::State& state) {
  (void)table();
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::from_table(table()).ok());
}
void BM_EncodeProse(benchmark::State& state) { encode(state, prose()); }
void BM_EncodeOneCharacter(benchmark::State& state) { encode(state, std::string(1000000, 'a')); }
void BM_EncodeSpaces(benchmark::State& state) { encode(state, std::string(1000000, ' ')); }
void BM_EncodeLongWord(benchmark::State& state) {
  std::minstd_rand random(2);
  std::string word(1000000, 'a');
  for (char& c : word) c = static_cast<char>('a' + random() % 26);
  encode(state, word);
}
void BM_DecodeProse(benchmark::State& state) {
  const auto tokenizer = Tokenizer::from_table(table());
  if (!tokenizer.ok()) return state.SkipWithError(tokenizer.status().message().c_str());
  const auto ids = tokenizer->encode(prose());
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->decode(*ids).ok());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * ids->size()));
}

BENCHMARK(BM_Load);
BENCHMARK(BM_EncodeProse)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_EncodeOneCharacter)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_EncodeSpaces)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_EncodeLongWord)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_DecodeProse)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pteron::text
