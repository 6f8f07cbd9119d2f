// pteron run: continues a text, or answers a message under the file's chat template.
#include <chrono>
#include <cstdio>
#include <memory>

#include "pteron/llm.h"
#include "tools/session_options.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point start, Clock::time_point end) { return std::chrono::duration<double, std::milli>(end - start).count(); }

struct Options {
  EngineFlags engine;
  GenerateFlags generate;
  std::string prompt, prompt_file, tokens, system, save_session, load_session;
  std::string dash;  // "-": the prompt from standard input
  bool chat = false, echo = false, has_prompt = false, has_system = false;
};

Result<std::string> prompt_text(const Options& options) {
  if (options.has_prompt) return options.prompt;
  return read_input(options.prompt_file.empty() ? "-" : options.prompt_file);
}

Result<std::vector<TokenId>> prompt_tokens(const Engine& engine, const Options& options, std::string& text) {
  if (!options.tokens.empty()) return parse_tokens(options.tokens, engine.vocab_size());
  Result<std::string> read = prompt_text(options);
  if (!read.ok()) return read.status();
  text = std::move(*read);
  if (!options.chat) return engine.encode_prompt(text);
  for (const auto& [field, part] : {std::pair("--system", &options.system), std::pair("prompt", &std::as_const(text))}) {
    if (const Status status = check_utf8(field, *part); !status.ok()) return status;
  }
  Json messages = Json::array();
  if (options.has_system) messages.push_back({{"role", "system"}, {"content", options.system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  return engine.encode_chat(Json{{"messages", std::move(messages)}}.dump());
}

int run_once(Context& context, const Options& options) {
  const int sources = int(options.has_prompt) + int(!options.prompt_file.empty()) + int(!options.tokens.empty()) + int(!options.dash.empty());
  if (sources > 1) return fail_usage(context, "run: give one of -p, -f, - and --tokens");
  if (sources == 0 && options.load_session.empty()) return fail_usage(context, "run: a prompt is missing: -p TEXT, -f FILE, - or --tokens IDS");
  if (!options.dash.empty() && options.dash != "-") return fail_usage(context, "run: unexpected argument " + options.dash + " (a text goes after -p)");
  if (options.has_system && !options.chat) return fail_usage(context, "run: --system goes with --chat");
  if (options.chat && !options.tokens.empty()) return fail_usage(context, "run: --chat takes a text, not --tokens");

  const Clock::time_point load_start = Clock::now();
  Result<Engine> engine = load_engine(context, options.engine);
  if (!engine.ok()) return fail(context, engine.status());
  report_trust(context, *engine, options.engine);
  Result<Session> session = engine->new_session();
  if (!session.ok()) return fail(context, session.status().in_file(options.engine.file));
  const double load_ms = ms_between(load_start, Clock::now());

  std::string text;
  std::vector<TokenId> ids;
  if (sources > 0) {
    Result<std::vector<TokenId>> encoded = prompt_tokens(*engine, options, text);
    if (!encoded.ok()) return fail(context, encoded.status());
    ids = std::move(*encoded);
    if (ids.empty() && options.load_session.empty()) {
      return fail(context, Status::error(Code::invalid_argument, "the prompt is empty", {.file = {}, .field = "prompt", .expected = "at least one token", .found = "none"}));
    }
  }
  Result<GenerateOptions> generate = generate_options(*engine, options.generate);
  if (!generate.ok()) return fail_usage(context, generate.status().message());
  if (!options.load_session.empty()) {
    if (const Status status = session->restore(options.load_session); !status.ok()) return fail(context, status);
    if (const std::optional<TokenId> pending = session->pending(); pending && !ids.empty()) ids.insert(ids.begin(), *pending);
  }

  const Clock::time_point prefill_start = Clock::now();
  if (!ids.empty()) {
    const Result<LogitsView> logits = session->append(ids);
    if (!logits.ok()) return fail(context, logits.status());
  }
  const Clock::time_point prefill_end = Clock::now();

  catch_interrupts();
  const bool stream = !context.json;
  if (stream && options.echo) std::fwrite(text.data(), 1, text.size(), stdout);
  const Result<Generation> made = session->generate(*generate, [&](const TokenEvent& event) {
    if (stream) {
      std::fwrite(event.text.data(), 1, event.text.size(), stdout);
      std::fflush(stdout);
    }
    return interrupted() ? Flow::stop : Flow::go_on;
  });
  if (stream) std::printf("\n");
  if (!made.ok()) return fail(context, made.status());
  if (!options.save_session.empty()) {
    if (const Status status = session->snapshot(options.save_session); !status.ok()) return fail(context, status);
  }

  const auto to_ms = [](std::chrono::nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); };
  const size_t decoded = made->tokens.empty() ? 0 : made->tokens.size() - 1;
  const double prefill_ms = ms_between(prefill_start, prefill_end), decode_ms = to_ms(made->decode);
  if (context.json) {
    Json result = {{"prompt_tokens", ids}, {"tokens", made->tokens}, {"text", made->text}, {"finish_reason", finish_reason_name(made->finish_reason)}};
    result["stop_sequence"] = made->stop_sequence.empty() ? Json(nullptr) : Json(made->stop_sequence);
    result["timing"] = {{"load_ms", load_ms},     {"prefill_ms", prefill_ms}, {"prefill_tokens", ids.size()}, {"first_token_ms", prefill_ms + to_ms(made->first_token)},
                        {"decode_ms", decode_ms}, {"decode_tokens", decoded}};
    result["memory"] = {{"peak_rss_bytes", peak_rss_bytes()}, {"cache_bytes", engine->cache_bytes()}, {"arena_bytes", engine->arena_bytes()}};
    if (made->drafted > 0) result["lookup"] = {{"drafted", made->drafted}, {"accepted", made->accepted}};
    print_json(result);
  } else if (!context.quiet && (context.verbose > 0 || stderr_is_terminal())) {
    std::fprintf(stderr, "[%zu prompt tokens in %.0f ms, %zu tokens at %.1f/s, %.*s]\n", ids.size(), prefill_ms, made->tokens.size(),
                 decode_ms > 0 ? 1000.0 * static_cast<double>(decoded) / decode_ms : 0.0, static_cast<int>(finish_reason_name(made->finish_reason).size()),
                 finish_reason_name(made->finish_reason).data());
  }
  return interrupted() ? kInterrupted : kDone;
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("run", "continue a text, or answer a message with --chat");
  add_engine_options(verb, options->engine);
  verb.add_option("DASH", options->dash, "- reads the prompt from standard input");
  CLI::Option* prompt = verb.add_option("-p,--prompt", options->prompt, "the text to continue");
  reads(verb.add_option("-f,--file", options->prompt_file, "a file with the text"));
  verb.add_option("--tokens", options->tokens, "token ids instead of a text, comma-separated");
  verb.add_flag("--chat", options->chat, "the text is a user's message under the file's chat template");
  CLI::Option* system = verb.add_option("--system", options->system, "a system message, with --chat");
  verb.add_flag("--echo", options->echo, "print the prompt before its continuation");
  add_generate_options(verb, options->generate);
  writes(verb.add_option("--save-session", options->save_session, "write the session's state when done"));
  verb.add_option("--load-session", options->load_session, "continue from a saved session")->check(file_name());
  finish_verb(verb, context, "pteron run smollm2.pte -p \"The capital of France is\" -n 16", [&context, options, prompt, system] {
    options->has_prompt = prompt->count() > 0;
    options->has_system = system->count() > 0;
    return run_once(context, *options);
  });
}

}  // namespace pteron::tools
