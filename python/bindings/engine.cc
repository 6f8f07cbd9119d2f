// Language models.
#include <memory>
#include <optional>

#include "pteron/llm.h"
#include "python/bindings/session.h"

namespace pteron::python {

void bind_engine(py::module_& module) {
  py::class_<Engine>(module, "Engine")
      .def(py::init([](const std::string& path, const std::vector<std::string>& trust, bool require_signed, bool allow_expired, int64_t minimum_counter, const std::string& load,
                       const std::vector<std::string>& data, int64_t threads, int64_t chunk, int64_t min_chunk, bool use_prefill) {
        const Policy policy = make_policy(trust, require_signed, allow_expired, minimum_counter, load);
        EngineOptions options;
        options.policy = policy.policy;
        options.external_data = data;
        options.threads = count_of("threads", threads);
        options.chunk = count_of("chunk", chunk);
        options.min_chunk = count_of("min_chunk", min_chunk);
        options.use_prefill = use_prefill;
        return unwrap(unlocked([&] { return Engine::load(path, options); }));
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
      .def("encode_prompt", [](const Engine& self, const std::string& text) { return unwrap(unlocked([&] { return self.encode_prompt(text); })); })
      .def("encode_chat", [](const Engine& self, const std::string& variables, bool prompt) { return unwrap(unlocked([&] { return self.encode_chat(variables, prompt); })); })
      .def("perplexity",
           [](const Engine& self, const std::vector<int64_t>& given, int64_t window, int64_t stride) {
             const std::vector<TokenId> ids = token_ids(given);
             const PerplexityOptions options{count_of("ctx", window), count_of("stride", stride)};
             Interrupts interrupts;
             Result<Perplexity> result = unlocked([&] { return self.perplexity(ids, options, [&](size_t, size_t) { return interrupts.none(); }); });
             interrupts.raise();
             const Perplexity scored = unwrap(std::move(result));
             return py::make_tuple(scored.tokens, scored.nll_sum);
           })
      .def("new_session", [](const Engine& self) {
        return std::make_unique<PySession>(unwrap(unlocked([&] { return self.new_session(); })), self.default_generation(), self.vocab_size());
      });
}

}  // namespace pteron::python
