#include "pteron/llm.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/backend_adapter.h"
#include "api/chat_encoding.h"
#include "api/program_impl.h"
#include "api/tokenizer_impl.h"
#include "base/cpu.h"
#include "llm/engine.h"
#include "llm/generate.h"
#include "llm/perplexity.h"
#include "llm/sampler.h"
#include "llm/session.h"
#include "runtime/profile.h"
#include "text/chat_template.h"

namespace pteron {

struct ChatTemplate::Impl {
  text::ChatTemplate parsed;
};

ChatTemplate::ChatTemplate(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  PTERON_ASSIGN(text::ChatTemplate parsed, text::ChatTemplate::parse(source));
  return ChatTemplate(std::make_shared<const Impl>(Impl{std::move(parsed)}));
}

Result<std::string> ChatTemplate::render(std::string_view variables, const TemplateOptions& options) const {
  text::RenderOptions render;
  render.add_generation_prompt = options.add_generation_prompt;
  render.bos_token = options.bos_token;
  render.eos_token = options.eos_token;
  render.now = options.now;
  return impl_->parsed.render(variables, render);
}

struct Engine::Impl {
  Program program;
  EngineOptions options;
  size_t threads = 1;
  CpuTarget cpu = CpuTarget::scalar;
  std::string contract;
  api::RunBackends backends;
  std::unique_ptr<runtime::Profile> profile;  // outlives the methods that fill it
  std::shared_ptr<const llm::Engine> engine;
  std::optional<Tokenizer> tokenizer;
  std::optional<ChatTemplate> chat_template;
  Impl(Program p, const EngineOptions& engine_options) : program(std::move(p)), options(engine_options), backends(engine_options.backends) {}
};

struct Session::Impl {
  std::shared_ptr<const Engine::Impl> engine;
  llm::Session session;
  const text::Tokenizer* tokenizer() const { return engine->engine->tokenizer(); }
};

struct TokenStream::Impl {
  llm::TokenStream stream;
};

TokenStream::TokenStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TokenStream::TokenStream(TokenStream&&) noexcept = default;
TokenStream& TokenStream::operator=(TokenStream&&) noexcept = default;
TokenStream::~TokenStream() = default;
Result<std::optional<TokenEvent>> TokenStream::next() { return impl_->stream.next(); }
Result<Generation> TokenStream::finish() { return impl_->stream.finish(); }

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

size_t Session::position() const { return impl_->session.position(); }
size_t Session::capacity() const { return impl_->session.capacity(); }
bool Session::can_append(size_t tokens) const { return impl_->session.can_append(tokens); }
std::span<const TokenId> Session::tokens() const { return impl_->session.tokens(); }
std::optional<TokenId> Session::pending() const { return impl_->session.pending(); }
Result<LogitsView> Session::append(std::span<const TokenId> tokens, const Progress& progress) { return impl_->session.append(tokens, progress); }
Result<Generation> Session::generate(const GenerateOptions& options, const OnToken& on_token) {
  return llm::generate(impl_->session, impl_->tokenizer(), options, on_token);
}
Result<TokenStream> Session::stream(GenerateOptions options) {
  PTERON_ASSIGN(llm::TokenStream stream, llm::TokenStream::create(impl_->session, impl_->tokenizer(), std::move(options)));
  return TokenStream(std::make_unique<TokenStream::Impl>(TokenStream::Impl{std::move(stream)}));
}
Status Session::append_rows(std::span<const TokenId> tokens, const std::function<Status(size_t, LogitsView)>& row) {
  return impl_->session.append_rows(tokens, row);
}
Status Session::rewind(size_t position) { return impl_->session.rewind(position); }
Status Session::evict(size_t from, size_t to) { return impl_->session.evict(from, to); }
Status Session::snapshot(const std::string& path) const { return impl_->session.snapshot(path); }
Status Session::restore(const std::string& path) { return impl_->session.restore(path); }
Status Session::reset() { return impl_->session.reset(); }
void Session::cancel() { impl_->session.cancel(); }

Result<Session> Session::fork() const {
  PTERON_ASSIGN(llm::Session forked, impl_->session.fork());
  return Session(std::make_unique<Impl>(Impl{impl_->engine, std::move(forked)}));
}

std::vector<CacheTensor> Session::caches() const {
  std::vector<CacheTensor> caches;
  for (const llm::CacheView& view : impl_->session.caches()) caches.push_back({view.key, view.layer, view.tensor});
  return caches;
}

Engine::Engine(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::load(const std::string& path, const EngineOptions& options) {
  PTERON_ASSIGN(Program program, Program::open(path, options.policy, options.external_data));
  auto impl = std::make_shared<Impl>(std::move(program), options);
  impl->options.policy.trusted = {};  // the caller's keys need not outlive the call
  impl->threads = options.threads == 0 ? usable_cores() : options.threads;
  PTERON_ASSIGN(impl->cpu, cpu_target());
  llm::EngineOptions engine_options;
  engine_options.load = impl->program.impl().load_options();
  engine_options.load.backends = impl->backends.all();
  if (options.profile) impl->profile = std::make_unique<runtime::Profile>();
  engine_options.load.profile = impl->profile.get();
  engine_options.manager.allocator = options.allocator;
  engine_options.manager.threads = impl->threads;
  engine_options.manager.use_prefill = options.use_prefill;
  engine_options.session.chunk = options.chunk;
  engine_options.session.min_chunk = options.min_chunk;
  llm::IoManagerRegistry registry = llm::IoManagerRegistry::with_defaults();
  for (const ContractEntry& entry : options.contracts) PTERON_TRY(registry.add(entry.contract, entry.version, entry.open));
  engine_options.registry = &registry;  // asked while the engine is made, not after
  auto engine = llm::Engine::create(impl->program.impl().opened.program, engine_options);
  if (!engine.ok()) return engine.status().in_file(path);
  impl->engine = std::move(*engine);
  if (impl->engine->tokenizer() != nullptr) {
    impl->tokenizer = Tokenizer(std::shared_ptr<const Tokenizer::Impl>(new Tokenizer::Impl{{}, impl->engine, *impl->engine->tokenizer()}));
  }
  if (const std::string_view source = impl->engine->chat_template(); !source.empty()) {
    // A template that this build cannot do is no reason to refuse the model: only chat needs it, and says why then.
    if (Result<ChatTemplate> parsed = ChatTemplate::parse(source); parsed.ok()) impl->chat_template = std::move(*parsed);
  }
  PTERON_ASSIGN(const std::string_view contract, impl->engine->methods().constant_string(llm::kContractMethod));
  impl->contract = contract;
  return Engine(std::move(impl));
}

const Program& Engine::program() const { return impl_->program; }
std::string_view Engine::contract_json() const { return impl_->contract; }
size_t Engine::context_length() const { return impl_->engine->limits().context_length; }
size_t Engine::vocab_size() const { return impl_->engine->limits().vocab_size; }
size_t Engine::prefill_rows() const { return impl_->engine->limits().prefill_rows; }
size_t Engine::cache_bytes() const { return impl_->engine->io().cache_bytes(); }
size_t Engine::bytes_per_session() const { return impl_->engine->bytes_per_session(); }
size_t Engine::threads() const { return impl_->threads; }
std::string Engine::cpu() const { return std::string(cpu_target_name(impl_->cpu)); }
const Tokenizer* Engine::tokenizer() const { return impl_->tokenizer ? &*impl_->tokenizer : nullptr; }
const ChatTemplate* Engine::chat_template() const { return impl_->chat_template ? &*impl_->chat_template : nullptr; }
GenerateOptions Engine::default_generation() const { return impl_->engine->default_options(); }

std::vector<StepProfile> Engine::profile() const {
  std::vector<StepProfile> steps;
  if (impl_->profile == nullptr) return steps;
  impl_->profile->each([&](const runtime::Profile::Row& row) {
    const runtime::Profile::Totals totals = row.totals();
    if (totals.calls > 0) steps.push_back({row.method, row.kind, totals.calls, std::chrono::duration<double>(totals.time).count(), totals.work.bytes, totals.work.operations});
  });
  std::stable_sort(steps.begin(), steps.end(), [](const StepProfile& a, const StepProfile& b) { return a.method != b.method ? a.method < b.method : a.seconds > b.seconds; });
  return steps;
}

void Engine::clear_profile() {
  if (impl_->profile != nullptr) impl_->profile->each([](runtime::Profile::Row& row) { row.clear(); });
}

size_t Engine::arena_bytes() const {
  size_t bytes = 0;
  for (const MethodInfo& method : impl_->program.methods()) {
    for (int64_t arena : method.arena_bytes) bytes += static_cast<size_t>(arena);
  }
  return bytes;
}

Result<std::vector<TokenId>> Engine::encode_prompt(std::string_view text) const {
  if (!impl_->tokenizer) {
    return Status::error(Code::unsupported, "the program carries no tokenizer", {.file = {}, .field = "tokenizer", .expected = "named data, or token ids", .found = "none"});
  }
  return impl_->tokenizer->encode(text, {.parse_special = false, .add_special = true});
}

Result<std::vector<TokenId>> Engine::encode_chat(std::string_view variables, bool add_generation_prompt) const {
  if (!impl_->tokenizer || impl_->engine->chat_template().empty()) {
    return Status::error(Code::unsupported, "the program carries no chat template", {.file = {}, .field = "chat_template", .expected = "named data", .found = "none"});
  }
  if (!impl_->chat_template) return ChatTemplate::parse(impl_->engine->chat_template()).status();
  text::RenderOptions options;
  options.add_generation_prompt = add_generation_prompt;
  if (const auto bos = impl_->tokenizer->bos()) options.bos_token = impl_->tokenizer->piece(*bos);
  if (const auto eos = impl_->tokenizer->eos()) options.eos_token = impl_->tokenizer->piece(*eos);
  return api::encode_chat(*impl_->engine->tokenizer(), impl_->chat_template->impl().parsed, variables, options);
}

Result<Session> Engine::new_session() const {
  PTERON_ASSIGN(llm::Session session, impl_->engine->new_session());
  return Session(std::make_unique<Session::Impl>(Session::Impl{impl_, std::move(session)}));
}

Result<Perplexity> Engine::perplexity(std::span<const TokenId> ids, const PerplexityOptions& options, const Progress& progress) const {
  PTERON_ASSIGN(llm::Session session, impl_->engine->new_session());
  llm::PerplexityOptions windows;
  windows.ctx = options.window;
  windows.stride = options.stride;
  // A BOS that the tokenizer puts in front of a text stands in front of each window.
  if (const text::Tokenizer* tokenizer = impl_->engine->tokenizer(); tokenizer != nullptr) {
    if (const std::vector<TokenId> prefix = tokenizer->prefix_ids(); !prefix.empty()) windows.bos = prefix.front();
  }
  const auto start = std::chrono::steady_clock::now();
  bool stopped = false;
  PTERON_ASSIGN(const llm::Perplexity scored, llm::perplexity(session, ids, windows, [&](const llm::Perplexity&, size_t done) {
    if (progress && !progress(done, ids.size())) {
      stopped = true;
      session.cancel();
    }
  }));
  if (stopped) return Status::error(Code::cancelled, "scoring was stopped");
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return Perplexity{scored.tokens, scored.nll_sum, time.count()};
}

struct Sampler::Impl {
  llm::Sampler sampler;
};

Sampler::Sampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

Result<Sampler> Sampler::create(SamplerParams params, size_t vocab_size) {
  PTERON_ASSIGN(llm::Sampler sampler, llm::Sampler::create(std::move(params), vocab_size));
  return Sampler(std::make_unique<Impl>(Impl{std::move(sampler)}));
}

Result<TokenId> Sampler::sample(LogitsView logits, std::span<const TokenId> prompt, std::span<const TokenId> generated) {
  return impl_->sampler.sample(logits, {.prompt = prompt, .generated = generated, .banned = {}});
}

Result<std::vector<double>> Sampler::probabilities(LogitsView logits, std::span<const TokenId> prompt, std::span<const TokenId> generated) {
  return impl_->sampler.probabilities(logits, {.prompt = prompt, .generated = generated, .banned = {}});
}

}  // namespace pteron
