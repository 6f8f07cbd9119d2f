// pteron tokenize: text to ids and back.
#include <cstdio>
#include <iostream>
#include <memory>

#include "pteron/llm.h"
#include "tools/session_options.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  std::string file;
  EncodeOptions encode;
  DecodeOptions decode_options;
  bool decode = false, lines = false, stream = false;
};

Json pieces_of(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  Json pieces = Json::array();
  for (TokenId id : ids) pieces.push_back(tokenizer.piece(id));
  return pieces;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The text that comes out after each id, null where nothing is complete yet.
Result<Json> stream_pieces(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, const DecodeOptions& options) {
  DecodeStream stream = tokenizer.stream(options);
  Json pieces = Json::array();
  for (TokenId id : ids) {
    Result<std::string> piece = stream.push(id);
    if (!piece.ok()) return piece.status();
    pieces.push_back(piece->empty() ? Json(nullptr) : Json(*piece));
  }
  return pieces;
}

Result<Json> answer_line(const Tokenizer& tokenizer, const Options& options, const std::string& line, size_t number) {
  const auto malformed = [&](const char* expected) {
    return Status::error(Code::invalid_argument, "malformed line", {.file = "-", .field = "line " + std::to_string(number), .expected = expected, .found = line.substr(0, 40)});
  };
  const Json value = Json::parse(line, nullptr, false);
  if (!options.decode) {
    if (!value.is_string()) return malformed("a JSON string");
    Result<std::vector<TokenId>> ids = tokenizer.encode(value.get<std::string>(), options.encode);
    if (!ids.ok()) return ids.status();
    return Json{{"ids", *ids}};
  }
  if (!value.is_array()) return malformed("a JSON list of ids");
  std::vector<TokenId> ids;
  for (const Json& id : value) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > INT32_MAX) return malformed("a JSON list of ids");
    ids.push_back(id.get<TokenId>());
  }
  if (options.stream) return stream_pieces(tokenizer, ids, options.decode_options);
  Result<std::string> text = tokenizer.decode(ids, options.decode_options);
  if (!text.ok()) return text.status();
  return Json(*text);
}

int run_lines(const Context& context, const Tokenizer& tokenizer, const Options& options) {
  std::string line;
  for (size_t number = 1; std::getline(std::cin, line); ++number) {
    if (line.empty()) continue;
    const Result<Json> answer = answer_line(tokenizer, options, line, number);
    if (!answer.ok()) return fail(context, answer.status());
    std::cout << dump(*answer) << "\n";
  }
  std::cout.flush();
  return kDone;
}

int run_decode(const Context& context, const Tokenizer& tokenizer, const Options& options, std::string input) {
  for (char& c : input) c = c == '\n' || c == '[' || c == ']' || c == '\t' || c == '\r' ? ' ' : c;
  while (!input.empty() && input.back() == ' ') input.pop_back();
  const Result<std::vector<TokenId>> ids = parse_tokens(input, tokenizer.vocab_size());
  if (!ids.ok()) return fail(context, ids.status());
  const Result<std::string> text = tokenizer.decode(*ids, options.decode_options);
  if (!text.ok()) return fail(context, text.status());
  if (context.json) return print_json({{"text", *text}, {"ids", *ids}, {"pieces", pieces_of(tokenizer, *ids)}});
  std::fwrite(text->data(), 1, text->size(), stdout);
  return kDone;
}

int run_tokenize(Context& context, const Options& options) {
  const Result<Tokenizer> tokenizer = Tokenizer::open(options.file);
  if (!tokenizer.ok()) return fail(context, tokenizer.status());
  if (options.stream && !(options.lines && options.decode)) return fail_usage(context, "tokenize: --stream goes with --jsonl and --decode");
  if (options.lines) return run_lines(context, *tokenizer, options);
  Result<std::string> input = read_input("-");
  if (!input.ok()) return fail(context, input.status());
  if (options.decode) return run_decode(context, *tokenizer, options, std::move(*input));
  const Result<std::vector<TokenId>> ids = tokenizer->encode(*input, options.encode);
  if (!ids.ok()) return fail(context, ids.status());
  if (context.json) return print_json({{"ids", *ids}, {"pieces", pieces_of(*tokenizer, *ids)}});
  for (size_t i = 0; i < ids->size(); ++i) std::printf(i == 0 ? "%d" : ",%d", (*ids)[i]);
  std::printf("\n");
  return kDone;
}

}  // namespace

void add_tokenize(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("tokenize", "text on standard input to ids, or back");
  reads(verb.add_option("FILE", options->file, "a program, a tokenizer.json, or a .gguf file"))->required();
  verb.add_flag("--parse-special", options->encode.parse_special, "recognise special tokens in the text");
  verb.add_flag("--add-special", options->encode.add_special, "add what the post-processor adds");
  verb.add_flag("--decode", options->decode, "ids to text");
  verb.add_flag("--skip-special", options->decode_options.skip_special, "leave special tokens out of the text");
  verb.add_flag("--jsonl", options->lines, "one JSON value a line, in and out");
  verb.add_flag("--stream", options->stream, "with --jsonl --decode: the text printed after each id");
  finish_verb(verb, context, "echo \"Hello world\" | pteron tokenize smollm2.pte --json", [&context, options] { return run_tokenize(context, *options); });
}

}  // namespace pteron::tools
