/* pteron from C: check a file's signature, run any method of a program, generate text.
 *
 * Handles are opaque; each has one function that frees it, which accepts null. Functions return null or a failure code and, if `status` is not
 * null, store an error there that the caller frees with pteron_status_free (null on success). Text is UTF-8. Sizes are in bytes. What a
 * `const` pointer from a handle points to lives as long as the handle, unless a line says otherwise. A program and an engine may be shared by
 * threads; a method and a session are driven by one thread at a time (pteron_session_cancel may come from any).
 */
#ifndef PTERON_C_API_H
#define PTERON_C_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pteron_status pteron_status;
typedef struct pteron_policy pteron_policy;
typedef struct pteron_program pteron_program;
typedef struct pteron_method pteron_method;
typedef struct pteron_engine pteron_engine;
typedef struct pteron_session pteron_session;

/* "0.1.0" */
const char* pteron_version(void);

/* --- Errors --- */

/* The code's name ("not_found", "refused", ...), and the one-line message. */
const char* pteron_status_code(const pteron_status* status);
const char* pteron_status_message(const pteron_status* status);
/* Parts of the message, "" where there is none. */
const char* pteron_status_file(const pteron_status* status);
const char* pteron_status_field(const pteron_status* status);
const char* pteron_status_expected(const pteron_status* status);
const char* pteron_status_found(const pteron_status* status);
void pteron_status_free(pteron_status* status);

/* --- Policy: what is asked of a file before it is used --- */

/* No trusted keys, nothing required, files are mapped. */
pteron_policy* pteron_policy_new(void);
void pteron_policy_free(pteron_policy* policy);
/* Adds a public key in PEM text of `size` bytes. */
bool pteron_policy_trust(pteron_policy* policy, const char* pem, size_t size, pteron_status** status);
void pteron_policy_require_signed(pteron_policy* policy, bool require);
void pteron_policy_allow_expired(pteron_policy* policy, bool allow);
void pteron_policy_minimum_counter(pteron_policy* policy, uint64_t counter);
/* Copies files into private memory instead of mapping them. */
void pteron_policy_copy(pteron_policy* policy, bool copy);

/* What the file's signature establishes: "unsigned", "unknown-key", "valid", "expired", "rolled-back" or "invalid" (static text), and in `passes` whether
 * the policy lets it through. Null where the file cannot be read. A null policy is that of pteron_policy_new. */
const char* pteron_check(const char* path, const pteron_policy* policy, bool* passes, pteron_status** status);

/* --- Programs --- */

pteron_program* pteron_program_open(const char* path, const pteron_policy* policy, pteron_status** status);
void pteron_program_free(pteron_program* program);
size_t pteron_program_method_count(const pteron_program* program);
const char* pteron_program_method_name(const pteron_program* program, size_t index);
/* The JSON object of `pteron inspect --json`; freed with pteron_text_free. */
char* pteron_program_describe(const pteron_program* program);
void pteron_text_free(char* text);

/* A tensor in memory that somebody else owns. dtype is ExecuTorch's number (float32 is 6, int64 is 4, ...). */
typedef struct pteron_tensor {
  int32_t dtype;
  size_t rank;
  const int32_t* sizes;
  void* data;
  size_t nbytes;
} pteron_tensor;

/* The method keeps its program alive. threads 0: the cores that this process may use. */
pteron_method* pteron_method_load(const pteron_program* program, const char* name, size_t threads, pteron_status** status);
void pteron_method_free(pteron_method* method);
size_t pteron_method_input_count(const pteron_method* method);
size_t pteron_method_output_count(const pteron_method* method);
/* Planned inputs are copied; others are used in place and must stay valid until replaced. */
bool pteron_method_set_input(pteron_method* method, size_t index, const pteron_tensor* tensor, pteron_status** status);
bool pteron_method_set_input_int(pteron_method* method, size_t index, int64_t value, pteron_status** status);
bool pteron_method_set_input_double(pteron_method* method, size_t index, double value, pteron_status** status);
bool pteron_method_set_input_bool(pteron_method* method, size_t index, bool value, pteron_status** status);
/* Makes the tensor's memory that of an unplanned output. */
bool pteron_method_bind_output(pteron_method* method, size_t index, const pteron_tensor* tensor, pteron_status** status);
bool pteron_method_execute(pteron_method* method, pteron_status** status);
/* The output after execute; sizes and data are valid until the next call on the method. */
bool pteron_method_output(const pteron_method* method, size_t index, pteron_tensor* tensor, pteron_status** status);

/* --- Language models --- */

pteron_engine* pteron_engine_load(const char* path, const pteron_policy* policy, size_t threads, pteron_status** status);
void pteron_engine_free(pteron_engine* engine);
size_t pteron_engine_context_length(const pteron_engine* engine);
size_t pteron_engine_vocab_size(const pteron_engine* engine);
/* Token ids of a text, as the model expects it. Returns their number, and writes at most `capacity` of them. 0 is an error or an empty text. */
size_t pteron_engine_encode(const pteron_engine* engine, const char* text, int32_t* ids, size_t capacity, pteron_status** status);
/* The same for a chat: a JSON object with `messages`. */
size_t pteron_engine_encode_chat(const pteron_engine* engine, const char* variables_json, int32_t* ids, size_t capacity, pteron_status** status);

/* The session keeps what it needs of the engine alive. */
pteron_session* pteron_session_new(const pteron_engine* engine, pteron_status** status);
void pteron_session_free(pteron_session* session);
size_t pteron_session_position(const pteron_session* session);
/* Commits tokens; the logits of the last one, float32 [vocab_size], valid until the next call on the session. */
const float* pteron_session_append(pteron_session* session, const int32_t* ids, size_t count, pteron_status** status);
bool pteron_session_rewind(pteron_session* session, size_t position, pteron_status** status);
bool pteron_session_reset(pteron_session* session, pteron_status** status);
bool pteron_session_snapshot(const pteron_session* session, const char* path, pteron_status** status);
bool pteron_session_restore(pteron_session* session, const char* path, pteron_status** status);
pteron_session* pteron_session_fork(const pteron_session* session, pteron_status** status);
void pteron_session_cancel(pteron_session* session);

typedef struct pteron_generate_options {
  size_t max_tokens;          /* 0: 256 */
  double temperature;         /* below 0: what the file suggests */
  int64_t top_k;              /* below 0: what the file suggests */
  double top_p;               /* below 0: what the file suggests */
  uint64_t seed;
  const char* const* stop;    /* `stop_count` texts that end the generation */
  size_t stop_count;
} pteron_generate_options;

/* Called for each piece of text, `size` bytes, not terminated; false stops. Not called after pteron_session_generate returns. */
typedef bool (*pteron_on_text)(const char* text, size_t size, void* user);

/* Continues from what was appended. Returns "stop", "length", "context" or "cancelled" (static text), or null on an error. */
const char* pteron_session_generate(pteron_session* session, const pteron_generate_options* options, pteron_on_text on_text, void* user, pteron_status** status);

#ifdef __cplusplus
}
#endif

#endif
