/* The C interface from C11: check, open, methods, generation, and every way in which they fail.
 *
 *   pteron_c_api_test DATA MODEL SIGNED SCRATCH
 *
 * DATA is tests/data, MODEL a tiny language model with a tokenizer and a template, SIGNED the same signed by manifest/ed25519.key.pem, SCRATCH a folder.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pteron/c_api.h"

static int failures = 0;

#define EXPECT(condition)                                                        \
  do {                                                                           \
    if (!(condition)) {                                                          \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
      ++failures;                                                                \
    }                                                                            \
  } while (0)

#define EXPECT_TEXT(found, expected)                                                              \
  do {                                                                                            \
    const char* text_found = (found);                                                             \
    if (text_found == NULL || strcmp(text_found, (expected)) != 0) {                              \
      fprintf(stderr, "%s:%d: '%s' is not '%s'\n", __FILE__, __LINE__, text_found ? text_found : "(null)", (expected)); \
      ++failures;                                                                                 \
    }                                                                                             \
  } while (0)

static const char *data_folder, *model_path, *signed_path, *scratch;

static const char* join(const char* folder, const char* name) {
  static char buffers[4][4096];
  static int next = 0;
  char* out = buffers[next++ % 4];
  snprintf(out, sizeof buffers[0], "%s/%s", folder, name);
  return out;
}

/* The error is of that code and has these parts; frees it. */
static void expect_error(int line, pteron_status* status, const char* code, const char* file, const char* field) {
  if (status == NULL) {
    fprintf(stderr, "%d: no error, expected %s\n", line, code);
    ++failures;
    return;
  }
  EXPECT_TEXT(pteron_status_code(status), code);
  EXPECT(strlen(pteron_status_message(status)) > 0 && strchr(pteron_status_message(status), '\n') == NULL);
  if (file != NULL) EXPECT_TEXT(pteron_status_file(status), file);
  if (field != NULL) EXPECT_TEXT(pteron_status_field(status), field);
  pteron_status_free(status);
}

static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char* bytes = aligned_alloc(16, (*size + 15) / 16 * 16 + 16);
  if (fread(bytes, 1, *size, file) != *size) *size = 0;
  fclose(file);
  return bytes;
}

static pteron_policy* trusting(const char* key) {
  pteron_policy* policy = pteron_policy_new();
  size_t size = 0;
  char* pem = read_file(join(data_folder, key), &size);
  pteron_status* status = NULL;
  EXPECT(pem != NULL && pteron_policy_trust(policy, pem, size, &status));
  EXPECT(status == NULL);
  free(pem);
  return policy;
}

static void test_success_has_no_error(void) {
  EXPECT_TEXT(pteron_status_code(NULL), "ok");
  EXPECT_TEXT(pteron_status_message(NULL), "");
  EXPECT_TEXT(pteron_status_expected(NULL), "");
  pteron_status_free(NULL);
  pteron_policy_free(NULL);
  pteron_program_free(NULL);
  pteron_method_free(NULL);
  pteron_engine_free(NULL);
  pteron_session_free(NULL);
  pteron_text_free(NULL);
  EXPECT(strlen(pteron_version()) >= 5);
}

static void test_check(void) {
  pteron_trust trust;
  pteron_status* status = NULL;
  EXPECT(pteron_check(model_path, NULL, NULL, 0, &trust, &status) && status == NULL);
  EXPECT_TEXT(trust.state, "unsigned");
  EXPECT(trust.algorithm == NULL && trust.key_id[0] == '\0' && !trust.has_signed_at && !trust.has_not_after);
  const uint64_t program_bytes = trust.program_bytes;
  EXPECT(pteron_check(signed_path, NULL, NULL, 0, &trust, NULL));
  EXPECT_TEXT(trust.state, "unknown-key");

  pteron_policy* policy = trusting("manifest/ed25519.pub.pem");
  pteron_policy_require_signed(policy, true);
  EXPECT(pteron_check(signed_path, policy, NULL, 0, &trust, NULL));
  EXPECT_TEXT(trust.state, "valid");
  EXPECT_TEXT(trust.algorithm, "ed25519");
  EXPECT(strlen(trust.key_id) == 16 && trust.counter == 0 && trust.program_bytes == program_bytes);
  EXPECT(!pteron_check(model_path, policy, NULL, 0, &trust, &status));
  expect_error(__LINE__, status, "refused", model_path, "manifest");
  EXPECT_TEXT(trust.state, "unsigned");
  EXPECT(pteron_engine_load(model_path, policy, NULL, 0, 1, &status) == NULL);
  expect_error(__LINE__, status, "refused", model_path, NULL);
  pteron_policy_copy(policy, true);
  pteron_policy_allow_expired(policy, true);
  pteron_engine* engine = pteron_engine_load(signed_path, policy, NULL, 0, 1, &status);
  EXPECT(engine != NULL && status == NULL);
  pteron_engine_free(engine);
  pteron_program* program = pteron_program_open(signed_path, policy, NULL, 0, &status);
  EXPECT(program != NULL);
  EXPECT_TEXT(pteron_program_trust(program).state, "valid");
  EXPECT(pteron_program_trust(program).program_bytes == program_bytes);
  pteron_program_free(program);

  /* A data file that the signer did not list. */
  const char* data[] = {join(data_folder, "pte/valid/mlp.external_constants.ptd")};
  EXPECT(!pteron_check(signed_path, policy, data, 1, NULL, &status));
  expect_error(__LINE__, status, "refused", NULL, "external data mlp.external_constants.ptd");
  EXPECT(pteron_engine_load(signed_path, policy, data, 1, 1, &status) == NULL);
  expect_error(__LINE__, status, "refused", data[0], NULL);

  pteron_policy_minimum_counter(policy, 1);
  EXPECT(!pteron_check(signed_path, policy, NULL, 0, &trust, &status));
  expect_error(__LINE__, status, "refused", signed_path, NULL);
  EXPECT_TEXT(trust.state, "rolled-back");
  pteron_policy_free(policy);

  policy = trusting("manifest/other.pub.pem");
  EXPECT(pteron_program_open(signed_path, policy, NULL, 0, &status) == NULL);
  expect_error(__LINE__, status, "refused", signed_path, NULL);
  EXPECT(!pteron_policy_trust(policy, "no key", 6, &status));
  expect_error(__LINE__, status, "invalid_data", NULL, NULL);
  pteron_policy_free(policy);

  EXPECT(!pteron_check("nowhere.pte", NULL, NULL, 0, &trust, &status));
  expect_error(__LINE__, status, "not_found", "nowhere.pte", NULL);
  EXPECT(trust.state == NULL);
}

static void test_program(void) {
  pteron_status* status = NULL;
  const char* path = join(data_folder, "pte/valid/methods.constants.pte");
  pteron_program* program = pteron_program_open(path, NULL, NULL, 0, &status);
  EXPECT(program != NULL && status == NULL);
  EXPECT(pteron_program_method_count(program) == 9);
  EXPECT_TEXT(pteron_program_method_name(program, 0), "forward");
  EXPECT(pteron_program_method_name(program, 9) == NULL);
  char* description = pteron_program_describe(program);
  EXPECT(description != NULL && description[0] == '{');
  pteron_text_free(description);

  pteron_method* method = pteron_method_load(program, "get_max_seq_len", 1, NULL);
  int64_t integer = 0;
  double number = 0;
  bool boolean = false;
  size_t size = 0;
  EXPECT(pteron_method_output_kind(method, 0, NULL) == PTERON_INT);
  EXPECT(pteron_method_execute(method, NULL) && pteron_method_output_int(method, 0, &integer, NULL) && integer == 128);
  EXPECT(!pteron_method_output_double(method, 0, &number, &status));
  expect_error(__LINE__, status, "invalid_argument", NULL, NULL);
  pteron_method_free(method);
  method = pteron_method_load(program, "get_scale", 1, NULL);
  EXPECT(pteron_method_execute(method, NULL) && pteron_method_output_double(method, 0, &number, NULL) && number == 0.125);
  pteron_method_free(method);
  method = pteron_method_load(program, "use_kv_cache", 1, NULL);
  EXPECT(pteron_method_execute(method, NULL) && pteron_method_output_bool(method, 0, &boolean, NULL) && boolean);
  pteron_method_free(method);
  method = pteron_method_load(program, "get_name", 1, NULL);
  EXPECT(pteron_method_execute(method, NULL));
  const char* name = pteron_method_output_string(method, 0, &size, NULL);
  EXPECT(name != NULL && size == strlen("tiny é") && memcmp(name, "tiny é", size) == 0);
  pteron_method_free(method);

  EXPECT(pteron_method_load(program, "backward", 1, &status) == NULL);
  expect_error(__LINE__, status, "not_found", NULL, NULL);
  EXPECT(pteron_program_named_data(program, "nothing", &size, &status) == NULL);
  expect_error(__LINE__, status, "not_found", NULL, NULL);
  pteron_program_free(program);

  EXPECT(pteron_program_open(join(data_folder, "pte/negative/truncated_0.pte"), NULL, NULL, 0, &status) == NULL);
  expect_error(__LINE__, status, "invalid_data", join(data_folder, "pte/negative/truncated_0.pte"), NULL);
  EXPECT(pteron_program_open("nowhere.pte", NULL, NULL, 0, NULL) == NULL); /* nobody wants to know why */
}

static void test_external_data_and_bytes(void) {
  pteron_status* status = NULL;
  const char* path = join(data_folder, "pte/valid/mlp.external_constants.pte");
  const char* data[1] = {join(data_folder, "pte/valid/mlp.external_constants.ptd")};
  pteron_program* program = pteron_program_open(path, NULL, data, 1, &status);
  EXPECT(program != NULL && status == NULL);
  pteron_method* method = pteron_method_load(program, "forward", 1, &status);
  EXPECT(method != NULL && status == NULL);
  pteron_method_free(method);
  pteron_program_free(program);

  size_t size = 0;
  char* bytes = read_file(join(data_folder, "pte/valid/asm.constants_inline.pte"), &size);
  program = pteron_program_from_bytes(bytes, size, NULL, &status);
  EXPECT(program != NULL && status == NULL);
  pteron_program_free(program);
  EXPECT(pteron_program_from_bytes(bytes, 3, NULL, &status) == NULL);
  expect_error(__LINE__, status, "invalid_data", NULL, NULL);
  free(bytes);
}

static void test_method(void) {
  pteron_status* status = NULL;
  pteron_program* program = pteron_program_open(join(data_folder, "pte/valid/mlp.dynamic_unplanned_io.pte"), NULL, NULL, 0, NULL);
  pteron_method* method = pteron_method_load(program, "forward", 1, &status);
  EXPECT(method != NULL && status == NULL);
  pteron_program_free(program); /* the method keeps what it needs */
  EXPECT(pteron_method_input_count(method) == 1 && pteron_method_output_count(method) == 1);
  pteron_tensor slot;
  EXPECT(pteron_method_input(method, 0, &slot) == PTERON_TENSOR);
  EXPECT(slot.dtype == 6 && slot.rank == 2 && slot.sizes[0] == 6 && slot.sizes[1] == 8 && slot.nbytes == 192 && slot.data == NULL);
  EXPECT(pteron_method_input(method, 1, &slot) == PTERON_NONE);

  float values[48], bound[24] = {0};
  for (int i = 0; i < 48; ++i) values[i] = (float)(i % 7) / 7;
  const int32_t sizes[2] = {6, 8}, few[2] = {2, 8}, many[2] = {7, 8}, out_sizes[2] = {6, 4};
  pteron_tensor input = {6, 2, sizes, values, sizeof values};
  EXPECT(!pteron_method_execute(method, &status)); /* nothing was given yet */
  expect_error(__LINE__, status, "invalid_argument", NULL, NULL);
  EXPECT(pteron_method_set_input(method, 0, &input, NULL));
  EXPECT(pteron_method_allocate_outputs(method, NULL));
  EXPECT(pteron_method_execute(method, &status));
  pteron_tensor output;
  EXPECT(pteron_method_output(method, 0, &output, NULL));
  EXPECT(output.rank == 2 && output.sizes[0] == 6 && output.sizes[1] == 4 && output.nbytes == 96);
  float first[24];
  memcpy(first, output.data, sizeof first);

  pteron_tensor own = {6, 2, out_sizes, bound, sizeof bound};
  EXPECT(pteron_method_bind_output(method, 0, &own, &status));
  EXPECT(pteron_method_execute(method, NULL));
  EXPECT(memcmp(bound, first, sizeof bound) == 0);
  input.sizes = few;
  input.nbytes = 64;
  EXPECT(pteron_method_set_input(method, 0, &input, NULL) && pteron_method_execute(method, NULL));
  EXPECT(pteron_method_output(method, 0, &output, NULL) && output.sizes[0] == 2 && memcmp(output.data, first, 32) == 0);
  EXPECT(pteron_method_reset(method, NULL));

  input.sizes = many;
  EXPECT(!pteron_method_set_input(method, 0, &input, &status));
  expect_error(__LINE__, status, "out_of_capacity", NULL, "input 0");
  input.sizes = sizes;
  input.dtype = 4;
  EXPECT(!pteron_method_set_input(method, 0, &input, &status));
  expect_error(__LINE__, status, "invalid_argument", NULL, "input 0");
  EXPECT(!pteron_method_set_input_int(method, 0, 1, &status));
  expect_error(__LINE__, status, "invalid_argument", NULL, NULL);
  EXPECT(!pteron_method_set_input_double(method, 1, 1, &status));
  expect_error(__LINE__, status, "invalid_argument", NULL, NULL);
  EXPECT(!pteron_method_set_input_bool(method, 0, true, NULL));
  EXPECT(!pteron_method_set_input_string(method, 0, "text", NULL));
  EXPECT(!pteron_method_output(method, 1, &output, &status));
  expect_error(__LINE__, status, "invalid_argument", NULL, NULL);
  pteron_method_free(method);
}

typedef struct {
  char text[4096];
  size_t size;
  size_t most; /* stop after so many pieces; 0: never */
  size_t pieces;
  pteron_session* cancel; /* cancelled at the first piece */
} Heard;

static bool hear(const char* text, size_t size, void* user) {
  Heard* heard = user;
  memcpy(heard->text + heard->size, text, size);
  heard->size += size;
  heard->text[heard->size] = 0;
  if (heard->cancel != NULL) pteron_session_cancel(heard->cancel);
  return ++heard->pieces != heard->most;
}

static size_t encode(const pteron_engine* engine, const char* text, int32_t* ids, size_t capacity) {
  pteron_status* status = NULL;
  const size_t count = pteron_engine_encode(engine, text, ids, capacity, &status);
  EXPECT(status == NULL && count > 0 && count <= capacity);
  return count;
}

static void test_generation(const pteron_engine* engine) {
  pteron_status* status = NULL;
  int32_t ids[64];
  const size_t count = encode(engine, "the cat sat on", ids, 64);
  EXPECT(pteron_engine_encode(engine, "the cat sat on", ids, 1, NULL) == count);
  char* text = pteron_engine_decode(engine, ids, count, NULL);
  EXPECT_TEXT(text, "the cat sat on");
  pteron_text_free(text);

  pteron_session* session = pteron_session_new(engine, &status);
  EXPECT(session != NULL && status == NULL);
  EXPECT(pteron_session_generate(session, NULL, NULL, NULL, &status) == NULL);
  expect_error(__LINE__, status, "invalid_argument", NULL, "session");
  EXPECT(pteron_session_append(session, ids, count, NULL) != NULL);
  pteron_generate_options options = pteron_session_defaults(session);
  EXPECT(options.max_tokens == 256 && options.temperature == 0 && options.top_p == 1);
  options.max_tokens = 20;
  options.ignore_eos = true;
  Heard whole = {.size = 0};
  EXPECT_TEXT(pteron_session_generate(session, &options, hear, &whole, NULL), "length");
  EXPECT(whole.size > 0 && pteron_session_position(session) == count + 19);

  EXPECT(pteron_session_rewind(session, count - 1, NULL));
  EXPECT(pteron_session_append(session, ids + count - 1, 1, NULL) != NULL);
  Heard part = {.most = 2};
  EXPECT_TEXT(pteron_session_generate(session, &options, hear, &part, NULL), "cancelled");
  EXPECT(part.pieces == 2 && memcmp(part.text, whole.text, part.size) == 0);

  EXPECT(pteron_session_rewind(session, count - 1, NULL) && pteron_session_append(session, ids + count - 1, 1, NULL) != NULL);
  Heard cancelled = {.cancel = session};
  EXPECT_TEXT(pteron_session_generate(session, &options, hear, &cancelled, NULL), "cancelled");

  EXPECT(pteron_session_rewind(session, count - 1, NULL) && pteron_session_append(session, ids + count - 1, 1, NULL) != NULL);
  const char* stops[1] = {"~never~"};
  options.stop = stops;
  options.stop_count = 1;
  Heard same = {.size = 0};
  EXPECT_TEXT(pteron_session_generate(session, &options, hear, &same, NULL), "length");
  EXPECT_TEXT(same.text, whole.text);
  options.temperature = -1;
  EXPECT(pteron_session_generate(session, &options, hear, &same, &status) == NULL);
  expect_error(__LINE__, status, "invalid_argument", NULL, "temperature");
  pteron_session_free(session);
}

static void test_session(const pteron_engine* engine) {
  pteron_status* status = NULL;
  int32_t ids[64];
  const size_t count = encode(engine, "one two three four five", ids, 64), vocab = pteron_engine_vocab_size(engine);
  pteron_session* session = pteron_session_new(engine, NULL);
  EXPECT(pteron_session_capacity(session) == pteron_engine_context_length(engine));
  const float* logits = pteron_session_append(session, ids, count, NULL);
  float* kept = malloc(vocab * sizeof(float));
  memcpy(kept, logits, vocab * sizeof(float));
  EXPECT(pteron_session_position(session) == count && memcmp(pteron_session_tokens(session), ids, count * sizeof(int32_t)) == 0);
  EXPECT(pteron_session_can_append(session, 1) && !pteron_session_can_append(session, pteron_session_capacity(session)));

  const char* snapshot = join(scratch, "session");
  EXPECT(pteron_session_snapshot(session, snapshot, &status) && status == NULL);
  pteron_session* fork = pteron_session_fork(session, &status);
  EXPECT(fork != NULL && status == NULL && pteron_session_position(fork) == count);
  const int32_t next = 5;
  const float* expected = pteron_session_append(session, &next, 1, NULL);
  EXPECT(memcmp(pteron_session_append(fork, &next, 1, NULL), expected, vocab * sizeof(float)) == 0);
  pteron_session_free(fork);
  pteron_session* restored = pteron_session_new(engine, NULL);
  EXPECT(pteron_session_restore(restored, snapshot, NULL) && pteron_session_position(restored) == count);
  EXPECT(memcmp(pteron_session_append(restored, &next, 1, NULL), expected, vocab * sizeof(float)) == 0);
  EXPECT(!pteron_session_restore(restored, "nowhere", &status));
  expect_error(__LINE__, status, "not_found", "nowhere", NULL);
  pteron_session_free(restored);

  EXPECT(pteron_session_evict(session, 1, 3, NULL) && pteron_session_position(session) == count - 1);
  EXPECT(!pteron_session_evict(session, 3, 1, &status));
  expect_error(__LINE__, status, "invalid_argument", NULL, "range");
  EXPECT(!pteron_session_rewind(session, 1000, &status));
  expect_error(__LINE__, status, "invalid_argument", NULL, "position");
  const int32_t wrong = (int32_t)vocab;
  EXPECT(pteron_session_append(session, &wrong, 1, &status) == NULL);
  expect_error(__LINE__, status, "invalid_argument", NULL, "tokens[0]");
  EXPECT(pteron_session_reset(session, NULL) && pteron_session_position(session) == 0);
  EXPECT(memcmp(pteron_session_append(session, ids, count, NULL), kept, vocab * sizeof(float)) == 0);
  EXPECT(!pteron_session_snapshot(session, "/nowhere/at/all", &status));
  expect_error(__LINE__, status, "not_found", NULL, NULL);
  free(kept);
  pteron_session_free(session);
}

static void test_engine(void) {
  pteron_status* status = NULL;
  pteron_engine* engine = pteron_engine_load(model_path, NULL, NULL, 0, 1, &status);
  EXPECT(engine != NULL && status == NULL);
  if (engine == NULL) return;
  int32_t ids[256];
  EXPECT(pteron_engine_encode_chat(engine, "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}", ids, 256, &status) > 0 && status == NULL);
  EXPECT(pteron_engine_encode_chat(engine, "{", ids, 256, &status) == 0);
  expect_error(__LINE__, status, "invalid_argument", NULL, NULL);
  test_generation(engine);
  test_session(engine);
  pteron_session* session = pteron_session_new(engine, NULL);
  pteron_engine_free(engine); /* the session keeps what it needs */
  const int32_t id = 1;
  EXPECT(pteron_session_append(session, &id, 1, NULL) != NULL);
  pteron_session_free(session);

  EXPECT(pteron_engine_load(join(data_folder, "pte/valid/bundled.mlp.pte"), NULL, NULL, 0, 1, &status) == NULL);
  expect_error(__LINE__, status, "not_found", join(data_folder, "pte/valid/bundled.mlp.pte"), NULL);
}

int main(int count, char** words) {
  if (count != 5) {
    fprintf(stderr, "usage: %s DATA MODEL SIGNED SCRATCH\n", words[0]);
    return 2;
  }
  data_folder = words[1];
  model_path = words[2];
  signed_path = words[3];
  scratch = words[4];
  test_success_has_no_error();
  test_check();
  test_program();
  test_external_data_and_bytes();
  test_method();
  test_engine();
  if (failures > 0) fprintf(stderr, "%d expectations failed\n", failures);
  return failures > 0 ? 1 : 0;
}
