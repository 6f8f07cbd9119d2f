#include "text/pattern_syntax.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "text/unicode.h"

namespace pteron::text {
namespace {

// Contents of PCRE2 sets.
constexpr std::string_view kSpaceSet = "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view kWordSet = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";
constexpr std::string_view kHexSet = "0-9A-Fa-f";
constexpr std::string_view kAnyCharacter = "(?s:.)";

constexpr std::array kProperties = std::to_array<std::pair<std::string_view, std::string_view>>({
    // POSIX names, as sets
    {"alpha", "\\p{Alphabetic}"}, {"alphabetic", "\\p{Alphabetic}"}, {"alnum", "\\p{Alphabetic}\\p{Nd}"}, {"digit", "\\p{Nd}"}, {"space", kSpaceSet},
    {"whitespace", kSpaceSet}, {"word", kWordSet}, {"xdigit", kHexSet}, {"upper", "\\p{Uppercase}"}, {"uppercase", "\\p{Uppercase}"},
    {"lower", "\\p{Lowercase}"}, {"lowercase", "\\p{Lowercase}"}, {"cntrl", "\\p{Cc}"}, {"punct", "\\p{P}"}, {"blank", "\\t\\p{Zs}"},
    {"ascii", "\\x{0}-\\x{7f}"}, {"any", "\\p{Any}"},
    // general categories by their long names
    {"letter", "\\p{L}"}, {"casedletter", "\\p{L&}"}, {"uppercaseletter", "\\p{Lu}"}, {"lowercaseletter", "\\p{Ll}"}, {"titlecaseletter", "\\p{Lt}"},
    {"modifierletter", "\\p{Lm}"}, {"otherletter", "\\p{Lo}"}, {"mark", "\\p{M}"}, {"combiningmark", "\\p{M}"}, {"nonspacingmark", "\\p{Mn}"},
    {"spacingmark", "\\p{Mc}"}, {"enclosingmark", "\\p{Me}"}, {"number", "\\p{N}"}, {"decimalnumber", "\\p{Nd}"}, {"letternumber", "\\p{Nl}"},
    {"othernumber", "\\p{No}"}, {"punctuation", "\\p{P}"}, {"connectorpunctuation", "\\p{Pc}"}, {"dashpunctuation", "\\p{Pd}"},
    {"openpunctuation", "\\p{Ps}"}, {"closepunctuation", "\\p{Pe}"}, {"initialpunctuation", "\\p{Pi}"}, {"finalpunctuation", "\\p{Pf}"},
    {"otherpunctuation", "\\p{Po}"}, {"symbol", "\\p{S}"}, {"mathsymbol", "\\p{Sm}"}, {"currencysymbol", "\\p{Sc}"}, {"modifiersymbol", "\\p{Sk}"},
    {"othersymbol", "\\p{So}"}, {"separator", "\\p{Z}"}, {"spaceseparator", "\\p{Zs}"}, {"lineseparator", "\\p{Zl}"}, {"paragraphseparator", "\\p{Zp}"},
    {"other", "\\p{C}"}, {"control", "\\p{Cc}"}, {"format", "\\p{Cf}"}, {"surrogate", "\\p{Cs}"}, {"privateuse", "\\p{Co}"}, {"unassigned", "\\p{Cn}"},
    // binary properties
    {"emoji", "\\p{Emoji}"}, {"emojipresentation", "\\p{Emoji_Presentation}"}, {"emojimodifier", "\\p{Emoji_Modifier}"},
    {"extendedpictographic", "\\p{Extended_Pictographic}"}, {"idstart", "\\p{ID_Start}"}, {"idcontinue", "\\p{ID_Continue}"},
    {"xidstart", "\\p{XID_Start}"}, {"xidcontinue", "\\p{XID_Continue}"}, {"ideographic", "\\p{Ideographic}"}, {"math", "\\p{Math}"},
    {"cased", "\\p{Cased}"},
});

Status unsupported(std::string_view what) {
  return Status::error(Code::unsupported, "pattern", {.expected = "syntax that this build knows", .found = std::string(what)});
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_ascii_punctuation(char c) { return static_cast<unsigned char>(c) < 0x80 && is_punctuation(static_cast<unsigned char>(c)); }

// What an escape stands for: one character as PCRE2 writes it, or a set of characters.
struct Escape {
  std::string text;      // the character, or the contents of a set
  bool is_set = false;
  bool negated = false;  // the set's complement
};

// A set in brackets while it is read: plain contents, expressions for single characters that do not fit into brackets, and operands of &&.
struct SetParts {
  std::string contents;
  std::vector<std::string> alternatives;
};

class Translator {
 public:
  explicit Translator(std::string_view in) : in_(in) {}

  Result<std::string> run() {
    groups_.push_back(0);
    while (at_ < in_.size()) PTERON_TRY(step());
    if (groups_.size() != 1) return unsupported("a group that does not end");
    out_.append(groups_.back(), ')');
    return std::move(out_);
  }

 private:
  bool ahead(std::string_view text) const { return in_.substr(at_).starts_with(text); }

  void begin_atom() { atom_ = out_.size(); }
  void atom(std::string_view text) {
    begin_atom();
    out_ += text;
    quantified_ = false;
  }

  Status step() {
    const char c = in_[at_];
    switch (c) {
      case '\\': return outer_escape();
      case '[': {
        std::string set;
        PTERON_TRY(bracket(set, 0));
        atom(set);
        return {};
      }
      case '(': return open_group();
      case ')': {
        if (groups_.size() == 1) return unsupported("a ')' without its '('");
        ++at_;
        out_.append(groups_.back() + 1, ')');
        groups_.pop_back();
        atom_ = starts_.back();
        starts_.pop_back();
        quantified_ = false;
        return {};
      }
      case '^': ++at_; atom("(?m:^)"); return {};
      case '$': ++at_; atom("(?m:$)"); return {};
      case '|': ++at_; out_ += '|'; atom_ = std::string::npos; return {};
      case '*': case '+': case '?': return quantifier(std::string(1, c), 1);
      case '{': return interval();
      default: {
        const size_t size = utf8_at(in_, at_).size;
        atom(in_.substr(at_, size));
        at_ += size;
        return {};
      }
    }
  }

  Status quantifier(std::string text, size_t taken) {
    if (atom_ == std::string::npos) return unsupported("a quantifier with nothing to repeat");
    at_ += taken;
    if (quantified_) {
      // A quantifier after a quantifier repeats the whole.
      out_.insert(atom_, "(?:");
      out_ += ')';
    }
    const bool is_interval = text.front() == '{';
    const bool fixed = is_interval && text.find(',') == std::string::npos;
    out_ += text;
    // "{n,m}+" is no possessive form in Ruby, nor is "{n}?" a lazy one: both repeat the whole.
    if (at_ < in_.size() && ((in_[at_] == '?' && !fixed) || (in_[at_] == '+' && !is_interval))) out_ += in_[at_++];
    quantified_ = true;
    return {};
  }

  Status interval() {
    size_t i = at_ + 1;
    std::string low, high;
    bool comma = false;
    while (i < in_.size() && in_[i] >= '0' && in_[i] <= '9') low += in_[i++];
    if (i < in_.size() && in_[i] == ',') {
      comma = true;
      ++i;
      while (i < in_.size() && in_[i] >= '0' && in_[i] <= '9') high += in_[i++];
    }
    if (i >= in_.size() || in_[i] != '}' || (low.empty() && high.empty())) {
      ++at_;
      atom("\\{");
      return {};
    }
    return quantifier("{" + (low.empty() ? "0" : low) + (comma ? "," + high : "") + "}", i + 1 - at_);
  }

  Status open_group() {
    starts_.push_back(out_.size());
    groups_.push_back(0);
    atom_ = std::string::npos;
    if (!ahead("(?")) {
      ++at_;
      out_ += '(';
      return {};
    }
    if (ahead("(?#")) {
      const size_t end = in_.find(')', at_);
      if (end == std::string_view::npos) return unsupported("a comment that does not end");
      at_ = end + 1;
      atom_ = starts_.back();
      starts_.pop_back();
      groups_.pop_back();
      return {};
    }
    for (const std::string_view head : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"}) {
      if (!ahead(head)) continue;
      at_ += head.size();
      out_ += head;
      return {};
    }
    if (ahead("(?<") || ahead("(?'")) {
      const size_t end = in_.find(in_[at_ + 2] == '<' ? '>' : '\'', at_ + 3);
      if (end == std::string_view::npos) return unsupported("a group name that does not end");
      out_ += in_.substr(at_, end + 1 - at_);
      at_ = end + 1;
      return {};
    }
    return option_group();
  }

  // (?imx-imx) holds to the end of the enclosing group, over its alternatives too; (?imx-imx:...) is a group of its own.
  Status option_group() {
    std::string options;
    size_t i = at_ + 2;
    for (; i < in_.size() && in_[i] != ':' && in_[i] != ')'; ++i) {
      if (in_[i] == 'm') {
        options += 's';
      } else if (in_[i] == 'i' || in_[i] == 'x' || in_[i] == '-') {
        options += in_[i];
      } else {
        return unsupported(in_.substr(at_, i + 1 - at_));
      }
    }
    if (i == in_.size()) return unsupported("a group that does not end");
    out_ += "(?" + options + ":";
    if (in_[i] == ')') {
      groups_.pop_back();
      starts_.pop_back();
      ++groups_.back();
    }
    at_ = i + 1;
    return {};
  }

  Status outer_escape() {
    if (at_ + 1 >= in_.size()) return unsupported("a backslash at the end");
    const char c = in_[at_ + 1];
    const std::string word = "[" + std::string(kWordSet) + "]";
    switch (c) {
      case 'b': at_ += 2; atom("(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))"); return {};
      case 'B': at_ += 2; atom("(?:(?<=" + word + ")(?=" + word + ")|(?<!" + word + ")(?!" + word + "))"); return {};
      case 'A': case 'z': case 'Z': case 'G': case 'R': case 'X': case 'K': case 'N':
      case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        atom(in_.substr(at_, 2));
        at_ += 2;
        return {};
      case 'O': at_ += 2; atom(kAnyCharacter); return {};
      case 'k': case 'g': {
        const size_t end = in_.find('>', at_);
        if (at_ + 2 >= in_.size() || in_[at_ + 2] != '<' || end == std::string_view::npos) return unsupported(in_.substr(at_, 3));
        atom(in_.substr(at_, end + 1 - at_));
        at_ = end + 1;
        return {};
      }
      case 'y': case 'Y': return unsupported(in_.substr(at_, 2));
      default: break;
    }
    PTERON_ASSIGN(const Escape escape, read_escape());
    atom(escape.is_set ? "[" + std::string(escape.negated ? "^" : "") + escape.text + "]" : escape.text);
    return {};
  }

  // Escapes that mean the same inside and outside of brackets.
  Result<Escape> read_escape() {
    if (at_ + 1 >= in_.size()) return unsupported("a backslash at the end");
    const char c = in_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 's': return Escape{std::string(kSpaceSet), true, false};
      case 'S': return Escape{std::string(kSpaceSet), true, true};
      case 'w': return Escape{std::string(kWordSet), true, false};
      case 'W': return Escape{std::string(kWordSet), true, true};
      case 'd': return Escape{"\\p{Nd}", true, false};
      case 'D': return Escape{"\\p{Nd}", true, true};
      case 'h': return Escape{std::string(kHexSet), true, false};
      case 'H': return Escape{std::string(kHexSet), true, true};
      case 't': case 'n': case 'r': case 'f': case 'a': case 'e': return Escape{std::string("\\") + c};
      case 'v': return Escape{"\\x{b}"};
      case 'p': case 'P': return property(c == 'P');
      case 'x': return hexadecimal(2);
      case 'u': return hexadecimal(4);
      default: break;
    }
    if (c == '0') {
      size_t end = at_;
      while (end < in_.size() && end < at_ + 2 && in_[end] >= '0' && in_[end] <= '7') ++end;
      const std::string digits = "0" + std::string(in_.substr(at_, end - at_));
      at_ = end;
      return Escape{"\\o{" + digits + "}"};
    }
    --at_;
    const size_t size = utf8_at(in_, at_).size;
    const std::string text(in_.substr(at_, size));
    at_ += size;
    return Escape{is_ascii_punctuation(text[0]) ? "\\" + text : text};
  }

  Result<Escape> hexadecimal(size_t digits) {
    if (ahead("{")) {
      const size_t end = in_.find('}', at_);
      if (end == std::string_view::npos) return unsupported("\\x{ without its end");
      const std::string_view text = in_.substr(at_, end + 1 - at_);
      for (const char c : text.substr(1, text.size() - 2)) {
        if (!is_hex(c)) return unsupported("\\x" + std::string(text));
      }
      at_ = end + 1;
      return Escape{"\\x" + std::string(text)};
    }
    std::string value;
    while (at_ < in_.size() && value.size() < digits && is_hex(in_[at_])) value += in_[at_++];
    return Escape{"\\x{" + (value.empty() ? "0" : value) + "}"};
  }

  Result<Escape> property(bool negated) {
    const size_t end = in_.find('}', at_);
    if (!ahead("{") || end == std::string_view::npos) return unsupported("\\p without {name}");
    std::string_view name = in_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    return named_set(name, negated);
  }

  static Result<Escape> named_set(std::string_view name, bool negated) {
    std::string plain;
    for (const char c : name) {
      if (c != ' ' && c != '_' && c != '-') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    for (const auto& [known, set] : kProperties) {
      if (plain == known) return Escape{std::string(set), true, negated};
    }
    for (const char c : plain) {
      if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) return unsupported("\\p{" + std::string(name) + "}");
    }
    if (plain.empty()) return unsupported("\\p{}");
    if (plain.size() <= 2 && std::string_view("lmnpszc").find(plain[0]) != std::string_view::npos) {
      plain[0] = static_cast<char>(plain[0] - 32);
      return Escape{"\\p{" + plain + "}", true, negated};
    }
    return Escape{"\\p{sc:" + std::string(name) + "}", true, negated};  // a script; PCRE2 refuses a name that is none
  }

  static std::string set_expression(const SetParts& parts) {
    if (parts.alternatives.empty()) return parts.contents.empty() ? "(?!)" : "[" + parts.contents + "]";
    std::string text = "(?:";
    if (!parts.contents.empty()) text += "[" + parts.contents + "]|";
    for (size_t i = 0; i < parts.alternatives.size(); ++i) text += (i > 0 ? "|" : "") + parts.alternatives[i];
    return text + ")";
  }

  // A set in brackets, appended to `out` as an expression for one character.
  Status bracket(std::string& out, int depth) {
    if (depth > 16) return unsupported("sets nested deeper than 16");
    ++at_;
    bool negated = false;
    if (ahead("^")) {
      negated = true;
      ++at_;
    }
    std::vector<std::string> operands;
    SetParts parts;
    bool first = true;
    for (;; first = false) {
      if (at_ >= in_.size()) return unsupported("a set that does not end");
      if (in_[at_] == ']' && !first) break;
      if (ahead("&&")) {
        at_ += 2;
        operands.push_back(set_expression(parts));
        parts = {};
        continue;
      }
      PTERON_TRY(set_item(parts, depth));
    }
    ++at_;
    if (operands.empty() && parts.alternatives.empty() && !parts.contents.empty()) {
      out += (negated ? "[^" : "[") + parts.contents + "]";
      return {};
    }
    std::string all = "(?:";
    for (const std::string& operand : operands) all += "(?=" + operand + ")";
    all += set_expression(parts) + ")";
    out += negated ? "(?:(?!" + all + ")" + std::string(kAnyCharacter) + ")" : all;
    return {};
  }

  Status set_item(SetParts& parts, int depth) {
    if (ahead("[:")) {
      const size_t end = in_.find(":]", at_ + 2);
      if (end != std::string_view::npos && end - at_ < 24) {
        std::string_view name = in_.substr(at_ + 2, end - at_ - 2);
        const bool negated = name.starts_with('^');
        if (negated) name.remove_prefix(1);
        at_ = end + 2;
        // In brackets two names mean more than as properties, or what Unicode has no property for.
        Escape set{"\\p{P}\\p{S}", true, negated};
        if (name == "graph" || name == "print") {
          set = {name == "graph" ? std::string(kSpaceSet) + "\\p{Cc}\\p{Cn}\\p{Cs}" : "\\p{Zl}\\p{Zp}\\p{Cc}\\p{Cn}\\p{Cs}", true, !negated};
        } else if (name != "punct") {
          PTERON_ASSIGN(set, named_set(name, negated));
        }
        add_set(parts, set);
        return {};
      }
    }
    if (in_[at_] == '[') {
      std::string nested;
      PTERON_TRY(bracket(nested, depth + 1));
      parts.alternatives.push_back(std::move(nested));
      return {};
    }
    PTERON_ASSIGN(const Escape low, set_character());
    if (low.is_set) {
      add_set(parts, low);
      return {};
    }
    parts.contents += low.text;
    if (ahead("-") && at_ + 1 < in_.size() && in_[at_ + 1] != ']' && !ahead("-&&")) {
      const size_t dash = at_++;
      if (in_[at_] == '[') {
        at_ = dash;  // a dash before a nested set stands for itself
        ++at_;
        parts.contents += "\\-";
        return {};
      }
      PTERON_ASSIGN(const Escape high, set_character());
      if (high.is_set) {
        parts.contents += "\\-";
        add_set(parts, high);
      } else {
        parts.contents += "-" + high.text;
      }
    }
    return {};
  }

  Result<Escape> set_character() {
    if (in_[at_] == '\\') {
      if (ahead("\\b")) {
        at_ += 2;
        return Escape{"\\x{8}"};
      }
      return read_escape();
    }
    const size_t size = utf8_at(in_, at_).size;
    const std::string text(in_.substr(at_, size));
    at_ += size;
    return Escape{is_ascii_punctuation(text[0]) ? "\\" + text : text};
  }

  static void add_set(SetParts& parts, const Escape& set) {
    if (set.negated) {
      parts.alternatives.push_back("[^" + set.text + "]");
    } else {
      parts.contents += set.text;
    }
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  std::vector<size_t> groups_;  // for each open group: how many option groups end with it
  std::vector<size_t> starts_;  // where in `out_` each open group began
  size_t atom_ = std::string::npos;  // where in `out_` the last thing that can be repeated began
  bool quantified_ = false;
};

}  // namespace

Result<std::string> translate_pattern(std::string_view expression) {
  if (find_invalid_utf8(expression)) return unsupported("text that is not UTF-8");
  return Translator(expression).run();
}

std::string quote_pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_ascii_punctuation(c)) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace pteron::text
