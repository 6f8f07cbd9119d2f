#include "api/chat_encoding.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace pteron::api {
namespace {

using Json = nlohmann::ordered_json;

// Two Unicode noncharacters that do not occur in the conversation: what stands between them came from a message.
struct Marks {
  std::string open, close;
};

std::optional<Marks> unused_marks(std::string_view text) {
  static constexpr std::array<const char*, 6> kNoncharacters = {"\xef\xb7\x90", "\xef\xb7\x91", "\xef\xb7\x92", "\xef\xb7\x93", "\xef\xb7\x94", "\xef\xb7\x95"};
  std::vector<std::string> unused;
  for (const char* candidate : kNoncharacters) {
    if (text.find(candidate) == std::string_view::npos) unused.emplace_back(candidate);
  }
  if (unused.size() < 2) return std::nullopt;
  return Marks{unused[0], unused[1]};
}

// Puts marks around each special token that a string spells out. Most strings hold none and stay as they are.
Status guard(const text::Tokenizer& tokenizer, const Marks& marks, std::string& text, bool& guarded) {
  PTERON_ASSIGN(const std::vector<TokenId> ids, tokenizer.encode(text, {.parse_special = true, .add_special = false}));
  std::vector<std::string> spelled;
  for (TokenId id : ids) {
    std::string piece(tokenizer.piece(id));
    if (tokenizer.is_special(id) && !piece.empty() && text.find(piece) != std::string::npos) spelled.push_back(std::move(piece));
  }
  if (spelled.empty()) return {};
  guarded = true;
  std::sort(spelled.begin(), spelled.end(), [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto hit = std::find_if(spelled.begin(), spelled.end(), [&](const std::string& piece) { return text.compare(at, piece.size(), piece) == 0; });
    if (hit == spelled.end()) {
      out += text[at++];
    } else {
      out += marks.open + *hit + marks.close;
      at += hit->size();
    }
  }
  text = std::move(out);
  return {};
}

Status guard_strings(const text::Tokenizer& tokenizer, const Marks& marks, Json& value, bool& guarded, int depth) {
  if (depth > 64) return Status::error(Code::invalid_argument, "messages are nested too deeply");
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    PTERON_TRY(guard(tokenizer, marks, text, guarded));
    value = std::move(text);
  } else if (value.is_structured()) {
    for (auto& [key, member] : value.items()) {
      if (key != "role") PTERON_TRY(guard_strings(tokenizer, marks, member, guarded, depth + 1));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<TokenId>> encode_chat(const text::Tokenizer& tokenizer, const text::ChatTemplate& chat_template, std::string_view variables, const text::RenderOptions& options) {
  Json json = Json::parse(variables, nullptr, false);
  if (!json.is_object()) return Status::error(Code::invalid_argument, "a conversation must be a JSON object", {.file = {}, .field = "messages", .expected = "an object with messages", .found = {}});
  const std::optional<Marks> marks = unused_marks(variables);
  if (!marks) return Status::error(Code::invalid_argument, "the conversation holds too many Unicode noncharacters", {.file = {}, .field = "messages", .expected = {}, .found = "U+FDD0 to U+FDD5"});
  bool guarded = false;
  for (const char* part : {"messages", "tools", "documents"}) {
    if (json.contains(part)) PTERON_TRY(guard_strings(tokenizer, *marks, json[part], guarded, 0));
  }
  PTERON_ASSIGN(const std::string text, chat_template.render(guarded ? json.dump() : variables, options));
  if (!guarded) return tokenizer.encode(text, {.parse_special = true, .add_special = false});
  std::vector<TokenId> ids;
  const auto append = [&](std::string_view piece, bool special) -> Status {
    if (piece.empty()) return {};
    PTERON_ASSIGN(const std::vector<TokenId> more, tokenizer.encode(piece, {.parse_special = special, .add_special = false}));
    ids.insert(ids.end(), more.begin(), more.end());
    return {};
  };
  // What lies between marks, and what does not; a template may have cut a pair apart, so each mark stands for itself.
  std::string_view rest = text;
  bool inside = false;
  while (true) {
    const size_t open = rest.find(marks->open), close = rest.find(marks->close), next = std::min(open, close);
    PTERON_TRY(append(rest.substr(0, next), !inside));
    if (next == std::string_view::npos) return ids;
    inside = next == open;
    rest = rest.substr(next + (inside ? marks->open : marks->close).size());
  }
}

}  // namespace pteron::api
