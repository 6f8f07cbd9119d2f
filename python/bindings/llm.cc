// Engines, sessions, tokenizers, templates, samplers.
#include <cstring>
#include <memory>
#include <optional>

#include "pteron/llm.h"
#include "python/bindings/convert.h"

namespace pteron::python {
namespace {

using namespace py::literals;

py::array logits_array(LogitsView logits) { return py::array_t<float>(static_cast<py::ssize_t>(logits.size()), logits.data()); }

template <class T>
void set_if_given(const py::dict& options, const char* key, T& target) {
  if (options.contains(key) && !options[key].is_none()) target = options[key].cast<T>();
}

void read_sampler(const py::dict& options, SamplerParams& sampler) {
  set_if_given(options, "temperature", sampler.temperature);
  set_if_given(options, "top_k", sampler.top_k);
  set_if_given(options, "top_p", sampler.top_p);
  set_if_given(options, "min_p", sampler.min_p);
  set_if_given(options, "typical_p", sampler.typical_p);
  set_if_given(options, "repetition_penalty", sampler.repetition_penalty);
  set_if_given(options, "presence_penalty", sampler.presence_penalty);
  set_if_given(options, "frequency_penalty", sampler.frequency_penalty);
  set_if_given(options, "seed", sampler.seed);
  if (options.contains("logit_bias") && !options["logit_bias"].is_none()) {
    for (const auto& [id, bias] : options["logit_bias"].cast<py::dict>()) sampler.logit_bias.emplace_back(id.cast<TokenId>(), bias.cast<double>());
  }
}

GenerateOptions read_options(GenerateOptions options, const py::dict& given) {
  read_sampler(given, options.sampler);
  set_if_given(given, "max_tokens", options.max_tokens);
  set_if_given(given, "min_tokens", options.min_tokens);
  set_if_given(given, "stop", options.stop_strings);
  set_if_given(given, "stop_tokens", options.stop_tokens);
  set_if_given(given, "lookup", options.lookup);
  if (given.contains("logprobs") && !given["logprobs"].is_none()) {
    options.want_logprobs = true;
    options.logprobs = given["logprobs"].cast<size_t>();
  }
  if (given.contains("time_limit") && !given["time_limit"].is_none()) options.time_limit = std::chrono::milliseconds(static_cast<int64_t>(given["time_limit"].cast<double>() * 1000));
  if (given.contains("ignore_eos") && given["ignore_eos"].cast<bool>()) options.eos_tokens.clear();
  return options;
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

// A session; the engine behind it is kept alive by C++.
class PySession {
 public:
  PySession(Session session, GenerateOptions defaults) : session_(std::move(session)), defaults_(std::move(defaults)) {}

  Session& get() { return session_; }

  py::array append(const std::vector<TokenId>& ids) {
    const Result<LogitsView> logits = [&] {
      const py::gil_scoped_release released;
      return session_.append(ids);
    }();
    check(logits.status());
    return logits_array(*logits);
  }

  py::array append_rows(const std::vector<TokenId>& ids, size_t vocab) {
    std::vector<float> rows;
    const Status status = [&] {
      const py::gil_scoped_release released;
      return session_.append_rows(ids, [&](size_t, LogitsView logits) {
        rows.insert(rows.end(), logits.begin(), logits.end());
        return Status();
      });
    }();
    check(status);
    py::array_t<float> out({static_cast<py::ssize_t>(ids.size()), static_cast<py::ssize_t>(vocab)});
    std::memcpy(out.mutable_data(), rows.data(), rows.size() * sizeof(float));
    return out;
  }

  // `on_text(token or None, text)` is called for each step and may return False to stop. The GIL is held only for that.
  py::dict generate(const py::dict& options, const py::object& on_text) {
    const GenerateOptions generate = read_options(defaults_, options);
    std::optional<py::error_already_set> raised;
    const Result<Generation> made = [&] {
      const py::gil_scoped_release released;
      return session_.generate(generate, [&](const TokenEvent& event) {
        if (on_text.is_none()) return Flow::go_on;
        const py::gil_scoped_acquire held;
        try {
          if (PyErr_CheckSignals() != 0) throw py::error_already_set();
          const py::object token = event.token ? py::object(py::int_(*event.token)) : py::none();
          const py::object answer = on_text(token, py::str(event.text.data(), event.text.size()));
          return answer.is(py::bool_(false)) ? Flow::stop : Flow::go_on;
        } catch (py::error_already_set& error) {
          raised.emplace(std::move(error));
          return Flow::stop;
        }
      });
    }();
    if (raised) throw std::move(*raised);
    check(made.status());
    return generation_dict(*made);
  }

  std::unique_ptr<PySession> fork() const { return std::make_unique<PySession>(unwrap(session_.fork()), defaults_); }

 private:
  Session session_;
  GenerateOptions defaults_;
};

void bind_session(py::module_& module) {
  py::class_<PySession>(module, "Session")
      .def_property_readonly("position", [](PySession& self) { return self.get().position(); })
      .def_property_readonly("capacity", [](PySession& self) { return self.get().capacity(); })
      .def_property_readonly("tokens", [](PySession& self) { return std::vector<TokenId>(self.get().tokens().begin(), self.get().tokens().end()); })
      .def_property_readonly("pending", [](PySession& self) { return self.get().pending(); })
      .def("can_append", [](PySession& self, size_t count) { return self.get().can_append(count); })
      .def("append", &PySession::append)
      .def("append_rows", &PySession::append_rows)
      .def("generate", &PySession::generate)
      .def("rewind", [](PySession& self, size_t position) { check(self.get().rewind(position)); })
      .def("evict", [](PySession& self, size_t from, size_t to) { check(self.get().evict(from, to)); })
      .def("snapshot", [](PySession& self, const std::string& path) { check(self.get().snapshot(path)); })
      .def("restore", [](PySession& self, const std::string& path) { check(self.get().restore(path)); })
      .def("reset", [](PySession& self) { check(self.get().reset()); })
      .def("cancel", [](PySession& self) { self.get().cancel(); })
      .def("fork", &PySession::fork)
      .def("caches", [](py::object self) {
        py::dict out;
        for (const CacheTensor& cache : self.cast<PySession&>().get().caches()) {
          out[py::make_tuple(cache.key ? "key" : "value", cache.layer)] = array_over(cache.tensor, self);
        }
        return out;
      });
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
      .def("new_session", [](const Engine& self) { return std::make_unique<PySession>(unwrap(self.new_session()), self.default_generation()); });
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
