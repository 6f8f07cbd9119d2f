// pteron template: renders a chat template.
#include <cstdio>
#include <memory>

#include "pteron/llm.h"
#include "pteron/program.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  std::string file, messages, now, bos, eos;
  bool no_generation_prompt = false;
};

bool ends_with(const std::string& text, std::string_view end) { return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0; }

// The template's source: the file itself, or what a program carries; a program also brings its BOS and EOS tokens.
Result<std::string> template_source(const Options& options, TemplateOptions& render) {
  if (ends_with(options.file, ".jinja") || ends_with(options.file, ".txt") || options.file == "-") return read_input(options.file);
  Result<Program> program = Program::open(options.file);
  if (!program.ok()) return program.status();
  const Result<std::span<const std::byte>> data = program->named_data("chat_template");
  if (!data.ok()) return data.status().in_file(options.file);
  if (const Result<Tokenizer> tokenizer = Tokenizer::open(options.file); tokenizer.ok()) {
    if (render.bos_token.empty() && tokenizer->bos()) render.bos_token = tokenizer->piece(*tokenizer->bos());
    if (render.eos_token.empty() && tokenizer->eos()) render.eos_token = tokenizer->piece(*tokenizer->eos());
  }
  return std::string(reinterpret_cast<const char*>(data->data()), data->size());
}

// A template's error says its line, also as a number for machines.
int fail_template(const Context& context, const Status& status) {
  if (!context.json) return fail(context, status);
  std::fprintf(stderr, "pteron: %s\n", status.message().c_str());
  Json error = {{"code", code_name(status.code())}, {"message", status.message()}};
  const Detail& detail = status.detail();
  if (!detail.file.empty()) error["file"] = detail.file;
  if (!detail.field.empty()) error["field"] = detail.field;
  int line = 0;
  if (std::sscanf(detail.field.c_str(), "line %d", &line) == 1) error["line"] = line;
  print_json({{"error", std::move(error)}});
  return kFailed;
}

int run_template(Context& context, const Options& options) {
  TemplateOptions render;
  render.bos_token = options.bos;
  render.eos_token = options.eos;
  render.add_generation_prompt = !options.no_generation_prompt;
  if (!options.now.empty()) render.now = options.now;
  const Result<std::string> source = template_source(options, render);
  if (!source.ok()) return fail(context, source.status());
  const Result<std::string> variables = read_input(options.messages);
  if (!variables.ok()) return fail(context, variables.status());
  const Result<ChatTemplate> parsed = ChatTemplate::parse(*source);
  if (!parsed.ok()) return fail_template(context, parsed.status().in_file(options.file));
  const Result<std::string> text = parsed->render(*variables, render);
  if (!text.ok() && text.status().detail().field == "now") return fail_usage(context, "template: --now: " + text.status().message());
  if (!text.ok() && text.code() == Code::invalid_argument) return fail(context, text.status().in_file(options.messages));
  if (!text.ok()) return fail_template(context, text.status().in_file(options.file));
  if (context.json) return print_json({{"text", *text}});
  std::fwrite(text->data(), 1, text->size(), stdout);
  return kDone;
}

}  // namespace

void add_template(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("template", "render a chat under a chat template");
  reads(verb.add_option("FILE", options->file, "a program with a template, or a .jinja file"))->required();
  reads(verb.add_option("--messages", options->messages, "JSON object with `messages`, optionally `tools` and other variables; - for standard input"))->required();
  verb.add_flag("--no-generation-prompt", options->no_generation_prompt, "do not open the assistant's turn");
  verb.add_option("--now", options->now, "time for strftime_now, as 2024-07-26T09:05:03");
  verb.add_option("--bos-token", options->bos, "what the template sees as bos_token (the program's)");
  verb.add_option("--eos-token", options->eos, "what the template sees as eos_token (the program's)");
  finish_verb(verb, context, "pteron template smollm2.pte --messages chat.json", [&context, options] { return run_template(context, *options); });
}

}  // namespace pteron::tools
