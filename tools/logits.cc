// pteron logits: the logits of a token sequence, through the program's own methods.
#include <cstdio>
#include <memory>

#include "pteron/llm.h"
#include "pteron/tensor_file.h"
#include "tools/session_options.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  EngineFlags engine;
  std::string tokens, output;
  bool last = false;
};

int run_logits(Context& context, const Options& options) {
  Result<Engine> engine = load_engine(context, options.engine);
  if (!engine.ok()) return fail(context, engine.status());
  const Result<std::vector<TokenId>> ids = parse_tokens(options.tokens, engine->vocab_size());
  if (!ids.ok()) return fail(context, ids.status());
  Result<Session> session = engine->new_session();
  if (!session.ok()) return fail(context, session.status().in_file(options.engine.file));
  const size_t vocab = engine->vocab_size();
  std::vector<float> rows;
  if (options.last) {
    const Result<LogitsView> logits = session->append(*ids);
    if (!logits.ok()) return fail(context, logits.status());
    rows.assign(logits->begin(), logits->end());
  } else {
    const Status status = session->append_rows(*ids, [&](size_t, LogitsView logits) {
      rows.insert(rows.end(), logits.begin(), logits.end());
      return Status();
    });
    if (!status.ok()) return fail(context, status);
  }
  const int32_t sizes[] = {static_cast<int32_t>(rows.size() / vocab), static_cast<int32_t>(vocab)};
  const TensorView tensor{ScalarType::Float, sizes, {}, rows.data(), rows.size() * sizeof(float)};
  if (const Status status = write_tensor_file(options.output, {{"logits", tensor}}); !status.ok()) return fail(context, status);
  if (context.json) return print_json({{"shape", sizes}, {"output", options.output}});
  if (!context.quiet) std::fprintf(stderr, "wrote logits [%d, %d] to %s\n", sizes[0], sizes[1], options.output.c_str());
  return kDone;
}

}  // namespace

void add_logits(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("logits", "write the logits of a token sequence");
  add_engine_options(verb, options->engine);
  verb.add_option("--tokens", options->tokens, "token ids, comma-separated")->required();
  writes(verb.add_option("-o,--output", options->output, "safetensors file for `logits`, float32 [P, V]"))->required();
  verb.add_flag("--last", options->last, "of the last token only: [1, V]");
  finish_verb(verb, context, "pteron logits smollm2.pte --tokens 504,3575,282 -o logits.safetensors", [&context, options] { return run_logits(context, *options); });
}

}  // namespace pteron::tools
