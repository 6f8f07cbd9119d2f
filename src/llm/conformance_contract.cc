// The contract object of the program, made wrong in every way: a reader must refuse each, naming the field.
#include <algorithm>
#include <array>

#include "llm/conformance_suite.h"
#include "llm/json.h"

namespace pteron::llm {
namespace {

// The program with another object.
class OtherObject final : public MethodSource {
 public:
  OtherObject(const MethodSource& source, const std::string& object) : source_(source), infos_(source.infos().begin(), source.infos().end()) {
    for (MethodInfo& info : infos_) {
      if (info.name == kContractMethod) info.outputs[0].string_value = object;
    }
  }
  std::span<const MethodInfo> infos() const override { return infos_; }
  Result<std::unique_ptr<StepMethod>> load(std::string_view name, const MethodResources& resources) const override { return source_.load(name, resources); }
  Digest identity() const override { return source_.identity(); }

 private:
  const MethodSource& source_;
  std::vector<MethodInfo> infos_;
};

enum class Change : uint8_t { missing, wrong_type, negative, huge, duplicated, disagreeing };

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// Writes the object with one member changed: the `target`-th of those that the change applies to.
class Rewriter {
 public:
  Rewriter(Change change, size_t target) : change_(change), target_(target) {}

  std::string write(const Json& value) {
    std::string out;
    put(value, out, true);
    return out;
  }
  // Path of the member that was changed; empty if there were fewer.
  const std::string& changed() const { return changed_; }

 private:
  // Keys that a reader needs wherever they stand, outside the optional parts.
  static bool required(std::string_view key) {
    static constexpr std::array<std::string_view, 22> kKeys = {"contract", "version", "context_length", "vocab_size", "pad_token", "methods", "masks", "cache",
                                                               "dtype", "layout", "layers", "role", "name", "rows", "inputs", "outputs", "index", "shape", "aliases",
                                                               "kind", "heads", "slots"};
    return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
  }
  bool applies(std::string_view key, const Json& value) const {
    if (!required(key)) return false;
    const bool integer = value.is(Json::Kind::integer);
    // Another pad token, or another number of rows of an input list, is no contradiction by itself; sizes are.
    if (change_ == Change::disagreeing) return integer && key != "pad_token";
    return integer || (change_ != Change::negative && change_ != Change::huge);
  }
  bool hit(std::string_view key, const Json& value) { return applies(key, value) && seen_++ == target_; }

  void put(const Json& value, std::string& out, bool counts) {
    switch (value.kind()) {
      case Json::Kind::array: {
        out += '[';
        for (size_t i = 0; i < value.items().size(); ++i) {
          if (i > 0) out += ',';
          // Of long lists the first entries stand for all.
          const std::string before = std::exchange(path_, json_path(path_, i));
          put(value.items()[i], out, counts && i < 3);
          path_ = before;
        }
        out += ']';
        return;
      }
      case Json::Kind::object: return put_members(value, out, counts);
      case Json::Kind::string: out += quote(value.string()); return;
      default: out += value.describe(); return;
    }
  }

  void put_members(const Json& value, std::string& out, bool counts) {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : value.members()) {
      const std::string before = std::exchange(path_, json_path(path_, key));
      const bool optional_part = key == "rope" || key == "requires";
      const bool change = counts && !optional_part && hit(key, member);
      if (change) changed_ = path_;
      if (!(change && change_ == Change::missing)) {
        if (!first) out += ',';
        first = false;
        put_member(key, member, out, change, counts && !optional_part);
      }
      path_ = before;
    }
    out += '}';
  }

  void put_member(const std::string& key, const Json& member, std::string& out, bool change, bool counts) {
    out += quote(key) + ':';
    if (!change) return put(member, out, counts);
    switch (change_) {
      case Change::missing: return;
      case Change::wrong_type: out += member.is(Json::Kind::string) ? "1" : "\"text\""; return;
      case Change::negative: out += "-1"; return;
      case Change::huge: out += "100000000000000000000000000"; return;
      case Change::disagreeing: out += std::to_string(member.integer() + 1); return;
      case Change::duplicated:
        put(member, out, false);
        out += ',' + quote(key) + ':';
        put(member, out, false);
        return;
    }
  }

  const Change change_;
  const size_t target_;
  size_t seen_ = 0;
  std::string path_, changed_;
};

template <Change change>
Verdict mutated(const Suite& suite) {
  PTERON_CASE(const Json object, Json::parse(suite.object()));
  size_t count = 0;
  for (;; ++count) {
    Rewriter rewriter(change, count);
    const std::string json = rewriter.write(object);
    if (rewriter.changed().empty()) break;
    const auto opened = suite.registry().open(OtherObject(suite.source(), json));
    if (opened.ok()) return failed("accepted with a wrong " + rewriter.changed());
    if (opened.status().detail().field.empty()) return failed("the error about " + rewriter.changed() + " names no field: " + opened.status().message());
  }
  return count == 0 ? not_applicable("nothing to change") : passed(std::to_string(count) + " changes refused");
}

Verdict opens(const Suite& suite) { return suite.opened().ok() ? passed() : failed(suite.opened().message()); }

Verdict unknown_identity(const Suite& suite) {
  PTERON_CASE(const Json object, Json::parse(suite.object()));
  std::string text = Rewriter(Change::missing, SIZE_MAX).write(object);
  text.pop_back();  // the closing brace
  const auto with = [&](const std::string& member) { return suite.registry().open(OtherObject(suite.source(), text + "," + member + "}")).ok(); };
  if (!with("\"an unknown optional key\":[1,{}]")) return failed("an unknown optional key is refused");
  if (object.find("requires") != nullptr) {
    const size_t at = text.find("\"requires\":[");
    std::string required = text;
    required.insert(at + 12, object.find("requires")->items().empty() ? "\"an unknown feature\"" : "\"an unknown feature\",");
    if (suite.registry().open(OtherObject(suite.source(), required + "}")).ok()) return failed("an unknown entry of requires is accepted");
  } else if (with("\"requires\":[\"an unknown feature\"]")) {
    return failed("an unknown entry of requires is accepted");
  }
  for (const char* other : {"{\"contract\":\"nobody's\",\"version\":1}", "{\"contract\":\"hf_static\",\"version\":99}", "{", "[]", "", "null"}) {
    if (suite.registry().open(OtherObject(suite.source(), other)).ok()) return failed(std::string("accepted: ") + other);
  }
  return passed();
}

}  // namespace

std::span<const Case> contract_cases() {
  static constexpr std::array<Case, 8> kCases = {{{"contract.opens", opens, false},
                                                  {"contract.missing_keys", mutated<Change::missing>},
                                                  {"contract.wrong_types", mutated<Change::wrong_type>},
                                                  {"contract.negative_numbers", mutated<Change::negative>},
                                                  {"contract.huge_numbers", mutated<Change::huge>},
                                                  {"contract.duplicate_keys", mutated<Change::duplicated>},
                                                  {"contract.disagreements", mutated<Change::disagreeing>},
                                                  {"contract.unknown_identity", unknown_identity}}};
  return kCases;
}

}  // namespace pteron::llm
