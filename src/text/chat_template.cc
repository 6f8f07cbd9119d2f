#include "text/chat_template.h"

#include <simdjson.h>

#include <algorithm>

#include "text/jinja_interpreter.h"
#include "text/jinja_parser.h"
#include "text/jinja_text.h"

namespace pteron::text {
namespace {

using jinja::Value;
namespace dom = simdjson::dom;

Value to_value(const dom::element& element) {
  switch (element.type()) {
    case dom::element_type::NULL_VALUE: return Value::none();
    case dom::element_type::BOOL: return Value::boolean(bool(element.get_bool().value_unsafe()));
    case dom::element_type::INT64: return Value::integer(element.get_int64().value_unsafe());
    case dom::element_type::UINT64: return Value::number(static_cast<double>(element.get_uint64().value_unsafe()));
    case dom::element_type::DOUBLE: return Value::number(element.get_double().value_unsafe());
    case dom::element_type::STRING: return Value::string(std::string(element.get_string().value_unsafe()));
    case dom::element_type::ARRAY: {
      std::vector<Value> items;
      const dom::array array = element.get_array().value_unsafe();
      for (const dom::element item : array) items.push_back(to_value(item));
      return Value::list(std::move(items));
    }
    case dom::element_type::OBJECT: {
      Value dict = Value::make_dict();
      const dom::object object = element.get_object().value_unsafe();
      for (const auto& [key, item] : object) dict.dict().set(Value::string(std::string(key)), to_value(item));
      return dict;
    }
  }
  return Value::none();
}

Result<Value> parse_variables(std::string_view json) {
  dom::parser parser;
  dom::element root;
  // The parser's own depth limit (1024) is beyond what recursion here should follow.
  if (parser.allocate(std::max<size_t>(json.size(), 64), 128) != simdjson::SUCCESS) return Status::error(Code::out_of_memory, "cannot parse the variables of a template");
  if (const auto error = parser.parse(json.data(), json.size()).get(root); error != simdjson::SUCCESS) {
    return Status::error(Code::invalid_argument, "the variables of a template are no JSON", {.file = {}, .field = "variables", .expected = "a JSON object", .found = simdjson::error_message(error)});
  }
  if (!root.is_object()) return Status::error(Code::invalid_argument, "the variables of a template are no object", {.file = {}, .field = "variables", .expected = "a JSON object", .found = "another kind"});
  if (const auto messages = root["messages"]; messages.error() == simdjson::SUCCESS) {
    bool objects = false;
    if (const auto list = messages.get_array(); list.error() == simdjson::SUCCESS) {
      const dom::array array = list.value_unsafe();
      objects = std::all_of(array.begin(), array.end(), [](const dom::element& message) { return message.is_object(); });
    }
    if (!objects) {
      return Status::error(Code::invalid_argument, "the messages of a conversation have a wrong type",
                           {.file = {}, .field = "messages", .expected = "a list of objects", .found = simdjson::minify(messages.value_unsafe()).substr(0, 60)});
    }
  }
  return to_value(root);
}

void set_default(Value& variables, const char* name, Value value) {
  if (variables.dict().find(std::string_view(name)) == nullptr) variables.dict().set(Value::string(name), std::move(value));
}

}  // namespace

struct ChatTemplate::Impl {
  jinja::NodePtr root;
};

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  PTERON_ASSIGN(jinja::NodePtr root, jinja::parse(source));
  ChatTemplate parsed;
  parsed.impl_ = std::make_shared<const Impl>(Impl{std::move(root)});
  return parsed;
}

Result<std::pair<std::string, std::vector<std::pair<size_t, size_t>>>> ChatTemplate::render_with_spans(std::string_view json, const RenderOptions& options) const {
  PTERON_ASSIGN(Value variables, parse_variables(json));
  if (options.now) PTERON_TRY(jinja::format_time({}, options.now).status());  // wrong whether or not the template asks for it
  set_default(variables, "add_generation_prompt", Value::boolean(options.add_generation_prompt));
  set_default(variables, "bos_token", Value::string(options.bos_token));
  set_default(variables, "eos_token", Value::string(options.eos_token));
  set_default(variables, "tools", Value::none());
  set_default(variables, "documents", Value::none());
  PTERON_ASSIGN(jinja::Rendered rendered, jinja::render(*impl_->root, variables, options.now));
  return std::make_pair(std::move(rendered.text), std::move(rendered.generation_spans));
}

Result<std::string> ChatTemplate::render(std::string_view variables, const RenderOptions& options) const {
  auto rendered = render_with_spans(variables, options);
  if (!rendered.ok()) return rendered.status();
  return std::move(rendered->first);
}

}  // namespace pteron::text
