// pteron chat: a conversation on the terminal, or through a pipe.
#include <cstdio>
#include <iostream>
#include <memory>

#include "pteron/llm.h"
#include "tools/line_editor.h"
#include "tools/session_options.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  EngineFlags engine;
  GenerateFlags generate;
  std::string system, when_full = "ask";
};

// The conversation and the session that has read it: a turn feeds only what is new, since the session is taken back to where the texts part.
class Conversation {
 public:
  Conversation(const Engine& engine, Session session, GenerateOptions options, std::string system)
      : engine_(engine), session_(std::move(session)), options_(std::move(options)), system_(std::move(system)) {
    clear();
  }

  void clear() {
    Json messages = Json::array();
    if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
    set_messages(std::move(messages));
  }

  void say(const std::string& text) { messages_.push_back({{"role", "user"}, {"content", text}}); }

  // Takes back the last exchange, question and answer.
  bool undo() {
    bool any = false;
    while (!messages_.empty() && messages_.back()["role"] != "system") {
      const bool question = messages_.back()["role"] == "user";
      messages_.erase(messages_.size() - 1);
      any = true;
      if (question) break;
    }
    last_turn_.reset();
    return any;
  }

  // Drops the oldest exchange behind the system message.
  bool forget_oldest() {
    const size_t first = first_exchange();
    if (messages_.size() < first + 3) return false;
    messages_.erase(first);
    while (messages_.size() > first && messages_[first]["role"] != "user") messages_.erase(first);
    return true;
  }

  Result<std::vector<TokenId>> encode() const { return encode(messages_, true); }

  // How many tokens the last message alone would be, behind the system message.
  Result<size_t> last_alone() const {
    Json alone = Json::array();
    if (first_exchange() > 0) alone.push_back(messages_.front());
    alone.push_back(messages_.back());
    const Result<std::vector<TokenId>> ids = encode(alone, true);
    if (!ids.ok()) return ids.status();
    return ids->size();
  }

  // Tokens of the conversation as it stands, whatever was read of it.
  size_t length() const {
    if (messages_.size() == first_exchange()) return 0;
    const Result<std::vector<TokenId>> ids = encode(messages_, false);
    return ids.ok() ? ids->size() : 0;
  }

  // Answers; `print` sees the text as it comes. What was read before is kept as far as it is the same.
  Result<Generation> answer(const std::vector<TokenId>& ids, const OnToken& print) {
    size_t same = 0;
    const std::span<const TokenId> read = session_.tokens();
    while (same < read.size() && same + 1 < ids.size() && read[same] == ids[same]) ++same;
    if (const Status status = session_.rewind(same); !status.ok()) {
      if (const Status reset = session_.reset(); !reset.ok()) return reset;  // a ring has lost the keys: read all again
      same = 0;
    }
    const Result<LogitsView> logits = session_.append(std::span(ids).subspan(same), [](size_t, size_t) { return !interrupted(); });
    if (!logits.ok()) return logits.status();
    Result<Generation> made = session_.generate(options_, print);
    if (made.ok()) {
      messages_.push_back({{"role", "assistant"}, {"content", made->text}});
      last_turn_ = {ids.size() - same, made->tokens.size(), made->decode};
    }
    return made;
  }

  struct Turn {
    size_t read = 0, written = 0;
    std::chrono::nanoseconds decode{0};
  };

  size_t capacity() const { return session_.capacity(); }
  const Json& messages() const { return messages_; }
  void set_messages(Json messages) {
    messages_ = std::move(messages);
    last_turn_.reset();
  }
  // What the last answer took; nothing where it was taken back.
  const std::optional<Turn>& last_turn() const { return last_turn_; }

 private:
  size_t first_exchange() const { return !messages_.empty() && messages_.front()["role"] == "system" ? 1 : 0; }
  Result<std::vector<TokenId>> encode(const Json& messages, bool open_answer) const { return engine_.encode_chat(Json{{"messages", messages}}.dump(), open_answer); }

  const Engine& engine_;
  Session session_;
  GenerateOptions options_;
  std::string system_;
  Json messages_;
  std::optional<Turn> last_turn_;
};

constexpr char kHelp[] =
    "/reset       forget the conversation\n/undo        take back the last question and its answer\n/save FILE   write the conversation as JSON\n"
    "/load FILE   read one back\n/stats       tokens and speed\n/quit        leave (so does the end of input)\n";

// Saves and loads conversations as {"messages": [...]}, the form that `pteron template` takes.
Status save(const Conversation& talk, const std::string& path) {
  return write_output(path, Json{{"messages", talk.messages()}}.dump(1) + "\n");
}

Status load(Conversation& talk, const std::string& path) {
  const Result<std::string> text = read_input(path);
  if (!text.ok()) return text.status();
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array()) {
    return Status::error(Code::invalid_data, "no conversation", {.file = path, .field = "messages", .expected = "a list", .found = {}});
  }
  for (const Json& message : json["messages"]) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string() || !message.contains("content")) {
      return Status::error(Code::invalid_data, "no conversation", {.file = path, .field = "messages", .expected = "objects with role and content", .found = message.dump().substr(0, 40)});
    }
  }
  talk.set_messages(json["messages"]);
  return {};
}

void report(const Status& status) { std::fprintf(stderr, "pteron: %s\n", status.message().c_str()); }

void print_stats(const Conversation& talk) {
  std::fprintf(stderr, "%zu of %zu tokens", talk.length(), talk.capacity());
  if (const auto& turn = talk.last_turn()) {
    const double seconds = std::chrono::duration<double>(turn->decode).count();
    std::fprintf(stderr, "; last turn read %zu and wrote %zu", turn->read, turn->written);
    if (seconds > 0 && turn->written > 1) std::fprintf(stderr, " at %.1f tokens/s", static_cast<double>(turn->written - 1) / seconds);
  }
  std::fputc('\n', stderr);
}

// Handles a line that begins with a slash. Returns false to leave.
bool command(Conversation& talk, const std::string& line) {
  const size_t space = line.find(' ');
  const std::string word = line.substr(0, space), rest = space == std::string::npos ? "" : line.substr(line.find_first_not_of(' ', space));
  if (word == "/quit" || word == "/exit") return false;
  if (word == "/reset") {
    talk.clear();
    std::fprintf(stderr, "started anew\n");
  } else if (word == "/undo") std::fprintf(stderr, talk.undo() ? "taken back\n" : "nothing to take back\n");
  else if (word == "/stats") print_stats(talk);
  else if ((word == "/save" || word == "/load") && rest.empty()) std::fprintf(stderr, "%s needs a file name\n", word.c_str());
  else if (word == "/save" || word == "/load") {
    const Status status = word == "/save" ? save(talk, rest) : load(talk, rest);
    if (!status.ok()) report(status);
    else std::fprintf(stderr, "%zu messages %s %s\n", talk.messages().size(), word == "/save" ? "written to" : "read from", rest.c_str());
  } else if (word == "/help") std::fputs(kHelp, stderr);
  else std::fprintf(stderr, "unknown command %s\n%s", word.c_str(), kHelp);
  return true;
}

enum class Outcome { answered, refused, full };  // what was refused, and that the context is full, has been said

// What to do about a full context; --when-full may leave it to the person, if there is one.
std::string choose(LineEditor& editor, const std::string& when_full) {
  if (when_full != "ask") return when_full;
  while (editor.interactive()) {
    const std::optional<std::string> said = editor.read("forget the (o)ldest exchange, (r)eset, or (s)top? ");
    if (!said) break;
    const char key = said->empty() ? '\0' : (*said)[0];
    if (key == 'o' || key == 'e') return "evict";
    if (key == 'r') return "reset";
    if (key == 's') break;
  }
  return "stop";
}

// A full context is met in the open: the person (or --when-full) decides. `ids` are the ones to read afterwards.
Outcome make_room(Conversation& talk, LineEditor& editor, std::vector<TokenId>& ids, const std::string& when_full) {
  if (ids.size() < talk.capacity()) return Outcome::answered;
  if (const Result<size_t> alone = talk.last_alone(); alone.ok() && *alone >= talk.capacity()) {
    std::fprintf(stderr, "pteron: the message alone has %zu tokens and the context %zu; it was not asked\n", *alone, talk.capacity());
    return Outcome::refused;  // no use in forgetting anything
  }
  std::fprintf(stderr, "the conversation has %zu tokens and the context %zu\n", ids.size(), talk.capacity());
  std::string choice = choose(editor, when_full);
  while (ids.size() >= talk.capacity()) {
    if (choice == "evict" && talk.forget_oldest()) {
      std::fprintf(stderr, "forgot the oldest exchange\n");
    } else if (choice == "reset") {
      const std::string question = talk.messages().back()["content"];
      talk.clear();
      talk.say(question);
      std::fprintf(stderr, "started anew\n");
      choice = "stop";  // there is no more to give up
    } else {
      std::fprintf(stderr, "pteron: the context is full; the question was not asked\n");
      return Outcome::full;
    }
    Result<std::vector<TokenId>> again = talk.encode();
    if (!again.ok()) {
      report(again.status());
      return Outcome::refused;
    }
    ids = std::move(*again);
  }
  return Outcome::answered;
}

// One question and its answer.
Outcome turn(const Context& context, Conversation& talk, LineEditor& editor, const std::string& text, const std::string& when_full) {
  if (const Status status = check_utf8("message", text); !status.ok()) {
    report(status);
    return Outcome::refused;
  }
  talk.say(text);
  Result<std::vector<TokenId>> ids = talk.encode();
  if (!ids.ok()) {
    talk.undo();
    report(ids.status());
    return Outcome::refused;
  }
  if (const Outcome room = make_room(talk, editor, *ids, when_full); room != Outcome::answered) {
    talk.undo();
    return room;
  }
  const auto show = [&context](std::string_view piece) {
    if (context.json) return;  // the whole conversation comes at its end
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
  };
  const Result<Generation> made = talk.answer(*ids, [&show](const TokenEvent& event) {
    show(event.text);
    return interrupted() ? Flow::stop : Flow::go_on;
  });
  show("\n");
  if (!made.ok()) {
    talk.undo();
    report(made.status());
    forget_interrupt();
    return Outcome::refused;
  }
  if (made->finish_reason == FinishReason::context) std::fprintf(stderr, "[the context is full: the answer stops here]\n");
  if (made->finish_reason == FinishReason::length && !context.quiet) std::fprintf(stderr, "[%zu tokens, the most that -n allows]\n", made->tokens.size());
  forget_interrupt();
  return Outcome::answered;
}

int run_chat(Context& context, const Options& options) {
  const Result<Engine> engine = load_engine(context, options.engine);
  if (!engine.ok()) return fail(context, engine.status());
  report_trust(context, *engine, options.engine);
  if (engine->chat_template() == nullptr || engine->tokenizer() == nullptr) {
    return fail(context, Status::error(Code::unsupported, "the program carries no chat template", {.file = options.engine.file, .field = "chat_template", .expected = "named data (export with --chat-template)", .found = "none"}));
  }
  if (const Status status = check_utf8("--system", options.system); !status.ok()) return fail(context, status);
  const Result<GenerateOptions> generate = generate_options(*engine, options.generate);
  if (!generate.ok()) return fail_usage(context, generate.status().message());
  Result<Session> session = engine->new_session();
  if (!session.ok()) return fail(context, session.status().in_file(options.engine.file));
  catch_interrupts();
  LineEditor editor;
  Conversation talk(*engine, std::move(*session), *generate, options.system);
  bool all_answered = true;
  if (editor.interactive() && !context.quiet) std::fprintf(stderr, "/help lists the commands\n");
  while (const std::optional<std::string> line = terminated() ? std::nullopt : editor.read("> ")) {
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    if ((*line)[0] == '/') {
      if (!command(talk, *line)) break;
      continue;
    }
    const Outcome outcome = turn(context, talk, editor, *line, options.when_full);
    all_answered = all_answered && outcome == Outcome::answered;
    if (outcome == Outcome::full && !editor.interactive()) break;
  }
  if (context.json && print_json({{"messages", talk.messages()}}) != kDone) return kFailed;
  return all_answered || editor.interactive() ? kDone : kFailed;
}

}  // namespace

void add_chat(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("chat", "talk with a model");
  add_engine_options(verb, options->engine);
  verb.add_option("--system", options->system, "a system message");
  verb.add_option("--when-full", options->when_full, "what to do when the context is full: ask, evict the oldest exchange, reset or stop")
      ->check(CLI::IsMember({"ask", "evict", "reset", "stop"}))
      ->capture_default_str();
  add_generate_options(verb, options->generate);
  finish_verb(verb, context, "pteron chat smollm2.pte --system \"Answer in one sentence.\"", [&context, options] { return run_chat(context, *options); });
}

}  // namespace pteron::tools
