#include "python/bindings/session.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>

namespace pteron::python {
namespace {

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
  out["text"] = text_of(made.text);
  out["finish_reason"] = std::string(finish_reason_name(made.finish_reason));
  out["stop_sequence"] = made.stop_sequence.empty() ? py::object(py::none()) : py::object(text_of(made.stop_sequence));
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

template <class T>
Status keep(Result<T> result, std::optional<T>& to) {
  if (result.ok()) to.emplace(std::move(result).value());
  return result.status();
}

Status feed(Session& session, const std::optional<Prompt>& prompt, const PySession::Breath& breath) {
  if (!prompt) return {};
  std::vector<TokenId> ids = prompt->ids;
  if (prompt->whole) {
    // What the session holds already is kept, where its caches can go back to it: a sliding window may have forgotten what came before.
    const std::span<const TokenId> held = session.tokens();
    const size_t most = std::min(held.size(), ids.empty() ? 0 : ids.size() - 1);
    const auto same = static_cast<size_t>(std::mismatch(held.begin(), held.begin() + static_cast<ptrdiff_t>(most), ids.begin()).first - held.begin());
    const Status back = session.rewind(same);
    if (back.ok()) {
      ids.erase(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(same));
    } else if (const Status empty = back.code() == Code::unsupported ? session.reset() : back; !empty.ok()) {
      return empty;
    }
  } else if (const std::optional<TokenId> pending = session.pending()) {
    ids.insert(ids.begin(), *pending);  // sampled, but not fed yet
  }
  return session.append(ids, [&](size_t, size_t) { return breath(); }).status();
}

}  // namespace

py::array PySession::append(const std::vector<TokenId>& ids) {
  py::array_t<float> out(static_cast<py::ssize_t>(vocab_));
  float* const to = out.mutable_data();
  change([&](Session& session, const Breath& breath) {
    const Result<LogitsView> logits = session.append(ids, [&](size_t, size_t) { return breath(); });
    if (logits.ok()) std::copy_n(logits->begin(), std::min(vocab_, logits->size()), to);
    return logits.status();
  });
  return out;
}

py::array PySession::append_rows(const std::vector<TokenId>& ids) {
  const size_t most = std::min(ids.size(), session_.capacity());  // more are refused
  py::array_t<float> out({static_cast<py::ssize_t>(most), static_cast<py::ssize_t>(vocab_)});
  float* const to = out.mutable_data();
  change([&](Session& session, const Breath& breath) {
    return session.append_rows(ids, [&](size_t row, LogitsView logits) {
      std::copy_n(logits.begin(), std::min(vocab_, logits.size()), to + row * vocab_);
      return breath() ? Status() : Status::error(Code::cancelled, "cancelled before all tokens were processed");
    });
  });
  return out;
}

py::dict PySession::complete(const std::optional<Prompt>& prompt, const py::dict& given) {
  const GenerateOptions options = generate_options(defaults_, given);
  std::optional<Generation> made;
  change([&](Session& session, const Breath& breath) {
    if (Status fed = feed(session, prompt, breath); !fed.ok()) return fed;
    return keep(session.generate(options, [&](const TokenEvent&) { return breath() ? Flow::go_on : Flow::stop; }), made);
  });
  return generation_dict(*made);
}

std::unique_ptr<PySession> PySession::fork() {
  std::optional<Session> forked;
  change([&](Session& session, const Breath&) { return keep(session.fork(), forked); });
  return std::make_unique<PySession>(std::move(*forked), defaults_, vocab_);
}

py::dict PySession::caches(const py::object& self) {
  py::dict out;
  for (const CacheTensor& cache : self.cast<PySession&>().look([](const Session& session) { return session.caches(); })) {
    out[py::make_tuple(cache.key ? "key" : "value", cache.layer)] = array_over(cache.tensor, self);
  }
  return out;
}

// A generation that hands out its text piece by piece, in the thread that asks. Nothing happens before the first piece is asked for.
class PyStream {
 public:
  PyStream(py::object session, std::optional<Prompt> prompt, const py::dict& given)
      : held_(std::move(session)), session_(held_.cast<PySession&>()), prompt_(std::move(prompt)), options_(generate_options(session_.defaults_, given)) {}
  ~PyStream() { over(); }
  PyStream(const PyStream&) = delete;
  PyStream& operator=(const PyStream&) = delete;

  // The next piece of text; None at the end.
  py::object next() {
    std::string text;
    bool failed = true;
    const auto step = [&](Session& session, const PySession::Breath& breath) {
      const PySession::Breath go_on = [&] { return !stopped_ && breath(); };
      Status status = begin(session, go_on);
      while (status.ok() && stream_ && text.empty() && go_on()) {
        const Result<std::optional<TokenEvent>> event = stream_->next();
        status = event.status();
        if (!status.ok() || !*event) break;
        text = (*event)->text;
      }
      failed = !status.ok();
      if (failed) over();
      return status;
    };
    session_.change(step, begun_);
    return text.empty() ? py::object(py::none()) : py::object(text_of(text));
  }

  // Ends what `next` does in another thread at the next token.
  void stop() { stopped_ = true; }

  // What came of it; None where it did not begin, or failed.
  py::object finish() {
    stopped_ = true;
    std::optional<Generation> made;
    session_.change([&](Session&, const PySession::Breath&) {
      if (!stream_) return Status();
      const Status status = keep(stream_->finish(), made);
      over();
      return status;
    }, true);
    return made ? py::object(generation_dict(*made)) : py::object(py::none());
  }

 private:
  Status begin(Session& session, const PySession::Breath& go_on) {
    if (begun_ || stopped_) return {};
    if (Status fed = feed(session, prompt_, go_on); !fed.ok()) return fed;
    const Status status = keep(session.stream(options_), stream_);
    begun_ = session_.streaming_ = status.ok();
    return status;
  }

  void over() {
    if (stream_) session_.streaming_ = false;
    stream_.reset();
  }

  py::object held_;
  PySession& session_;
  const std::optional<Prompt> prompt_;
  const GenerateOptions options_;
  std::optional<TokenStream> stream_;
  std::atomic<bool> begun_{false}, stopped_{false};
};

namespace {

std::optional<Prompt> prompt_of(const std::optional<std::vector<int64_t>>& ids, bool whole) {
  if (!ids) return std::nullopt;
  return Prompt{token_ids(*ids), whole};
}

}  // namespace

void bind_session(py::module_& module) {
  py::class_<PyStream>(module, "Stream").def("next", &PyStream::next).def("stop", &PyStream::stop).def("finish", &PyStream::finish);
  py::class_<PySession>(module, "Session")
      .def_property_readonly("position", [](PySession& self) { return self.look([](const Session& session) { return session.position(); }); })
      .def_property_readonly("capacity", [](PySession& self) { return self.look([](const Session& session) { return session.capacity(); }); })
      .def_property_readonly("tokens",
                             [](PySession& self) {
                               return self.look([](const Session& session) { return std::vector<TokenId>(session.tokens().begin(), session.tokens().end()); });
                             })
      .def_property_readonly("pending", [](PySession& self) { return self.look([](const Session& session) { return session.pending(); }); })
      .def("can_append", [](PySession& self, int64_t count) {
        return self.look([most = count_of("count", count)](const Session& session) { return session.can_append(most); });
      })
      .def("append", [](PySession& self, const std::vector<int64_t>& ids) { return self.append(token_ids(ids)); })
      .def("append_rows", [](PySession& self, const std::vector<int64_t>& ids) { return self.append_rows(token_ids(ids)); })
      .def("complete", [](PySession& self, const std::optional<std::vector<int64_t>>& ids, bool whole, const py::dict& options) { return self.complete(prompt_of(ids, whole), options); })
      .def("stream", [](const py::object& self, const std::optional<std::vector<int64_t>>& ids, bool whole, const py::dict& options) {
        return std::make_unique<PyStream>(self, prompt_of(ids, whole), options);
      })
      .def("rewind", [](PySession& self, int64_t position) {
        self.change([to = count_of("position", position)](Session& session, const PySession::Breath&) { return session.rewind(to); });
      })
      .def("evict", [](PySession& self, int64_t start, int64_t stop) {
        const size_t from = count_of("start", start), to = count_of("stop", stop);
        self.change([=](Session& session, const PySession::Breath&) { return session.evict(from, to); });
      })
      .def("snapshot", [](PySession& self, const std::string& path) { self.change([&](Session& session, const PySession::Breath&) { return session.snapshot(path); }); })
      .def("restore", [](PySession& self, const std::string& path) { self.change([&](Session& session, const PySession::Breath&) { return session.restore(path); }); })
      .def("reset", [](PySession& self) { self.change([](Session& session, const PySession::Breath&) { return session.reset(); }); })
      .def("cancel", &PySession::cancel)
      .def("fork", &PySession::fork)
      .def("caches", &PySession::caches);
}

}  // namespace pteron::python
