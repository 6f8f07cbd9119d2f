/* Continues a text: generate MODEL.pte TEXT */
#include <stdio.h>

#include "pteron/c_api.h"

enum { kMostTokens = 512 };

static bool print(const char* text, size_t size, void* user) {
  (void)user;
  return fwrite(text, 1, size, stdout) == size;
}

static int fail(pteron_status* status) {
  fprintf(stderr, "generate: %s\n", pteron_status_message(status));
  pteron_status_free(status);
  return 1;
}

int main(int count, char** words) {
  if (count != 3) return fprintf(stderr, "usage: generate MODEL.pte TEXT\n"), 2;
  pteron_status* status = NULL;
  pteron_engine* engine = pteron_engine_load(words[1], NULL, NULL, 0, 0, &status);
  if (engine == NULL) return fail(status);
  pteron_session* session = pteron_session_new(engine, &status);
  if (session == NULL) return fail(status);

  int32_t ids[kMostTokens];
  const size_t tokens = pteron_engine_encode(engine, words[2], ids, kMostTokens, &status);
  if (tokens == 0 || tokens > kMostTokens) return fail(status);
  pteron_generate_options options = pteron_session_defaults(session);
  options.max_tokens = 32;
  const char* reason = NULL;
  if (pteron_session_append(session, ids, tokens, &status) != NULL) reason = pteron_session_generate(session, &options, print, NULL, &status);
  if (reason == NULL) return fail(status);
  printf("\n[%s]\n", reason);
  pteron_session_free(session);
  pteron_engine_free(engine);
  return 0;
}
