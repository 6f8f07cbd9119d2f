#include "pteron/c_api.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pteron/llm.h"
#include "pteron/manifest.h"
#include "pteron/program.h"
#include "pteron/version.h"

struct pteron_status {
  pteron::Status status;
};
struct pteron_policy {
  std::vector<pteron::PublicKey> keys;
  pteron::LoadPolicy policy;
};
struct pteron_program {
  pteron::Program program;
};
struct pteron_method {
  pteron::Method method;
};
struct pteron_engine {
  pteron::Engine engine;
};
struct pteron_session {
  pteron::Session session;
  pteron::GenerateOptions defaults;
};

namespace {

using pteron::Result;
using pteron::Status;

// Hands an error out; returns whether there was none.
bool report(Status status, pteron_status** out) {
  const bool ok = status.ok();
  if (out != nullptr) *out = ok ? nullptr : new pteron_status{std::move(status)};
  return ok;
}

// A handle around a result's value, or null and the error.
template <class Handle, class T>
Handle* wrap(Result<T> result, pteron_status** status) {
  if (!report(result.status(), status)) return nullptr;
  return new Handle{std::move(result).value()};
}

pteron::LoadPolicy policy_of(const pteron_policy* policy) {
  if (policy == nullptr) return {};
  pteron::LoadPolicy copy = policy->policy;
  copy.trusted = policy->keys;
  return copy;
}

pteron::TensorView view_of(const pteron_tensor& tensor) {
  return {static_cast<pteron::ScalarType>(tensor.dtype), {tensor.sizes, tensor.rank}, {}, tensor.data, tensor.nbytes};
}

size_t give_ids(Result<std::vector<pteron::TokenId>> encoded, int32_t* ids, size_t capacity, pteron_status** status) {
  if (!report(encoded.status(), status)) return 0;
  const size_t given = encoded->size() < capacity ? encoded->size() : capacity;
  if (given > 0) std::memcpy(ids, encoded->data(), given * sizeof(int32_t));
  return encoded->size();
}

}  // namespace

extern "C" {

const char* pteron_version(void) { return PTERON_VERSION; }

const char* pteron_status_code(const pteron_status* status) { return status == nullptr ? "ok" : pteron::code_name(status->status.code()).data(); }
const char* pteron_status_message(const pteron_status* status) { return status == nullptr ? "" : status->status.message().c_str(); }
const char* pteron_status_file(const pteron_status* status) { return status == nullptr ? "" : status->status.detail().file.c_str(); }
const char* pteron_status_field(const pteron_status* status) { return status == nullptr ? "" : status->status.detail().field.c_str(); }
const char* pteron_status_expected(const pteron_status* status) { return status == nullptr ? "" : status->status.detail().expected.c_str(); }
const char* pteron_status_found(const pteron_status* status) { return status == nullptr ? "" : status->status.detail().found.c_str(); }
void pteron_status_free(pteron_status* status) { delete status; }

pteron_policy* pteron_policy_new(void) { return new pteron_policy(); }
void pteron_policy_free(pteron_policy* policy) { delete policy; }
bool pteron_policy_trust(pteron_policy* policy, const char* pem, size_t size, pteron_status** status) {
  Result<pteron::PublicKey> key = pteron::PublicKey::from_pem({pem, size});
  if (!report(key.status(), status)) return false;
  policy->keys.push_back(std::move(*key));
  return true;
}
void pteron_policy_require_signed(pteron_policy* policy, bool require) { policy->policy.require_signed = require; }
void pteron_policy_allow_expired(pteron_policy* policy, bool allow) { policy->policy.allow_expired = allow; }
void pteron_policy_minimum_counter(pteron_policy* policy, uint64_t counter) { policy->policy.minimum_counter = counter; }
void pteron_policy_copy(pteron_policy* policy, bool copy) { policy->policy.mode = copy ? pteron::LoadMode::copy : pteron::LoadMode::map; }

const char* pteron_check(const char* path, const pteron_policy* policy, bool* passes, pteron_status** status) {
  const Result<pteron::Trust> trust = pteron::check(path, policy_of(policy));
  if (passes != nullptr) *passes = false;
  if (!report(trust.status(), status)) return nullptr;
  if (passes != nullptr) *passes = trust->verdict.ok();
  return pteron::trust_state_name(trust->state).data();
}

pteron_program* pteron_program_open(const char* path, const pteron_policy* policy, pteron_status** status) {
  return wrap<pteron_program>(pteron::Program::open(path, policy_of(policy)), status);
}
void pteron_program_free(pteron_program* program) { delete program; }
size_t pteron_program_method_count(const pteron_program* program) { return program->program.methods().size(); }
const char* pteron_program_method_name(const pteron_program* program, size_t index) {
  return index < program->program.methods().size() ? program->program.methods()[index].name.c_str() : nullptr;
}
char* pteron_program_describe(const pteron_program* program) { return ::strdup(program->program.describe().c_str()); }
void pteron_text_free(char* text) { std::free(text); }

pteron_method* pteron_method_load(const pteron_program* program, const char* name, size_t threads, pteron_status** status) {
  pteron::MethodOptions options;
  options.threads = threads;
  return wrap<pteron_method>(program->program.load(name, options), status);
}
void pteron_method_free(pteron_method* method) { delete method; }
size_t pteron_method_input_count(const pteron_method* method) { return method->method.info().inputs.size(); }
size_t pteron_method_output_count(const pteron_method* method) { return method->method.info().outputs.size(); }
bool pteron_method_set_input(pteron_method* method, size_t index, const pteron_tensor* tensor, pteron_status** status) {
  return report(method->method.set_input(index, view_of(*tensor)), status);
}
bool pteron_method_set_input_int(pteron_method* method, size_t index, int64_t value, pteron_status** status) { return report(method->method.set_input(index, value), status); }
bool pteron_method_set_input_double(pteron_method* method, size_t index, double value, pteron_status** status) { return report(method->method.set_input(index, value), status); }
bool pteron_method_set_input_bool(pteron_method* method, size_t index, bool value, pteron_status** status) { return report(method->method.set_input(index, value), status); }
bool pteron_method_bind_output(pteron_method* method, size_t index, const pteron_tensor* tensor, pteron_status** status) {
  const pteron::TensorView view = view_of(*tensor);
  return report(method->method.bind_output(index, {view.dtype, view.sizes, {}, tensor->data, tensor->nbytes}), status);
}
bool pteron_method_execute(pteron_method* method, pteron_status** status) { return report(method->method.execute(), status); }
bool pteron_method_output(const pteron_method* method, size_t index, pteron_tensor* tensor, pteron_status** status) {
  const Result<pteron::TensorView> view = method->method.output(index);
  if (!report(view.status(), status)) return false;
  *tensor = {static_cast<int32_t>(view->dtype), view->sizes.size(), view->sizes.data(), const_cast<void*>(view->data), view->nbytes};
  return true;
}

pteron_engine* pteron_engine_load(const char* path, const pteron_policy* policy, size_t threads, pteron_status** status) {
  pteron::EngineOptions options;
  options.policy = policy_of(policy);
  options.threads = threads;
  return wrap<pteron_engine>(pteron::Engine::load(path, options), status);
}
void pteron_engine_free(pteron_engine* engine) { delete engine; }
size_t pteron_engine_context_length(const pteron_engine* engine) { return engine->engine.context_length(); }
size_t pteron_engine_vocab_size(const pteron_engine* engine) { return engine->engine.vocab_size(); }
size_t pteron_engine_encode(const pteron_engine* engine, const char* text, int32_t* ids, size_t capacity, pteron_status** status) {
  return give_ids(engine->engine.encode_prompt(text), ids, capacity, status);
}
size_t pteron_engine_encode_chat(const pteron_engine* engine, const char* variables_json, int32_t* ids, size_t capacity, pteron_status** status) {
  return give_ids(engine->engine.encode_chat(variables_json), ids, capacity, status);
}

pteron_session* pteron_session_new(const pteron_engine* engine, pteron_status** status) {
  Result<pteron::Session> session = engine->engine.new_session();
  if (!report(session.status(), status)) return nullptr;
  return new pteron_session{std::move(*session), engine->engine.default_generation()};
}
void pteron_session_free(pteron_session* session) { delete session; }
size_t pteron_session_position(const pteron_session* session) { return session->session.position(); }
const float* pteron_session_append(pteron_session* session, const int32_t* ids, size_t count, pteron_status** status) {
  const Result<pteron::LogitsView> logits = session->session.append({ids, count});
  return report(logits.status(), status) ? logits->data() : nullptr;
}
bool pteron_session_rewind(pteron_session* session, size_t position, pteron_status** status) { return report(session->session.rewind(position), status); }
bool pteron_session_reset(pteron_session* session, pteron_status** status) { return report(session->session.reset(), status); }
bool pteron_session_snapshot(const pteron_session* session, const char* path, pteron_status** status) { return report(session->session.snapshot(path), status); }
bool pteron_session_restore(pteron_session* session, const char* path, pteron_status** status) { return report(session->session.restore(path), status); }
pteron_session* pteron_session_fork(const pteron_session* session, pteron_status** status) {
  Result<pteron::Session> forked = session->session.fork();
  if (!report(forked.status(), status)) return nullptr;
  return new pteron_session{std::move(*forked), session->defaults};
}
void pteron_session_cancel(pteron_session* session) { session->session.cancel(); }

const char* pteron_session_generate(pteron_session* session, const pteron_generate_options* options, pteron_on_text on_text, void* user, pteron_status** status) {
  pteron::GenerateOptions generate = session->defaults;
  if (options != nullptr) {
    if (options->max_tokens > 0) generate.max_tokens = options->max_tokens;
    if (options->temperature >= 0) generate.sampler.temperature = options->temperature;
    if (options->top_k >= 0) generate.sampler.top_k = options->top_k;
    if (options->top_p >= 0) generate.sampler.top_p = options->top_p;
    generate.sampler.seed = options->seed;
    for (size_t i = 0; i < options->stop_count; ++i) generate.stop_strings.emplace_back(options->stop[i]);
  }
  const Result<pteron::Generation> made = session->session.generate(generate, [&](const pteron::TokenEvent& event) {
    if (on_text == nullptr || event.text.empty()) return pteron::Flow::go_on;
    return on_text(event.text.data(), event.text.size(), user) ? pteron::Flow::go_on : pteron::Flow::stop;
  });
  return report(made.status(), status) ? pteron::finish_reason_name(made->finish_reason).data() : nullptr;
}

}  // extern "C"
