// Tokenizers, chat templates, samplers.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pteron/llm.h"
#include "python/bindings/convert.h"

namespace pteron::python {

void read_sampler(const py::dict& given, SamplerParams& to) {
  read_options(given, "temperature", to.temperature, "top_k", to.top_k, "top_p", to.top_p, "min_p", to.min_p, "typical_p", to.typical_p, "repetition_penalty",
               to.repetition_penalty, "presence_penalty", to.presence_penalty, "frequency_penalty", to.frequency_penalty, "seed", to.seed);
  if (const auto biases = option<py::dict>(given, "logit_bias")) {
    for (const auto& [id, bias] : *biases) to.logit_bias.emplace_back(cast_option<TokenId>(id, "logit_bias"), cast_option<double>(bias, "logit_bias"));
  }
}

namespace {

void bind_tokenizer(py::module_& module) {
  py::class_<DecodeStream>(module, "DecodeStream")
      .def("push", [](DecodeStream& self, int64_t id) { return text_of(unwrap(self.push(token_ids({id}).front()))); })
      .def("flush", [](DecodeStream& self) { return text_of(self.flush()); });
  py::class_<Tokenizer>(module, "Tokenizer")
      .def(py::init([](const std::string& path) { return unwrap(unlocked([&] { return Tokenizer::open(path); })); }))
      .def("encode",
           [](const Tokenizer& self, const std::string& text, bool parse_special, bool add_special) {
             return unwrap(unlocked([&] { return self.encode(text, {parse_special, add_special}); }));
           })
      .def("decode",
           [](const Tokenizer& self, const std::vector<int64_t>& given, bool skip_special) {
             const std::vector<TokenId> ids = token_ids(given);
             return text_of(unwrap(unlocked([&] { return self.decode(ids, {skip_special}); })));
           })
      .def("stream", [](const Tokenizer& self, bool skip_special) { return self.stream({skip_special}); })
      .def_property_readonly("vocab_size", &Tokenizer::vocab_size)
      .def_property_readonly("bos", &Tokenizer::bos)
      .def_property_readonly("eos", &Tokenizer::eos)
      .def("piece", [](const Tokenizer& self, int64_t id) { return py::bytes(self.piece(token_ids({id}).front())); })
      .def("id_of", [](const Tokenizer& self, const std::string& piece) { return self.id_of(piece); })
      .def("is_special", [](const Tokenizer& self, int64_t id) { return self.is_special(token_ids({id}).front()); });
  py::class_<ChatTemplate>(module, "ChatTemplate")
      .def(py::init([](const std::string& source) { return unwrap(unlocked([&] { return ChatTemplate::parse(source); })); }))
      .def("render", [](const ChatTemplate& self, const std::string& variables, bool prompt, const std::string& bos, const std::string& eos, std::optional<std::string> now) {
        TemplateOptions options;
        options.add_generation_prompt = prompt;
        options.bos_token = bos;
        options.eos_token = eos;
        options.now = std::move(now);
        return text_of(unwrap(unlocked([&] { return self.render(variables, options); })));
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
      .def("sample", [](Sampler& self, const Logits& logits, const std::vector<int64_t>& prompt, const std::vector<int64_t>& generated) {
        return unwrap(self.sample({logits.data(), static_cast<size_t>(logits.size())}, token_ids(prompt), token_ids(generated)));
      })
      .def("probabilities", [](Sampler& self, const Logits& logits, const std::vector<int64_t>& prompt, const std::vector<int64_t>& generated) {
        const std::vector<double> values = unwrap(self.probabilities({logits.data(), static_cast<size_t>(logits.size())}, token_ids(prompt), token_ids(generated)));
        return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
      });
}

}  // namespace

void bind_text(py::module_& module) {
  bind_tokenizer(module);
  bind_sampler(module);
}

}  // namespace pteron::python
