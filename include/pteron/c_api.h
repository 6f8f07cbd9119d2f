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

/* What a file's signature establishes under a policy. */
typedef struct pteron_trust {
  const char* state;     /* "unsigned", "unknown-key", "valid", "expired", "rolled-back" or "invalid" (static text); null where the file cannot be read */
  const char* algorithm; /* "ed25519", "ecdsa-p256" or "rsa-pss-3072" (static text); null where nothing says so */
  char key_id[17];       /* 16 hex digits: who signed, or claims to have; "" where nothing says so */
  bool has_signed_at;
  bool has_not_after;
  int64_t signed_at; /* seconds since 1970 */
  int64_t not_after;
  uint64_t counter;
  uint64_t program_bytes; /* size of the program, without its manifest */
} pteron_trust;

/* Checks a file, and the `data_count` .ptd files at `data` that belong to it, without opening it: whether the policy lets it through; if not, `status`
 * says why. `trust` may be null. A null policy is that of pteron_policy_new. */
bool pteron_check(const char* path, const pteron_policy* policy, const char* const* data, size_t data_count, pteron_trust* trust, pteron_status** status);

/* --- Programs --- */

/* `data` are `data_count` paths of .ptd files that belong to the program. */
pteron_program* pteron_program_open(const char* path, const pteron_policy* policy, const char* const* data, size_t data_count, pteron_status** status);
/* The same over bytes in memory, aligned to 16, which stay in place and unchanged as long as the program and its methods. */
pteron_program* pteron_program_from_bytes(const void* bytes, size_t size, const pteron_policy* policy, pteron_status** status);
void pteron_program_free(pteron_program* program);
/* What was established when the program was opened. */
pteron_trust pteron_program_trust(const pteron_program* program);
size_t pteron_program_method_count(const pteron_program* program);
const char* pteron_program_method_name(const pteron_program* program, size_t index);
/* The JSON object of `pteron inspect --json`; freed with pteron_text_free. */
char* pteron_program_describe(const pteron_program* program);
void pteron_text_free(char* text);

/* Bytes that the program carries beside its methods (a tokenizer, a chat template), in place; null with `not_found`. */
const void* pteron_program_named_data(const pteron_program* program, const char* key, size_t* size, pteron_status** status);

/* A tensor in memory that somebody else owns, row-major. dtype is ExecuTorch's number (float32 is 6, int64 is 4, ...). */
typedef struct pteron_tensor {
  int32_t dtype;
  size_t rank;
  const int32_t* sizes;
  void* data;
  size_t nbytes;
} pteron_tensor;

typedef enum pteron_kind {
  PTERON_NONE = 0,
  PTERON_TENSOR = 1,
  PTERON_STRING = 2,
  PTERON_DOUBLE = 3,
  PTERON_INT = 4,
  PTERON_BOOL = 5,
  PTERON_LIST = 6
} pteron_kind;

/* The method keeps its program alive. threads 0: the cores that this process may use. */
pteron_method* pteron_method_load(const pteron_program* program, const char* name, size_t threads, pteron_status** status);
void pteron_method_free(pteron_method* method);
size_t pteron_method_input_count(const pteron_method* method);
size_t pteron_method_output_count(const pteron_method* method);
/* What an input or output is; PTERON_NONE for an index that there is not. For a tensor `tensor` (may be null) gets its dtype, its sizes (the largest
 * that it can have) and its bytes, and no data. */
pteron_kind pteron_method_input(const pteron_method* method, size_t index, pteron_tensor* tensor);
pteron_kind pteron_method_output_kind(const pteron_method* method, size_t index, pteron_tensor* tensor);
/* Planned inputs are copied; others are used in place and must stay valid until replaced. */
bool pteron_method_set_input(pteron_method* method, size_t index, const pteron_tensor* tensor, pteron_status** status);
bool pteron_method_set_input_int(pteron_method* method, size_t index, int64_t value, pteron_status** status);
bool pteron_method_set_input_double(pteron_method* method, size_t index, double value, pteron_status** status);
bool pteron_method_set_input_bool(pteron_method* method, size_t index, bool value, pteron_status** status);
bool pteron_method_set_input_string(pteron_method* method, size_t index, const char* value, pteron_status** status);
bool pteron_method_set_input_none(pteron_method* method, size_t index, pteron_status** status);
/* Makes the tensor's memory that of an unplanned output. */
bool pteron_method_bind_output(pteron_method* method, size_t index, const pteron_tensor* tensor, pteron_status** status);
/* Gives memory to every unplanned output that has none. */
bool pteron_method_allocate_outputs(pteron_method* method, pteron_status** status);
bool pteron_method_execute(pteron_method* method, pteron_status** status);
/* An output after execute; sizes, data and text are valid until the next call on the method. */
bool pteron_method_output(const pteron_method* method, size_t index, pteron_tensor* tensor, pteron_status** status);
bool pteron_method_output_int(const pteron_method* method, size_t index, int64_t* value, pteron_status** status);
bool pteron_method_output_double(const pteron_method* method, size_t index, double* value, pteron_status** status);
bool pteron_method_output_bool(const pteron_method* method, size_t index, bool* value, pteron_status** status);
const char* pteron_method_output_string(const pteron_method* method, size_t index, size_t* size, pteron_status** status);
/* Planned memory as it was at load. */
bool pteron_method_reset(pteron_method* method, pteron_status** status);

/* --- Language models --- */

pteron_engine* pteron_engine_load(const char* path, const pteron_policy* policy, const char* const* data, size_t data_count, size_t threads, pteron_status** status);
void pteron_engine_free(pteron_engine* engine);
size_t pteron_engine_context_length(const pteron_engine* engine);
size_t pteron_engine_vocab_size(const pteron_engine* engine);
/* Token ids of a text, as the model expects it. Returns their number, and writes at most `capacity` of them. 0 is an error or an empty text. */
size_t pteron_engine_encode(const pteron_engine* engine, const char* text, int32_t* ids, size_t capacity, pteron_status** status);
/* The same for a chat: a JSON object with `messages`. */
size_t pteron_engine_encode_chat(const pteron_engine* engine, const char* variables_json, int32_t* ids, size_t capacity, pteron_status** status);
/* The text of token ids, without special tokens; freed with pteron_text_free. */
char* pteron_engine_decode(const pteron_engine* engine, const int32_t* ids, size_t count, pteron_status** status);

/* The session keeps what it needs of the engine alive. */
pteron_session* pteron_session_new(const pteron_engine* engine, pteron_status** status);
void pteron_session_free(pteron_session* session);
size_t pteron_session_position(const pteron_session* session);
size_t pteron_session_capacity(const pteron_session* session);
bool pteron_session_can_append(const pteron_session* session, size_t tokens);
/* The committed tokens, as many as the position; valid until the next call on the session. */
const int32_t* pteron_session_tokens(const pteron_session* session);
/* Commits tokens; the logits of the last one, float32 [vocab_size], valid until the next call on the session. */
const float* pteron_session_append(pteron_session* session, const int32_t* ids, size_t count, pteron_status** status);
bool pteron_session_rewind(pteron_session* session, size_t position, pteron_status** status);
/* Takes the tokens from `from` up to `to` out; those behind them move down. */
bool pteron_session_evict(pteron_session* session, size_t from, size_t to, pteron_status** status);
bool pteron_session_reset(pteron_session* session, pteron_status** status);
bool pteron_session_snapshot(const pteron_session* session, const char* path, pteron_status** status);
bool pteron_session_restore(pteron_session* session, const char* path, pteron_status** status);
pteron_session* pteron_session_fork(const pteron_session* session, pteron_status** status);
/* From any thread: ends what is running at the next token, or else the next call. */
void pteron_session_cancel(pteron_session* session);

/* How to sample and when to stop: take them from pteron_session_defaults and change what should be otherwise. */
typedef struct pteron_generate_options {
  size_t max_tokens;
  size_t min_tokens;
  double temperature; /* 0: the best token */
  int64_t top_k;      /* 0: off */
  double top_p;       /* 1: off */
  double min_p;       /* 0: off */
  double typical_p;   /* 1: off */
  double repetition_penalty; /* 1: off */
  double frequency_penalty;  /* 0: off */
  double presence_penalty;   /* 0: off */
  uint64_t seed;
  const char* const* stop; /* `stop_count` texts that end the generation and are no part of its text */
  size_t stop_count;
  uint64_t time_limit_ms; /* 0: none */
  size_t lookup;          /* most tokens to guess by prompt lookup; 0: off */
  bool ignore_eos;
} pteron_generate_options;

/* What the file's generation config asks for. */
pteron_generate_options pteron_session_defaults(const pteron_session* session);

/* Called for each piece of text, `size` bytes, not terminated; false stops. Not called after pteron_session_generate returns. */
typedef bool (*pteron_on_text)(const char* text, size_t size, void* user);

/* Continues from what was appended. Null options are those of pteron_session_defaults. Returns "stop", "length", "context" or "cancelled" (static text), or null on an error. */
const char* pteron_session_generate(pteron_session* session, const pteron_generate_options* options, pteron_on_text on_text, void* user, pteron_status** status);

#ifdef __cplusplus
}
#endif

#endif
