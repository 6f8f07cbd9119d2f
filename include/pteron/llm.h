// Language models: an engine over a program under a contract, and sessions that read and write text.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pteron/allocator.h"
#include "pteron/generation.h"
#include "pteron/io_manager.h"
#include "pteron/manifest.h"
#include "pteron/profile.h"
#include "pteron/program.h"
#include "pteron/status.h"
#include "pteron/tensor.h"

namespace pteron {

struct EncodeOptions {
  bool parse_special = false;  ///< special tokens in the text are recognised; else they are plain text
  bool add_special = false;    ///< add what the post-processor adds (BOS and the like)
};

struct DecodeOptions {
  bool skip_special = false;   ///< leave special tokens out
};

/// Text from ids that come one at a time. Never gives half a character: bytes wait until they are complete.
class DecodeStream {
 public:
  DecodeStream(DecodeStream&&) noexcept;
  DecodeStream& operator=(DecodeStream&&) noexcept;
  ~DecodeStream();
  /// The text that is complete with this id; may be empty. An id outside the vocabulary is `invalid_argument`.
  Result<std::string> push(TokenId id);
  /// What is left at the end; incomplete bytes become the replacement character.
  std::string flush();

  struct Impl;
  explicit DecodeStream(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// A tokenizer. Immutable, shared freely by threads; copies are handles.
class Tokenizer {
 public:
  /// From a program with a tokenizer, a `tokenizer.json`, or a GGUF file.
  static Result<Tokenizer> open(const std::string& path);

  Result<std::vector<TokenId>> encode(std::string_view text, const EncodeOptions& options = {}) const;
  Result<std::string> decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;
  DecodeStream stream(const DecodeOptions& options = {}) const;

  size_t vocab_size() const;
  /// The piece of an id as the vocabulary writes it; empty for an id without one.
  std::string piece(TokenId id) const;
  std::optional<TokenId> id_of(std::string_view piece) const;
  bool is_special(TokenId id) const;
  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;

  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> impl);

 private:
  std::shared_ptr<const Impl> impl_;
};

struct TemplateOptions {
  bool add_generation_prompt = true;
  std::string bos_token = {}, eos_token = {};  ///< what the template sees under these names
  std::optional<std::string> now = {};  ///< for `strftime_now`, as 2024-07-26T09:05:03; unset: the clock
};

/// A chat template (the Jinja subset that templates use). Bounded in steps, memory and depth: a template comes with the file.
class ChatTemplate {
 public:
  /// `unsupported` or `invalid_data` with the line in `field` for a template that does not compile.
  static Result<ChatTemplate> parse(std::string_view source);

  /// Renders `variables`, a JSON object with `messages` and optionally `tools` and any other variables.
  Result<std::string> render(std::string_view variables, const TemplateOptions& options = {}) const;

  struct Impl;
  explicit ChatTemplate(std::shared_ptr<const Impl> impl);
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

struct EngineOptions {
  LoadPolicy policy = {};
  std::vector<std::string> external_data = {};  ///< `.ptd` files
  size_t threads = 0;                      ///< 0: the cores that this process may use
  Allocator* allocator = nullptr;          ///< caches and I/O; null: host memory
  size_t chunk = 0;                        ///< rows of a prefill call that are used, at most C; 0: all
  size_t min_chunk = 2;                    ///< fewer remaining tokens than this go one by one through decode
  bool use_prefill = true;                 ///< false: decode only
  std::vector<const RunBackend*> backends = {};  ///< the caller's own, besides those of this build; must outlive the engine and its sessions
  bool profile = false;                    ///< count what steps cost, for `Engine::profile`; costs a little time itself
  std::vector<ContractEntry> contracts = {};  ///< of the application's own, beside those of this build; a second entry for one of them is an error
};

/// A generation step by step, on the caller's thread: what `Session::generate` does in one call. The session must outlive it, stay where it is, and not be
/// changed before `finish`.
class TokenStream {
 public:
  TokenStream(TokenStream&&) noexcept;
  TokenStream& operator=(TokenStream&&) noexcept;
  ~TokenStream();
  /// The next token, or text that was held back; nothing once the generation has ended. What it points to is valid until the next call.
  Result<std::optional<TokenEvent>> next();
  /// Ends it where it stands (`cancelled`, if it had not ended), and gives all of it: the text is what `next` has given. Called once, last.
  Result<Generation> finish();

  struct Impl;
  explicit TokenStream(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// Told the tokens done of all; false stops (`cancelled`).
using Progress = std::function<bool(size_t done, size_t total)>;

/// A cache of a session, in place: valid while the session lives, contents as of its last call.
struct CacheTensor {
  bool key = false;      ///< else value
  size_t layer = 0;
  MutableTensorView tensor = {};  ///< [1, heads, slots, dim]
};

/// One conversation: position, tokens and caches. Driven by one thread at a time; `cancel` may come from any thread.
/// After a failed call the session is poisoned: all but `reset` and `restore` return `poisoned`.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  size_t position() const;
  size_t capacity() const;
  /// Whether `tokens` more tokens fit. Pure.
  bool can_append(size_t tokens) const;
  std::span<const TokenId> tokens() const;
  /// The token that was sampled and not fed yet, if any.
  std::optional<TokenId> pending() const;

  /// Commits `tokens`; the logits of the last one. Refused before any work when they do not fit (`out_of_capacity`, both numbers). `progress` is asked
  /// before each call of the program; when it stops, `position` says how many tokens were committed.
  Result<LogitsView> append(std::span<const TokenId> tokens, const Progress& progress = {});
  /// Continues from the last logits; the last sampled token stays pending. Stop strings need the program to carry a tokenizer.
  Result<Generation> generate(const GenerateOptions& options, const OnToken& on_token = {});
  /// `generate` step by step.
  Result<TokenStream> stream(GenerateOptions options);
  /// `append`, and `row(i, logits)` for each token.
  Status append_rows(std::span<const TokenId> tokens, const std::function<Status(size_t, LogitsView)>& row);

  Status rewind(size_t position);
  Result<Session> fork() const;
  Status evict(size_t from, size_t to);
  Status snapshot(const std::string& path) const;
  Status restore(const std::string& path);
  Status reset();
  void cancel();

  std::vector<CacheTensor> caches() const;

  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

struct PerplexityOptions {
  size_t window = 512, stride = 512;  ///< tokens of a window; a new one every `stride`
};
struct Perplexity {
  size_t tokens = 0;   ///< scored
  double nll_sum = 0;  ///< nats
  double seconds = 0;
};

/// A program under an I/O contract, with its tokenizer, template and generation config. Shared by threads and sessions, which must not outlive it.
class Engine {
 public:
  static Result<Engine> load(const std::string& path, const EngineOptions& options = {});

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  const Program& program() const;
  /// The contract object as the program states it (docs/contract.md).
  std::string_view contract_json() const;
  size_t context_length() const;
  size_t vocab_size() const;
  size_t prefill_rows() const;   ///< 0 for a decode-only program
  size_t cache_bytes() const;    ///< of one session
  size_t arena_bytes() const;    ///< planned memory of one session's methods
  size_t bytes_per_session() const;
  size_t threads() const;
  /// The instruction set that kernels were chosen for, for example "avx2".
  std::string cpu() const;

  /// Null where the program carries none.
  const Tokenizer* tokenizer() const;
  const ChatTemplate* chat_template() const;

  /// What the program's generation config asks for, over the defaults (greedy where it says nothing): temperature, top_k, ..., eos ids.
  GenerateOptions default_generation() const;
  /// Whether the tokenizer puts special tokens in front of a text by itself.
  Result<std::vector<TokenId>> encode_prompt(std::string_view text) const;
  /// The ids of a conversation under the program's template; `variables` as in ChatTemplate::render. Special tokens that a message spells out are
  /// encoded as plain text.
  Result<std::vector<TokenId>> encode_chat(std::string_view variables, bool add_generation_prompt = true) const;

  Result<Session> new_session() const;

  /// Scores a text in windows, each on a reset session, as docs/cli.md describes. `progress` returns false to stop (`cancelled`).
  Result<Perplexity> perplexity(std::span<const TokenId> ids, const PerplexityOptions& options = {}, const Progress& progress = {}) const;

  /// What all sessions' steps cost since load or `clear_profile`, most time first within a method; empty unless the option `profile` was set.
  std::vector<StepProfile> profile() const;
  void clear_profile();

  struct Impl;
  explicit Engine(std::shared_ptr<const Impl> impl);

 private:
  std::shared_ptr<const Impl> impl_;
};

/// A sampling chain by itself.
class Sampler {
 public:
  static Result<Sampler> create(SamplerParams params, size_t vocab_size);
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  ~Sampler();
  Result<TokenId> sample(LogitsView logits, std::span<const TokenId> prompt = {}, std::span<const TokenId> generated = {});
  /// The distribution that `sample` draws from, dense [V].
  Result<std::vector<double>> probabilities(LogitsView logits, std::span<const TokenId> prompt = {}, std::span<const TokenId> generated = {});

  struct Impl;
  explicit Sampler(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace pteron
