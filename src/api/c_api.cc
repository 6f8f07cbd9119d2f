#include "pteron/c_api.h"

#include <chrono>
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

pteron_trust trust_of(const pteron::Trust& trust) {
  pteron_trust out{};
  out.state = pteron::trust_state_name(trust.state).data();
  if (trust.algorithm) out.algorithm = pteron::algorithm_name(*trust.algorithm).data();
  if (trust.key != pteron::KeyId{}) trust.key.hex().copy(out.key_id, sizeof out.key_id - 1);
  out.has_signed_at = trust.signed_at.has_value();
  out.has_not_after = trust.not_after.has_value();
  if (trust.signed_at) out.signed_at = trust.signed_at->time_since_epoch().count();
  if (trust.not_after) out.not_after = trust.not_after->time_since_epoch().count();
  out.counter = trust.counter;
  out.program_bytes = trust.program_bytes;
  return out;
}

pteron::TensorView view_of(const pteron_tensor& tensor) {
  return {static_cast<pteron::ScalarType>(tensor.dtype), {tensor.sizes, tensor.rank}, {}, tensor.data, tensor.nbytes};
}

template <class T>
bool give(const Result<T>& result, T* value, pteron_status** status) {
  if (!report(result.status(), status)) return false;
  *value = *result;
  return true;
}

static_assert(PTERON_LIST == static_cast<int>(pteron::ValueKind::list) && PTERON_BOOL == static_cast<int>(pteron::ValueKind::boolean));

pteron_kind slot_kind(const std::vector<pteron::SlotInfo>& slots, size_t index, pteron_tensor* tensor) {
  if (index >= slots.size()) return PTERON_NONE;
  const pteron::SlotInfo& slot = slots[index];
  if (tensor != nullptr && slot.kind == pteron::ValueKind::tensor) {
    *tensor = {static_cast<int32_t>(slot.dtype), slot.sizes.size(), slot.sizes.data(), nullptr, slot.nbytes};
  }
  return static_cast<pteron_kind>(slot.kind);
}

size_t give_ids(Result<std::vector<pteron::TokenId>> encoded, int32_t* ids, size_t capacity, pteron_status** status) {
  if (!report(encoded.status(), status)) return 0;
  const size_t given = encoded->size() < capacity ? encoded->size() : capacity;
  if (given > 0) std::memcpy(ids, encoded->data(), given * sizeof(int32_t));
  return encoded->size();
}

// What C cannot say (bias, stop tokens, logprobs) stays as it was.
pteron::GenerateOptions changed(pteron::GenerateOptions generate, const pteron_generate_options& options) {
  generate.max_tokens = options.max_tokens;
  generate.min_tokens = options.min_tokens;
  generate.sampler.temperature = options.temperature;
  generate.sampler.top_k = options.top_k;
  generate.sampler.top_p = options.top_p;
  generate.sampler.min_p = options.min_p;
  generate.sampler.typical_p = options.typical_p;
  generate.sampler.repetition_penalty = options.repetition_penalty;
  generate.sampler.frequency_penalty = options.frequency_penalty;
  generate.sampler.presence_penalty = options.presence_penalty;
  generate.sampler.seed = options.seed;
  generate.stop_strings.assign(options.stop, options.stop + options.stop_count);
  generate.time_limit = std::chrono::milliseconds(options.time_limit_ms);
  generate.lookup = options.lookup;
  if (options.ignore_eos) generate.eos_tokens.clear();
  return generate;
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

bool pteron_check(const char* path, const pteron_policy* policy, const char* const* data, size_t data_count, pteron_trust* trust, pteron_status** status) {
  if (trust != nullptr) *trust = {};
  const std::vector<std::string> external(data, data + data_count);
  const Result<pteron::Trust> found = pteron::check(path, policy_of(policy), external);
  if (!found.ok()) return report(found.status(), status);
  if (trust != nullptr) *trust = trust_of(*found);
  return report(found->verdict, status);
}

pteron_program* pteron_program_open(const char* path, const pteron_policy* policy, const char* const* data, size_t data_count, pteron_status** status) {
  const std::vector<std::string> external(data, data + data_count);
  return wrap<pteron_program>(pteron::Program::open(path, policy_of(policy), external), status);
}
pteron_program* pteron_program_from_bytes(const void* bytes, size_t size, const pteron_policy* policy, pteron_status** status) {
  return wrap<pteron_program>(pteron::Program::from_bytes({static_cast<const std::byte*>(bytes), size}, policy_of(policy)), status);
}
void pteron_program_free(pteron_program* program) { delete program; }
pteron_trust pteron_program_trust(const pteron_program* program) { return trust_of(program->program.trust()); }
size_t pteron_program_method_count(const pteron_program* program) { return program->program.methods().size(); }
const char* pteron_program_method_name(const pteron_program* program, size_t index) {
  return index < program->program.methods().size() ? program->program.methods()[index].name.c_str() : nullptr;
}
char* pteron_program_describe(const pteron_program* program) { return ::strdup(program->program.describe().c_str()); }
void pteron_text_free(char* text) { std::free(text); }
const void* pteron_program_named_data(const pteron_program* program, const char* key, size_t* size, pteron_status** status) {
  const Result<std::span<const std::byte>> data = program->program.named_data(key);
  if (!report(data.status(), status)) return nullptr;
  *size = data->size();
  return data->data();
}

pteron_method* pteron_method_load(const pteron_program* program, const char* name, size_t threads, pteron_status** status) {
  pteron::MethodOptions options;
  options.threads = threads;
  return wrap<pteron_method>(program->program.load(name, options), status);
}
void pteron_method_free(pteron_method* method) { delete method; }
size_t pteron_method_input_count(const pteron_method* method) { return method->method.info().inputs.size(); }
size_t pteron_method_output_count(const pteron_method* method) { return method->method.info().outputs.size(); }
pteron_kind pteron_method_input(const pteron_method* method, size_t index, pteron_tensor* tensor) { return slot_kind(method->method.info().inputs, index, tensor); }
pteron_kind pteron_method_output_kind(const pteron_method* method, size_t index, pteron_tensor* tensor) {
  return slot_kind(method->method.info().outputs, index, tensor);
}
bool pteron_method_set_input(pteron_method* method, size_t index, const pteron_tensor* tensor, pteron_status** status) {
  return report(method->method.set_input(index, view_of(*tensor)), status);
}
bool pteron_method_set_input_int(pteron_method* method, size_t index, int64_t value, pteron_status** status) { return report(method->method.set_input(index, value), status); }
bool pteron_method_set_input_double(pteron_method* method, size_t index, double value, pteron_status** status) { return report(method->method.set_input(index, value), status); }
bool pteron_method_set_input_bool(pteron_method* method, size_t index, bool value, pteron_status** status) { return report(method->method.set_input(index, value), status); }
bool pteron_method_set_input_string(pteron_method* method, size_t index, const char* value, pteron_status** status) {
  return report(method->method.set_input(index, std::string_view(value)), status);
}
bool pteron_method_set_input_none(pteron_method* method, size_t index, pteron_status** status) { return report(method->method.set_input_none(index), status); }
bool pteron_method_bind_output(pteron_method* method, size_t index, const pteron_tensor* tensor, pteron_status** status) {
  const pteron::TensorView view = view_of(*tensor);
  return report(method->method.bind_output(index, {view.dtype, view.sizes, {}, tensor->data, tensor->nbytes}), status);
}
bool pteron_method_allocate_outputs(pteron_method* method, pteron_status** status) { return report(method->method.allocate_outputs(), status); }
bool pteron_method_reset(pteron_method* method, pteron_status** status) { return report(method->method.reset(), status); }
bool pteron_method_execute(pteron_method* method, pteron_status** status) { return report(method->method.execute(), status); }
bool pteron_method_output(const pteron_method* method, size_t index, pteron_tensor* tensor, pteron_status** status) {
  const Result<pteron::TensorView> view = method->method.output(index);
  if (!report(view.status(), status)) return false;
  *tensor = {static_cast<int32_t>(view->dtype), view->sizes.size(), view->sizes.data(), const_cast<void*>(view->data), view->nbytes};
  return true;
}
bool pteron_method_output_int(const pteron_method* method, size_t index, int64_t* value, pteron_status** status) {
  return give(method->method.output_int(index), value, status);
}
bool pteron_method_output_double(const pteron_method* method, size_t index, double* value, pteron_status** status) {
  return give(method->method.output_double(index), value, status);
}
bool pteron_method_output_bool(const pteron_method* method, size_t index, bool* value, pteron_status** status) {
  return give(method->method.output_bool(index), value, status);
}
const char* pteron_method_output_string(const pteron_method* method, size_t index, size_t* size, pteron_status** status) {
  const Result<std::string_view> text = method->method.output_string(index);
  if (!report(text.status(), status)) return nullptr;
  *size = text->size();
  return text->data();
}

pteron_engine* pteron_engine_load(const char* path, const pteron_policy* policy, const char* const* data, size_t data_count, size_t threads, pteron_status** status) {
  pteron::EngineOptions options;
  options.policy = policy_of(policy);
  options.external_data.assign(data, data + data_count);
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

char* pteron_engine_decode(const pteron_engine* engine, const int32_t* ids, size_t count, pteron_status** status) {
  if (engine->engine.tokenizer() == nullptr) {
    report(Status::error(pteron::Code::unsupported, "the program carries no tokenizer", {.file = {}, .field = "tokenizer", .expected = "named data", .found = "none"}), status);
    return nullptr;
  }
  const Result<std::string> text = engine->engine.tokenizer()->decode({ids, count}, {.skip_special = true});
  return report(text.status(), status) ? ::strdup(text->c_str()) : nullptr;
}

pteron_session* pteron_session_new(const pteron_engine* engine, pteron_status** status) {
  Result<pteron::Session> session = engine->engine.new_session();
  if (!report(session.status(), status)) return nullptr;
  return new pteron_session{std::move(*session), engine->engine.default_generation()};
}
void pteron_session_free(pteron_session* session) { delete session; }
size_t pteron_session_position(const pteron_session* session) { return session->session.position(); }
size_t pteron_session_capacity(const pteron_session* session) { return session->session.capacity(); }
bool pteron_session_can_append(const pteron_session* session, size_t tokens) { return session->session.can_append(tokens); }
const int32_t* pteron_session_tokens(const pteron_session* session) { return session->session.tokens().data(); }
const float* pteron_session_append(pteron_session* session, const int32_t* ids, size_t count, pteron_status** status) {
  const Result<pteron::LogitsView> logits = session->session.append({ids, count});
  return report(logits.status(), status) ? logits->data() : nullptr;
}
bool pteron_session_rewind(pteron_session* session, size_t position, pteron_status** status) { return report(session->session.rewind(position), status); }
bool pteron_session_evict(pteron_session* session, size_t from, size_t to, pteron_status** status) { return report(session->session.evict(from, to), status); }
bool pteron_session_reset(pteron_session* session, pteron_status** status) { return report(session->session.reset(), status); }
bool pteron_session_snapshot(const pteron_session* session, const char* path, pteron_status** status) { return report(session->session.snapshot(path), status); }
bool pteron_session_restore(pteron_session* session, const char* path, pteron_status** status) { return report(session->session.restore(path), status); }
pteron_session* pteron_session_fork(const pteron_session* session, pteron_status** status) {
  Result<pteron::Session> forked = session->session.fork();
  if (!report(forked.status(), status)) return nullptr;
  return new pteron_session{std::move(*forked), session->defaults};
}
void pteron_session_cancel(pteron_session* session) { session->session.cancel(); }

pteron_generate_options pteron_session_defaults(const pteron_session* session) {
  const pteron::GenerateOptions& from = session->defaults;
  pteron_generate_options options{};
  options.max_tokens = from.max_tokens;
  options.min_tokens = from.min_tokens;
  options.temperature = from.sampler.temperature;
  options.top_k = from.sampler.top_k;
  options.top_p = from.sampler.top_p;
  options.min_p = from.sampler.min_p;
  options.typical_p = from.sampler.typical_p;
  options.repetition_penalty = from.sampler.repetition_penalty;
  options.frequency_penalty = from.sampler.frequency_penalty;
  options.presence_penalty = from.sampler.presence_penalty;
  options.seed = from.sampler.seed;
  options.time_limit_ms = static_cast<uint64_t>(from.time_limit.count());
  options.lookup = from.lookup;
  return options;
}

const char* pteron_session_generate(pteron_session* session, const pteron_generate_options* options, pteron_on_text on_text, void* user, pteron_status** status) {
  const pteron::GenerateOptions generate = options == nullptr ? session->defaults : changed(session->defaults, *options);
  const Result<pteron::Generation> made = session->session.generate(generate, [&](const pteron::TokenEvent& event) {
    if (on_text == nullptr || event.text.empty()) return pteron::Flow::go_on;
    return on_text(event.text.data(), event.text.size(), user) ? pteron::Flow::go_on : pteron::Flow::stop;
  });
  return report(made.status(), status) ? pteron::finish_reason_name(made->finish_reason).data() : nullptr;
}

}  // extern "C"
