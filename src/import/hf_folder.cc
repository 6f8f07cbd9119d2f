#include "import/hf_folder.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "import/json_text.h"
#include "import/safetensors.h"

namespace pteron::importer {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A folder of which some files may be missing; notes which were read.
class Folder {
 public:
  Folder(const std::string& path, std::vector<std::string>& files) : path_(path), files_(files) {}

  bool has(const char* name) const {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(fs::path(path_) / name, ignored));  // a link to nowhere is an error, not an absent file
  }
  std::string path_of(const char* name) const { return (fs::path(path_) / name).string(); }

  // Leave `value` as it is where there is no such file.
  Status object(const char* name, json& value) {
    if (!has(name)) return Status();
    PTERON_ASSIGN(value, read_json_object(path_of(name)));
    files_.push_back(path_of(name));
    return Status();
  }
  Status text(const char* name, std::string& value) {
    if (!has(name)) return Status();
    PTERON_ASSIGN(value, read_text_file(path_of(name), kMaxJsonBytes));
    if (value.empty()) return Status::error(Code::invalid_data, "an empty file", {path_of(name), "", "its text", "0 bytes"});
    files_.push_back(path_of(name));
    return Status();
  }

 private:
  std::string path_;
  std::vector<std::string>& files_;
};

// tokenizer_config.json has one template as text, or a list of {"name", "template"}.
Status templates_from(const json& config, const std::string& file, Checkpoint& out) {
  const auto found = config.is_object() ? config.find("chat_template") : config.end();
  if (!config.is_object() || found == config.end() || found->is_null()) return Status();
  if (found->is_string()) {
    out.chat_template = found->get<std::string>();
    return Status();
  }
  if (!found->is_array())
    return Status::error(Code::invalid_data, "a malformed chat template", {file, "chat_template", "a string or a list", json_kind(*found)});
  for (const json& item : *found) {
    const bool good =
        item.is_object() && item.contains("name") && item["name"].is_string() && item.contains("template") && item["template"].is_string();
    if (!good)
      return Status::error(Code::invalid_data, "a malformed chat template",
                           {file, "chat_template", "objects with name and template", json_kind(item)});
    if (item["name"] == "default") {
      out.chat_template = item["template"].get<std::string>();
    } else {
      out.named_chat_templates.emplace_back(item["name"].get<std::string>(), item["template"].get<std::string>());
    }
  }
  return Status();
}

// Templates in files of their own win over those in tokenizer_config.json.
Status read_templates(Folder& folder, Checkpoint& out) {
  PTERON_TRY(templates_from(out.tokenizer.tokenizer_config, folder.path_of("tokenizer_config.json"), out));
  if (out.chat_template.empty()) {
    json legacy;
    PTERON_TRY(folder.object("chat_template.json", legacy));
    PTERON_TRY(templates_from(legacy, folder.path_of("chat_template.json"), out));
  }
  PTERON_TRY(folder.text("chat_template.jinja", out.chat_template));
  std::error_code error;
  for (fs::directory_iterator it(folder.path_of("additional_chat_templates"), error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".jinja") continue;
    PTERON_ASSIGN(std::string text, read_text_file(it->path().string(), kMaxJsonBytes));
    out.named_chat_templates.emplace_back(it->path().stem().string(), std::move(text));
    out.files.push_back(it->path().string());
  }
  std::sort(out.named_chat_templates.begin(), out.named_chat_templates.end());
  return Status();
}

// The licence that the front matter of a model card names: `license: apache-2.0` between two lines of dashes.
std::string licence_of(std::string_view card) {
  constexpr std::string_view kFence = "---", kKey = "license:";
  if (!card.starts_with(kFence)) return "";
  for (size_t line = card.find('\n'); line != std::string_view::npos; line = card.find('\n', line + 1)) {
    std::string_view rest = card.substr(line + 1);
    rest = rest.substr(0, rest.find('\n'));
    if (rest.starts_with(kFence)) break;
    if (!rest.starts_with(kKey)) continue;
    rest.remove_prefix(kKey.size());
    const size_t first = rest.find_first_not_of(" \"'"), last = rest.find_last_not_of(" \"'\r");
    return first == std::string_view::npos ? "" : std::string(rest.substr(first, last - first + 1));
  }
  return "";
}

std::string name_of(const std::string& folder) {
  std::error_code error;
  const fs::path whole = fs::canonical(folder, error);
  return error ? folder : whole.filename().string();
}

Status no_config(const std::string& folder) {
  std::error_code error;
  const bool empty = fs::is_empty(folder, error);
  return Status::error(Code::not_found, "no checkpoint in the folder",
                       {folder, "", "config.json", !error && empty ? "an empty folder" : "no such file"});
}

}  // namespace

Result<Checkpoint> open_hf_folder(const std::string& path) {
  Checkpoint out;
  out.source = path;
  Folder folder(path, out.files);
  if (!folder.has("config.json")) return no_config(path);
  PTERON_TRY(folder.object("config.json", out.config));
  PTERON_TRY(folder.object("generation_config.json", out.generation_config));
  PTERON_TRY(folder.text("tokenizer.json", out.tokenizer.tokenizer_json));
  PTERON_TRY(folder.object("tokenizer_config.json", out.tokenizer.tokenizer_config));
  PTERON_TRY(folder.object("special_tokens_map.json", out.tokenizer.special_tokens_map));
  PTERON_TRY(folder.object("added_tokens.json", out.tokenizer.added_tokens));
  PTERON_TRY(read_templates(folder, out));
  PTERON_ASSIGN(out.weights, open_safetensors_folder(path, out.files));
  out.name = name_of(path);
  if (folder.has("README.md")) {
    if (const Result<std::string> card = read_text_file(folder.path_of("README.md")); card.ok()) out.licence = licence_of(*card);
  }
  std::sort(out.files.begin(), out.files.end());
  return out;
}

}  // namespace pteron::importer
