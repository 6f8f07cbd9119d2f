// Engines, sessions, tokenizers, templates, samplers.
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include "pteron/llm.h"
#include "python/bindings/convert.h"

namespace pteron::python {
namespace {

void read_sampler(const py::dict& given, SamplerParams& to) {
  read_options(given, "temperature", to.temperature, "top_k", to.top_k, "top_p", to.top_p, "min_p", to.min_p, "typical_p", to.typical_p, "repetition_penalty",
               to.repetition_penalty, "presence_penalty", to.presence_penalty, "frequency_penalty", to.frequency_penalty, "seed", to.seed);
  if (const auto biases = option<py::dict>(given, "logit_bias")) {
    for (const auto& [id, bias] : *biases) to.logit_bias.emplace_back(cast_option<TokenId>(id, "logit_bias"), cast_option<double>(bias, "logit_bias"));
  }
}

GenerateOptions generate_options(GenerateOptions to, const py::dict& given) {
  read_sampler(given, to.sampler);
  read_options(given, "max_tokens", to.max_tokens, "min_tokens", to.min_tokens, "stop", to.stop_strings, "stop_tokens", to.stop_tokens, "lookup", to.lookup,
               "skip_special", to.skip_special);
  if (const auto count = option<size_t>(given, "logprobs")) {
    to.want_logprobs = true;
    to.logprobs = *count;
  }
  if (const double seconds = option<double>(given, "time_limit").value_or(0); seconds > 0) {
    to.time_limit = std::chrono::milliseconds(static_cast<int64_t>(std::min(seconds, 1e9) * 1000));
  }
  if (option<bool>(given, "ignore_eos").value_or(false)) to.eos_tokens.clear();
  return to;
}

py::dict generation_dict(const Generation& made) {
  py::dict out;
  out["tokens"] = made.tokens;
  out["text"] = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(made.text.data(), static_cast<py::ssize_t>(made.text.size()), "replace"));
  out["finish_reason"] = std::string(finish_reason_name(made.finish_reason));
  out["stop_sequence"] = made.stop_sequence.empty() ? py::object(py::none()) : py::object(py::str(made.stop_sequence));
  out["logprobs"] = made.logprobs;
  py::list top;
  for (const std::vector<TokenLogprob>& row : made.top_logprobs) {
    py::list entries;
    for (const TokenLogprob& entry : row) entries.append(py::make_tuple(entry.token, entry.logprob));
    top.append(entries);
  }
  out["top_logprobs"] = top;
  out["first_token_ms"] = std::chrono::duration<double, std::milli>(made.first_token).count();
  out["decode_ms"] = std::chrono::duration<double, std::milli>(made.decode).count();
  out["drafted"] = made.drafted;
  out["accepted"] = made.accepted;
  return out;
}

// A session that several Python threads may hold: what they ask is done one after the other, without the GIL. While a generation hands out a piece of
// text, others may look but not change anything. Nobody waits for the lock with the GIL, or the other way round.
class PySession {
 public:
  PySession(Session session, GenerateOptions defaults, size_t vocab) : session_(std::move(session)), defaults_(std::move(defaults)), vocab_(vocab) {}

  template <class Work>
  auto look(Work work) {
    const py::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    return work(session_);
  }

  template <class Work>
  void change(Work work) {
    const Status status = [&] {
      const py::gil_scoped_release released;
      const std::lock_guard lock(mutex_);
      return generating_ ? busy() : work(session_);
    }();
    check(status);
  }

  py::array append(const std::vector<TokenId>& ids) {
    py::array_t<float> out(static_cast<py::ssize_t>(vocab_));
    float* const to = out.mutable_data();
    change([&](Session& session) {
      const Result<LogitsView> logits = session.append(ids);
      if (logits.ok()) std::copy_n(logits->begin(), std::min(vocab_, logits->size()), to);
      return logits.status();
    });
    return out;
  }

  py::array append_rows(const std::vector<TokenId>& ids) {
    py::array_t<float> out({static_cast<py::ssize_t>(ids.size()), static_cast<py::ssize_t>(vocab_)});
    float* const to = out.mutable_data();
    change([&](Session& session) {
      return session.append_rows(ids, [&](size_t row, LogitsView logits) {
        std::copy_n(logits.begin(), std::min(vocab_, logits.size()), to + row * vocab_);
        return Status();
      });
    });
    return out;
  }

  // `on_text(token or None, text)` is called for each step and may return False to stop.
  py::dict generate(const py::dict& options, const py::object& on_text) {
    const GenerateOptions generate = generate_options(defaults_, options);
    Listener listener(on_text);
    const Result<Generation> made = [&]() -> Result<Generation> {
      const py::gil_scoped_release released;
      std::unique_lock lock(mutex_);
      if (generating_) return busy();
      generating_ = true;
      Result<Generation> result = session_.generate(generate, [&](const TokenEvent& event) {
        lock.unlock();
        const Flow flow = listener.hear(event);
        lock.lock();
        return flow;
      });
      generating_ = false;
      return result;
    }();
    listener.raise();
    check(made.status());
    return generation_dict(*made);
  }

  std::unique_ptr<PySession> fork() {
    std::optional<Session> forked;
    change([&](Session& session) {
      Result<Session> result = session.fork();
      if (result.ok()) forked.emplace(std::move(result).value());
      return result.status();
    });
    return std::make_unique<PySession>(std::move(*forked), defaults_, vocab_);
  }

  void cancel() { session_.cancel(); }

  // Arrays over the session's own memory, which keep it alive.
  static py::dict caches(const py::object& self) {
    py::dict out;
    for (const CacheTensor& cache : self.cast<PySession&>().look([](const Session& session) { return session.caches(); })) {
      out[py::make_tuple(cache.key ? "key" : "value", cache.layer)] = array_over(cache.tensor, self);
    }
    return out;
  }

 private:
  // What hears of each step, and of Ctrl-C where nothing else would.
  class Listener {
   public:
    explicit Listener(const py::object& on_text) : on_text_(on_text), checked_(std::chrono::steady_clock::now()) {}

    Flow hear(const TokenEvent& event) {
      const auto now = std::chrono::steady_clock::now();
      if (on_text_.is_none() && now - checked_ < std::chrono::milliseconds(50)) return Flow::go_on;
      checked_ = now;
      const py::gil_scoped_acquire held;
      try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (on_text_.is_none()) return Flow::go_on;
        const py::object token = event.token ? py::object(py::int_(*event.token)) : py::none();
        return on_text_(token, py::str(event.text.data(), event.text.size())).is(py::bool_(false)) ? Flow::stop : Flow::go_on;
      } catch (py::error_already_set& error) {
        raised_.emplace(std::move(error));
        return Flow::stop;
      }
    }
    void raise() {
      if (raised_) throw std::move(*raised_);
    }

   private:
    const py::object& on_text_;
    std::chrono::steady_clock::time_point checked_;
    std::optional<py::error_already_set> raised_;
  };

  static Status busy() {
    return Status::error(Code::invalid_argument, "a generation is going on in this session", {.file = {}, .field = "session", .expected = "its end", .found = "a change"});
  }

  std::mutex mutex_;
  Session session_;
  GenerateOptions defaults_;
  size_t vocab_;
  bool generating_ = false;  // guarded by mutex_
};

void bind_session(py::module_& module) {
  py::class_<PySession>(module, "Session")
      .def_property_readonly("position", [](PySession& self) { return self.look([](const Session& session) { return session.position(); }); })
      .def_property_readonly("capacity", [](PySession& self) { return self.look([](const Session& session) { return session.capacity(); }); })
      .def_property_readonly("tokens",
                             [](PySession& self) {
                               return self.look([](const Session& session) { return std::vector<TokenId>(session.tokens().begin(), session.tokens().end()); });
                             })
      .def_property_readonly("pending", [](PySession& self) { return self.look([](const Session& session) { return session.pending(); }); })
      .def("can_append", [](PySession& self, size_t count) { return self.look([count](const Session& session) { return session.can_append(count); }); })
      .def("append", &PySession::append)
      .def("append_rows", &PySession::append_rows)
      .def("generate", &PySession::generate)
      .def("rewind", [](PySession& self, size_t position) { self.change([=](Session& session) { return session.rewind(position); }); })
      .def("evict", [](PySession& self, size_t from, size_t to) { self.change([=](Session& session) { return session.evict(from, to); }); })
      .def("snapshot", [](PySession& self, const std::string& path) { self.change([&](Session& session) { return session.snapshot(path); }); })
      .def("restore", [](PySession& self, const std::string& path) { self.change([&](Session& session) { return session.restore(path); }); })
      .def("reset", [](PySession& self) { self.change([](Session& session) { return session.reset(); }); })
      .def("cancel", &PySession::cancel)
      .def("fork", &PySession::fork)
      .def("caches", &PySession::caches);
}

void bind_engine(py::module_& module) {
  py::class_<Engine>(module, "Engine")
      .def(py::init([](const std::string& path, const std::vector<std::string>& trust, bool require_signed, bool allow_expired, uint64_t minimum_counter, const std::string& load,
                       const std::vector<std::string>& data, size_t threads, size_t chunk, size_t min_chunk, bool use_prefill) {
        const Policy policy = make_policy(trust, require_signed, allow_expired, minimum_counter, load);
        EngineOptions options;
        options.policy = policy.policy;
        options.external_data = data;
        options.threads = threads;
        options.chunk = chunk;
        options.min_chunk = min_chunk;
        options.use_prefill = use_prefill;
        Result<Engine> engine = [&] {
          const py::gil_scoped_release released;
          return Engine::load(path, options);
        }();
        return unwrap(std::move(engine));
      }))
      .def("contract", [](const Engine& self) { return std::string(self.contract_json()); })
      .def_property_readonly("context_length", &Engine::context_length)
      .def_property_readonly("vocab_size", &Engine::vocab_size)
      .def_property_readonly("prefill_rows", &Engine::prefill_rows)
      .def_property_readonly("cache_bytes", &Engine::cache_bytes)
      .def_property_readonly("bytes_per_session", &Engine::bytes_per_session)
      .def_property_readonly("threads", &Engine::threads)
      .def_property_readonly("cpu", &Engine::cpu)
      .def("tokenizer", [](const Engine& self) { return self.tokenizer() == nullptr ? std::nullopt : std::optional<Tokenizer>(*self.tokenizer()); })
      .def("chat_template", [](const Engine& self) { return self.chat_template() == nullptr ? std::nullopt : std::optional<ChatTemplate>(*self.chat_template()); })
      .def("encode_prompt", [](const Engine& self, const std::string& text) { return unwrap(self.encode_prompt(text)); })
      .def("encode_chat", [](const Engine& self, const std::string& variables, bool prompt) { return unwrap(self.encode_chat(variables, prompt)); })
      .def("perplexity",
           [](const Engine& self, const std::vector<TokenId>& ids, size_t window, size_t stride) {
             const Result<Perplexity> result = [&] {
               const py::gil_scoped_release released;
               return self.perplexity(ids, {window, stride});
             }();
             check(result.status());
             return py::make_tuple(result->tokens, result->nll_sum);
           })
      .def("new_session", [](const Engine& self) {
        Result<Session> session = [&] {
          const py::gil_scoped_release released;
          return self.new_session();
        }();
        return std::make_unique<PySession>(unwrap(std::move(session)), self.default_generation(), self.vocab_size());
      });
}

void bind_text(py::module_& module) {
  py::class_<DecodeStream>(module, "DecodeStream")
      .def("push", [](DecodeStream& self, TokenId id) { return unwrap(self.push(id)); })
      .def("flush", &DecodeStream::flush);
  py::class_<Tokenizer>(module, "Tokenizer")
      .def(py::init([](const std::string& path) { return unwrap(Tokenizer::open(path)); }))
      .def("encode",
           [](const Tokenizer& self, const std::string& text, bool parse_special, bool add_special) {
             Result<std::vector<TokenId>> ids = [&] {
               const py::gil_scoped_release released;
               return self.encode(text, {parse_special, add_special});
             }();
             return unwrap(std::move(ids));
           })
      .def("decode", [](const Tokenizer& self, const std::vector<TokenId>& ids, bool skip_special) { return unwrap(self.decode(ids, {skip_special})); })
      .def("stream", [](const Tokenizer& self, bool skip_special) { return self.stream({skip_special}); })
      .def_property_readonly("vocab_size", &Tokenizer::vocab_size)
      .def_property_readonly("bos", &Tokenizer::bos)
      .def_property_readonly("eos", &Tokenizer::eos)
      .def("piece", [](const Tokenizer& self, TokenId id) { return py::bytes(self.piece(id)); })
      .def("id_of", [](const Tokenizer& self, const std::string& piece) { return self.id_of(piece); })
      .def("is_special", &Tokenizer::is_special);
  py::class_<ChatTemplate>(module, "ChatTemplate")
      .def(py::init([](const std::string& source) { return unwrap(ChatTemplate::parse(source)); }))
      .def("render", [](const ChatTemplate& self, const std::string& variables, bool prompt, const std::string& bos, const std::string& eos, std::optional<std::string> now) {
        TemplateOptions options;
        options.add_generation_prompt = prompt;
        options.bos_token = bos;
        options.eos_token = eos;
        options.now = std::move(now);
        return unwrap(self.render(variables, options));
      });
}

void bind_sampler(py::module_& module) {
  using Logits = py::array_t<float, py::array::c_style | py::array::forcecast>;
  py::class_<Sampler>(module, "Sampler")
      .def(py::init([](const py::dict& params, size_t vocab) {
        SamplerParams sampler;
        read_sampler(params, sampler);
        return unwrap(Sampler::create(std::move(sampler), vocab));
      }))
      .def("sample", [](Sampler& self, const Logits& logits, const std::vector<TokenId>& prompt, const std::vector<TokenId>& generated) {
        return unwrap(self.sample({logits.data(), static_cast<size_t>(logits.size())}, prompt, generated));
      })
      .def("probabilities", [](Sampler& self, const Logits& logits, const std::vector<TokenId>& prompt, const std::vector<TokenId>& generated) {
        const std::vector<double> values = unwrap(self.probabilities({logits.data(), static_cast<size_t>(logits.size())}, prompt, generated));
        return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
      });
}

}  // namespace

void bind_llm(py::module_& module) {
  bind_text(module);
  bind_session(module);
  bind_engine(module);
  bind_sampler(module);
}

}  // namespace pteron::python
