#include "text/jinja_interpreter.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "text/jinja_builtins.h"
#include "text/jinja_text.h"

namespace pteron::text::jinja {
namespace {

constexpr uint64_t kMaxSteps = 10'000'000, kMaxBytes = uint64_t{256} << 20;
constexpr int kMaxCalls = 60, kMaxDepth = 500;  // of macros in each other, and of the tree's nodes under way
constexpr uint64_t kScopeBytes = 512, kLoopBytes = 2048;  // what one takes with its usual contents

struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string, Value>> names;

  Value* find(std::string_view name) {
    for (auto& [key, value] : names) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  void set(const std::string& name, Value value) {
    if (Value* known = find(name)) *known = std::move(value);
    else names.emplace_back(name, std::move(value));
  }
};

enum class Flow { normal, break_, continue_ };

Status at_line(Status status, int line) {
  if (status.ok() || !status.detail().field.empty()) return status;
  return std::move(status).in_field("line " + std::to_string(line));
}

class Interpreter {
 public:
  Interpreter(const Value& variables, const std::optional<std::string>& now) : meter_(kMaxSteps, kMaxBytes), variables_(variables), now_(now) {}
  ~Interpreter() {
    // A namespace may hold itself: cut what could be a circle.
    for (const std::shared_ptr<Members>& members : namespaces_) members->members.clear();
  }

  Result<Rendered> run(const Node& root) {
    Rendered rendered;
    PTERON_ASSIGN(Scope * top, new_scope(nullptr));
    PTERON_ASSIGN(const Flow flow, execute(root, *top, rendered.text));
    (void)flow;
    // Spans were taken in bytes.
    for (const auto& [begin, end] : spans_) {
      const size_t first = character_count(std::string_view(rendered.text).substr(0, begin));
      rendered.generation_spans.emplace_back(first, first + character_count(std::string_view(rendered.text).substr(begin, end - begin)));
    }
    return rendered;
  }

 private:
  // Scopes stay to the end, because macros point to them; what they and loops take is charged.
  Result<Scope*> new_scope(Scope* parent) {
    PTERON_TRY(meter_.charge(sizeof(Scope) + kScopeBytes));
    scopes_.push_back(std::make_unique<Scope>());
    scopes_.back()->parent = parent;
    return scopes_.back().get();
  }

  Status write(std::string& out, std::string_view text) {
    PTERON_TRY(meter_.charge(text.size()));
    out += text;
    return {};
  }

  // --- Statements ---

  Result<Flow> execute(const Node& node, Scope& scope, std::string& out) {
    if (const Status status = descend(); !status.ok()) return at_line(status, node.line);
    Result<Flow> flow = execute_kind(node, scope, out);
    --depth_;
    if (!flow.ok()) return at_line(flow.status(), node.line);
    return flow;
  }

  Result<Flow> execute_kind(const Node& node, Scope& scope, std::string& out) {
    switch (node.kind) {
      case NodeKind::block:
        for (const NodePtr& child : node.children) {
          PTERON_ASSIGN(const Flow flow, execute(*child, scope, out));
          if (flow != Flow::normal) return flow;
        }
        return Flow::normal;
      case NodeKind::output_text: PTERON_TRY(write(out, node.text)); return Flow::normal;
      case NodeKind::output: {
        PTERON_ASSIGN(const Value value, evaluate(*node.children[0], scope));
        PTERON_TRY(write(out, to_text(value)));
        return Flow::normal;
      }
      case NodeKind::if_: return execute_if(node, scope, out);
      case NodeKind::for_: {
        PTERON_ASSIGN(const Value iterable, evaluate(*node.children[1], scope));
        return execute_for(node, scope, out, iterable, 0);
      }
      case NodeKind::set: {
        PTERON_ASSIGN(Value value, evaluate(*node.children[1], scope));
        PTERON_TRY(assign(*node.children[0], std::move(value), scope));
        return Flow::normal;
      }
      case NodeKind::set_block: return execute_set_block(node, scope);
      case NodeKind::macro: scope.set(node.text, make_macro(node, *node.children[0], node.text, &scope)); return Flow::normal;
      case NodeKind::call_block: return execute_call_block(node, scope, out);
      case NodeKind::filter_block: {
        std::string text;
        PTERON_ASSIGN(const Flow flow, execute_inside(*node.children[1], scope, text));
        PTERON_ASSIGN(const Value value, filter(*node.children[0], scope, Value::string(std::move(text))));
        PTERON_TRY(write(out, to_text(value)));
        return flow;
      }
      case NodeKind::with: {
        PTERON_ASSIGN(Scope * inner, new_scope(&scope));
        for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
          PTERON_ASSIGN(Value value, evaluate(*node.children[i + 1], scope));
          PTERON_TRY(assign(*node.children[i], std::move(value), *inner));
        }
        return execute(*node.children.back(), *inner, out);
      }
      case NodeKind::generation: {
        const size_t begin = out.size();
        PTERON_ASSIGN(const Flow flow, execute(*node.children[0], scope, out));
        spans_.emplace_back(begin, out.size());
        return flow;
      }
      case NodeKind::break_: return Flow::break_;
      case NodeKind::continue_: return Flow::continue_;
      default: return template_error("no loader for this environment specified: " + node.text);
    }
  }

  Result<Flow> execute_inside(const Node& node, Scope& scope, std::string& out) {
    PTERON_ASSIGN(Scope * inner, new_scope(&scope));
    return execute(node, *inner, out);
  }

  Result<Flow> execute_if(const Node& node, Scope& scope, std::string& out) {
    size_t i = 0;
    for (; i + 1 < node.children.size(); i += 2) {
      PTERON_ASSIGN(const Value condition, evaluate(*node.children[i], scope));
      if (condition.truthy()) return execute(*node.children[i + 1], scope, out);
    }
    return i < node.children.size() ? execute(*node.children[i], scope, out) : Result<Flow>(Flow::normal);
  }

  Result<Flow> execute_for(const Node& node, Scope& scope, std::string& out, const Value& iterable, int depth) {
    PTERON_ASSIGN(std::vector<Value> items, iterate(iterable));
    PTERON_TRY(meter_.charge(items.size() * sizeof(Value)));
    PTERON_ASSIGN(Scope * inner, new_scope(&scope));
    if (node.children[2] != nullptr) {
      std::vector<Value> kept;
      for (Value& item : items) {
        inner->names.clear();
        PTERON_TRY(assign(*node.children[0], item, *inner));
        PTERON_ASSIGN(const Value condition, evaluate(*node.children[2], *inner));
        if (condition.truthy()) kept.push_back(std::move(item));
      }
      items = std::move(kept);
    }
    if (items.empty()) return node.children[4] != nullptr ? execute_inside(*node.children[4], scope, out) : Result<Flow>(Flow::normal);
    PTERON_TRY(meter_.charge(kLoopBytes));
    auto loop = std::make_shared<Members>();
    loop->type = "LoopContext";
    namespaces_.push_back(loop);
    add_loop_functions(node, *loop, scope, depth);
    const size_t functions = loop->members.size();
    for (size_t i = 0; i < items.size(); ++i) {
      inner->names.clear();
      loop->members.resize(functions);
      set_loop_state(*loop, items, i, depth);
      inner->names.emplace_back("loop", Value::members(loop));
      PTERON_TRY(assign(*node.children[0], items[i], *inner));
      PTERON_ASSIGN(const Flow flow, execute(*node.children[3], *inner, out));
      if (flow == Flow::break_) break;
    }
    return Flow::normal;
  }

  void set_loop_state(Members& loop, const std::vector<Value>& items, size_t i, int depth) {
    const auto number = [&](const char* name, size_t value) { loop.members.emplace_back(name, Value::integer(static_cast<int64_t>(value))); };
    number("index", i + 1);
    number("index0", i);
    number("revindex", items.size() - i);
    number("revindex0", items.size() - i - 1);
    number("length", items.size());
    number("depth", static_cast<size_t>(depth) + 1);
    number("depth0", static_cast<size_t>(depth));
    loop.members.emplace_back("first", Value::boolean(i == 0));
    loop.members.emplace_back("last", Value::boolean(i + 1 == items.size()));
    loop.members.emplace_back("previtem", i > 0 ? items[i - 1] : Value::undefined("there is no previous item"));
    loop.members.emplace_back("nextitem", i + 1 < items.size() ? items[i + 1] : Value::undefined("there is no next item"));
  }

  void add_loop_functions(const Node& node, Members& loop, Scope& scope, int depth) {
    Members* self = &loop;
    loop.members.emplace_back("cycle", Value::callable("cycle", [self](Arguments& arguments) -> Result<Value> {
                                if (arguments.positional.empty()) return template_error("no items for cycling given");
                                return arguments.positional[static_cast<size_t>(self->find("index0")->integer()) % arguments.positional.size()];
                              }));
    auto seen = std::make_shared<std::optional<Value>>();
    loop.members.emplace_back("changed", Value::callable("changed", [seen](Arguments& arguments) -> Result<Value> {
                                Value now = Value::tuple(arguments.positional);
                                const bool changed = !*seen || !equals(**seen, now);
                                *seen = std::move(now);
                                return Value::boolean(changed);
                              }));
    if (node.recursive) {
      loop.members.emplace_back("__call__", Value::callable("loop", [this, &node, &scope, depth](Arguments& arguments) -> Result<Value> {
                                  if (arguments.positional.size() != 1) return template_error("loop() takes one argument");
                                  PTERON_TRY(enter());
                                  std::string text;
                                  Result<Flow> flow = execute_for(node, scope, text, arguments.positional[0], depth + 1);
                                  --calls_;
                                  if (!flow.ok()) return flow.status();
                                  return Value::string(std::move(text));
                                }));
    }
  }

  Result<Flow> execute_set_block(const Node& node, Scope& scope) {
    std::string text;
    PTERON_ASSIGN(const Flow flow, execute_inside(*node.children[1], scope, text));
    Value value = Value::string(std::move(text));
    if (node.children.size() > 2) {
      PTERON_ASSIGN(value, filter(*node.children[2], scope, std::move(value)));
    }
    PTERON_TRY(assign(*node.children[0], std::move(value), scope));
    return flow;
  }

  Result<Flow> execute_call_block(const Node& node, Scope& scope, std::string& out) {
    const Node& call = *node.children[0];
    PTERON_ASSIGN(Value function, evaluate(*call.children[0], scope));
    PTERON_ASSIGN(Arguments arguments, evaluate_arguments(call, scope));
    arguments.named.emplace_back("caller", make_macro(node, *node.children[1], "caller", &scope));
    PTERON_ASSIGN(const Value value, invoke(function, arguments));
    PTERON_TRY(write(out, to_text(value)));
    return Flow::normal;
  }

  Value make_macro(const Node& node, const Node& body, const std::string& name, Scope* scope) {
    auto members = std::make_shared<Members>();
    members->type = "Macro";
    namespaces_.push_back(members);
    std::vector<Value> parameters;
    for (const auto& [parameter, fallback] : node.parameters) parameters.push_back(Value::string(parameter));
    members->members.emplace_back("name", Value::string(name));
    members->members.emplace_back("arguments", Value::tuple(std::move(parameters)));
    members->members.emplace_back("__call__", Value::callable(name, [this, &node, &body, name, scope](Arguments& arguments) { return call_macro(node, body, name, *scope, arguments); }));
    return Value::members(std::move(members));
  }

  Result<Value> call_macro(const Node& node, const Node& body, const std::string& name, Scope& scope, Arguments& arguments) {
    PTERON_ASSIGN(Scope * inner, new_scope(&scope));
    Value caller = Value::undefined("caller");
    std::vector<std::pair<std::string, Value>> rest;
    for (auto& [key, value] : arguments.named) {
      if (key == "caller") caller = value;
      else rest.emplace_back(key, value);
    }
    const size_t places = node.parameters.size();
    PTERON_TRY(meter_.work(places * (places + rest.size())));
    if (node.varargs) {
      const size_t taken = std::min(places, arguments.positional.size());
      inner->set("varargs", Value::tuple({arguments.positional.begin() + static_cast<ptrdiff_t>(taken), arguments.positional.end()}));
    } else if (arguments.positional.size() > places) {
      return template_error("macro '" + name + "' takes not more than " + std::to_string(places) + " argument(s)");
    }
    for (size_t i = 0; i < node.parameters.size(); ++i) {
      const auto& [parameter, fallback] = node.parameters[i];
      const auto by_name = std::find_if(rest.begin(), rest.end(), [&, p = &parameter](const auto& entry) { return entry.first == *p; });
      if (i < arguments.positional.size()) {
        if (by_name != rest.end()) return template_error("macro '" + name + "' got '" + parameter + "' twice");
        inner->set(parameter, arguments.positional[i]);
      } else if (by_name != rest.end()) {
        inner->set(parameter, by_name->second);
        rest.erase(by_name);
      } else if (fallback != nullptr) {
        PTERON_ASSIGN(Value value, evaluate(*fallback, *inner));
        inner->set(parameter, std::move(value));
      } else {
        inner->set(parameter, Value::undefined("parameter '" + parameter + "'"));
      }
    }
    if (node.kwargs) {
      Value named = Value::make_dict();
      for (auto& [key, value] : rest) named.dict().set(Value::string(key), std::move(value));
      inner->set("kwargs", std::move(named));
    } else if (!rest.empty()) {
      return template_error("macro '" + name + "' takes no keyword argument '" + rest[0].first + "'");
    }
    inner->set("caller", std::move(caller));
    PTERON_TRY(enter());
    std::string text;
    Result<Flow> flow = execute(body, *inner, text);
    --calls_;
    if (!flow.ok()) return flow.status();
    return Value::string(std::move(text));
  }

  Status descend() {
    PTERON_TRY(meter_.step());
    if (depth_ >= kMaxDepth) return Status::error(Code::out_of_capacity, "template nests too deeply");
    ++depth_;
    return {};
  }

  Status enter() {
    if (calls_ >= kMaxCalls) return Status::error(Code::out_of_capacity, "template calls itself too deeply");
    ++calls_;
    return {};
  }

  Status assign(const Node& target, Value value, Scope& scope) {
    if (target.kind == NodeKind::name) {
      scope.set(target.text, std::move(value));
      return {};
    }
    if (target.kind == NodeKind::attribute) {
      PTERON_ASSIGN(const Value object, evaluate(*target.children[0], scope));
      if (!object.is(Kind::members) || object.members().type != "Namespace") return template_error("cannot assign attribute on non-namespace object");
      if (Value* known = object.members().find(target.text)) *known = std::move(value);
      else object.members().members.emplace_back(target.text, std::move(value));
      return {};
    }
    PTERON_ASSIGN(std::vector<Value> parts, iterate(value));
    if (parts.size() != target.children.size()) {
      return template_error(parts.size() > target.children.size() ? "too many values to unpack" : "not enough values to unpack (expected " + std::to_string(target.children.size()) + ", got " + std::to_string(parts.size()) + ")");
    }
    for (size_t i = 0; i < parts.size(); ++i) PTERON_TRY(assign(*target.children[i], std::move(parts[i]), scope));
    return {};
  }

  // --- Expressions ---

  Result<Value> evaluate(const Node& node, Scope& scope) {
    if (const Status status = descend(); !status.ok()) return at_line(status, node.line);
    Result<Value> value = evaluate_kind(node, scope);
    --depth_;
    if (!value.ok()) return at_line(value.status(), node.line);
    if (const Status status = meter_.admit(*value); !status.ok()) return at_line(status, node.line);
    return value;
  }

  Result<Value> evaluate_kind(const Node& node, Scope& scope) {
    switch (node.kind) {
      case NodeKind::constant: return node.value;
      case NodeKind::name: return lookup(node.text, scope);
      case NodeKind::list:
      case NodeKind::tuple: {
        std::vector<Value> items;
        for (const NodePtr& child : node.children) {
          PTERON_ASSIGN(Value item, evaluate(*child, scope));
          items.push_back(std::move(item));
        }
        PTERON_TRY(meter_.charge(items.size() * sizeof(Value)));
        return node.kind == NodeKind::list ? Value::list(std::move(items)) : Value::tuple(std::move(items));
      }
      case NodeKind::dict: {
        Value dict = Value::make_dict();
        for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
          PTERON_ASSIGN(Value key, evaluate(*node.children[i], scope));
          PTERON_ASSIGN(Value value, evaluate(*node.children[i + 1], scope));
          if (key.is(Kind::list) || key.is(Kind::dict)) return template_error("unhashable type: '" + std::string(key.type_name()) + "'");
          PTERON_TRY(meter_.work(dict.extent()));
          dict.dict().set(std::move(key), std::move(value));
        }
        PTERON_TRY(meter_.charge(dict.extent() * 2 * sizeof(Value)));
        return dict;
      }
      case NodeKind::attribute: {
        PTERON_ASSIGN(const Value object, evaluate(*node.children[0], scope));
        PTERON_TRY(meter_.work(object.extent()));
        return get_attribute(object, node.text, meter_);
      }
      case NodeKind::subscript: return subscript(node, scope);
      case NodeKind::call: {
        PTERON_ASSIGN(const Value function, evaluate(*node.children[0], scope));
        PTERON_ASSIGN(Arguments arguments, evaluate_arguments(node, scope));
        if (node.children[0]->kind == NodeKind::attribute) PTERON_TRY(look_at(arguments));
        return invoke(function, arguments);
      }
      case NodeKind::filter: {
        PTERON_ASSIGN(Value operand, evaluate(*node.children[0], scope));
        return filter(node, scope, std::move(operand));
      }
      case NodeKind::test: {
        PTERON_ASSIGN(const Value operand, evaluate(*node.children[0], scope));
        PTERON_ASSIGN(Arguments arguments, evaluate_arguments(node, scope));
        bool passes = false;
        if (node.text == "callable" && operand.is(Kind::members)) passes = operand.members().find("__call__") != nullptr;
        else {
          PTERON_TRY(meter_.work(operand.extent()));
          PTERON_TRY(look_at(arguments));
          PTERON_ASSIGN(passes, apply_test(node.text, operand, arguments));
        }
        return Value::boolean(passes != node.negated);
      }
      case NodeKind::negate:
      case NodeKind::plus: return sign(node, scope);
      case NodeKind::logical_not: {
        PTERON_ASSIGN(const Value operand, evaluate(*node.children[0], scope));
        return Value::boolean(!operand.truthy());
      }
      case NodeKind::logical_and:
      case NodeKind::logical_or: {
        PTERON_ASSIGN(Value left, evaluate(*node.children[0], scope));
        if (left.truthy() == (node.kind == NodeKind::logical_or)) return left;
        return evaluate(*node.children[1], scope);
      }
      case NodeKind::conditional: {
        PTERON_ASSIGN(const Value condition, evaluate(*node.children[1], scope));
        if (condition.truthy()) return evaluate(*node.children[0], scope);
        return node.children[2] != nullptr ? evaluate(*node.children[2], scope) : Result<Value>(Value::undefined("the inline if-expression evaluated to false and no else section was defined"));
      }
      case NodeKind::compare: return compare(node, scope);
      case NodeKind::binary: {
        PTERON_ASSIGN(const Value left, evaluate(*node.children[0], scope));
        PTERON_ASSIGN(const Value right, evaluate(*node.children[1], scope));
        return binary(node.text, left, right);
      }
      default: return template_error("unexpected node");
    }
  }

  Result<Value> lookup(const std::string& name, Scope& scope) {
    for (Scope* s = &scope; s != nullptr; s = s->parent) {
      PTERON_TRY(meter_.work(s->names.size()));
      if (const Value* value = s->find(name)) return *value;
    }
    if (const Value* value = variables_.dict().find(std::string_view(name))) return *value;
    if (name == "namespace") {
      return Value::callable("namespace", [this](Arguments& arguments) -> Result<Value> {
        auto members = std::make_shared<Members>();
        members->type = "Namespace";
        namespaces_.push_back(members);
        for (const Value& source : arguments.positional) {
          if (!source.is(Kind::dict)) return template_error("namespace: expected a mapping");
          for (const auto& [key, value] : source.dict().entries) members->members.emplace_back(to_text(key), value);
        }
        for (const auto& [key, value] : arguments.named) {
          if (Value* known = members->find(key)) *known = value;
          else members->members.emplace_back(key, value);
        }
        return Value::members(std::move(members));
      });
    }
    if (name == "raise_exception") {
      return Value::callable(name, [](Arguments& arguments) -> Result<Value> {
        return template_error(arguments.positional.empty() ? "the template refused" : to_text(arguments.positional[0]));
      });
    }
    if (name == "strftime_now") {
      return Value::callable(name, [this](Arguments& arguments) -> Result<Value> {
        PTERON_ASSIGN(const Bound bound, Bound::bind("strftime_now", arguments, {"format"}));
        PTERON_ASSIGN(const std::string format, bound.string(0, ""));
        PTERON_ASSIGN(std::string text, format_time(format, now_));
        return Value::string(std::move(text));
      });
    }
    Value global = global_function(name, meter_);
    return global.is(Kind::undefined) ? Value::undefined("'" + name + "'") : global;
  }

  Result<Arguments> evaluate_arguments(const Node& node, Scope& scope) {
    Arguments arguments;
    for (size_t i = 1; i < node.children.size(); ++i) {
      PTERON_ASSIGN(Value value, evaluate(*node.children[i], scope));
      arguments.positional.push_back(std::move(value));
    }
    for (const auto& [name, child] : node.named) {
      PTERON_ASSIGN(Value value, evaluate(*child, scope));
      if (name == "*") {
        PTERON_ASSIGN(const std::vector<Value> items, iterate(value));
        arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
      } else if (name == "**") {
        if (!value.is(Kind::dict)) return template_error("argument after ** must be a mapping");
        for (const auto& [key, item] : value.dict().entries) arguments.named.emplace_back(to_text(key), item);
      } else {
        arguments.named.emplace_back(name, std::move(value));
      }
    }
    return arguments;
  }

  // What a call is given counts as looked at.
  Status look_at(const Arguments& arguments) {
    for (const Value& value : arguments.positional) PTERON_TRY(meter_.work(value.extent()));
    for (const auto& [name, value] : arguments.named) PTERON_TRY(meter_.work(value.extent()));
    return {};
  }

  Result<Value> invoke(const Value& function, Arguments& arguments) {
    if (function.is(Kind::callable)) return function.callable().call(arguments);
    if (function.is(Kind::members)) {
      if (const Value* call = function.members().find("__call__"); call != nullptr && call->is(Kind::callable)) {
        const Value kept = *call;
        return kept.callable().call(arguments);
      }
    }
    if (function.is(Kind::undefined)) return undefined_error(function);
    return template_error("'" + std::string(function.type_name()) + "' object is not callable");
  }

  Result<Value> filter(const Node& node, Scope& scope, Value operand) {
    // In a chain under a filter block the innermost operand is the block's text.
    if (node.children[0] != nullptr && node.children[0]->kind == NodeKind::filter && is_open(*node.children[0])) {
      PTERON_ASSIGN(operand, filter(*node.children[0], scope, std::move(operand)));
    }
    PTERON_ASSIGN(Arguments arguments, evaluate_arguments(node, scope));
    PTERON_TRY(meter_.work(operand.extent()));
    PTERON_TRY(look_at(arguments));
    return apply_filter(node.text, operand, arguments, meter_);
  }

  static bool is_open(const Node& node) { return node.children[0] == nullptr || (node.children[0]->kind == NodeKind::filter && is_open(*node.children[0])); }

  Result<Value> subscript(const Node& node, Scope& scope) {
    PTERON_ASSIGN(const Value object, evaluate(*node.children[0], scope));
    const Node& index = *node.children[1];
    if (index.kind != NodeKind::slice) {
      PTERON_ASSIGN(const Value item, evaluate(index, scope));
      if (!object.is_sequence()) PTERON_TRY(meter_.work(object.extent()));
      return get_item(object, item, meter_);
    }
    std::optional<int64_t> bounds[3];
    for (size_t i = 0; i < 3; ++i) {
      if (index.children[i] == nullptr) continue;
      PTERON_ASSIGN(const Value bound, evaluate(*index.children[i], scope));
      if (bound.is(Kind::none)) continue;
      if (!bound.is(Kind::integer) && !bound.is(Kind::boolean)) return template_error("slice indices must be integers or None");
      bounds[i] = bound.integer();
    }
    return slice(object, bounds[0], bounds[1], bounds[2].value_or(1));
  }

  Result<Value> slice(const Value& object, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
    if (step == 0) return template_error("slice step cannot be zero");
    if (!object.is_sequence() && !object.is(Kind::string)) {
      if (object.is(Kind::undefined)) return undefined_error(object);
      return template_error("'" + std::string(object.type_name()) + "' object is not subscriptable by a slice");
    }
    const bool is_text = object.is(Kind::string);
    const std::vector<std::string_view> characters = is_text ? characters_of(object.text()) : std::vector<std::string_view>();
    PTERON_TRY(meter_.charge(object.extent() * (is_text ? 1 : sizeof(Value))));
    const auto size = static_cast<int64_t>(is_text ? characters.size() : object.extent());
    const auto clamp = [&](int64_t value) { return std::clamp<int64_t>(value < 0 ? value + size : value, step < 0 ? -1 : 0, step < 0 ? size - 1 : size); };
    const int64_t first = start ? clamp(*start) : step < 0 ? size - 1 : 0, last = stop ? clamp(*stop) : step < 0 ? -1 : size;
    std::vector<Value> items;
    std::string text;
    for (int64_t i = first; step > 0 ? i < last : i > last;) {
      if (is_text) text += characters[static_cast<size_t>(i)];
      else items.push_back(object.sequence().items[static_cast<size_t>(i)]);
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    if (is_text) return Value::string(std::move(text));
    return object.is(Kind::tuple) ? Value::tuple(std::move(items)) : Value::list(std::move(items));
  }

  Result<Value> sign(const Node& node, Scope& scope) {
    PTERON_ASSIGN(const Value operand, evaluate(*node.children[0], scope));
    if (!operand.is_number()) return template_error("bad operand type for unary " + std::string(node.kind == NodeKind::negate ? "-" : "+") + ": '" + std::string(operand.type_name()) + "'");
    if (node.kind == NodeKind::plus) return operand.is(Kind::number) ? operand : Value::integer(operand.integer());
    if (operand.is(Kind::number)) return Value::number(-operand.number());
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, operand.integer(), &negated)) return template_error("integer overflow");
    return Value::integer(negated);
  }

  // How much of two values a comparison may look at.
  static uint64_t effort(std::string_view op, const Value& left, const Value& right) {
    if (op != "in" && op != "not in") return std::min(left.weight(), right.weight());
    if (right.is(Kind::string) || right.is(Kind::dict)) return right.extent();
    return std::min(right.weight(), right.extent() * left.weight());
  }

  Result<Value> compare(const Node& node, Scope& scope) {
    PTERON_ASSIGN(Value left, evaluate(*node.children[0], scope));
    for (size_t i = 0; i < node.operators.size(); ++i) {
      PTERON_ASSIGN(Value right, evaluate(*node.children[i + 1], scope));
      const std::string& op = node.operators[i];
      PTERON_TRY(meter_.work(effort(op, left, right)));
      Result<bool> holds = true;
      if (op == "==" || op == "!=") holds = equals(left, right) == (op == "==");
      else if (op == "<") holds = less(left, right);
      else if (op == ">") holds = less(right, left);
      else if (op == "<=" || op == ">=") {
        holds = op == "<=" ? less(right, left) : less(left, right);
        if (holds.ok()) holds = !*holds;
      } else {
        holds = contains(right, left);
        if (holds.ok()) holds = *holds == (op == "in");
      }
      if (!holds.ok()) return holds.status();
      if (!*holds) return Value::boolean(false);
      left = std::move(right);
    }
    return Value::boolean(true);
  }

  Result<Value> binary(const std::string& op, const Value& a, const Value& b) {
    if (op == "~") {
      std::string text = to_text(a) + to_text(b);
      PTERON_TRY(meter_.charge(text.size()));
      return Value::string(std::move(text));
    }
    if (a.is(Kind::undefined) || b.is(Kind::undefined)) return undefined_error(a.is(Kind::undefined) ? a : b);
    if (a.is_number() && b.is_number()) return arithmetic(op, a, b);
    if (op == "+" && a.kind() == b.kind() && a.is(Kind::string)) {
      PTERON_TRY(meter_.charge(a.text().size() + b.text().size()));
      return Value::string(a.text() + b.text());
    }
    if (op == "+" && a.kind() == b.kind() && a.is_sequence()) {
      std::vector<Value> items = a.sequence().items;
      items.insert(items.end(), b.sequence().items.begin(), b.sequence().items.end());
      PTERON_TRY(meter_.charge(items.size() * sizeof(Value)));
      return a.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
    }
    if (op == "%" && a.is(Kind::string)) {
      PTERON_ASSIGN(std::string text, percent_format(a.text(), b));
      PTERON_TRY(meter_.charge(text.size()));
      return Value::string(std::move(text));
    }
    if (op == "*") {
      const bool first = a.is_number() && !a.is(Kind::number), second = b.is_number() && !b.is(Kind::number);
      const Value& thing = first ? b : a;
      if ((first || second) && (thing.is(Kind::string) || thing.is_sequence())) return repeat(thing, (first ? a : b).integer());
    }
    return template_error("unsupported operand type(s) for " + op + ": '" + std::string(a.type_name()) + "' and '" + std::string(b.type_name()) + "'");
  }

  Result<Value> repeat(const Value& thing, int64_t count) {
    count = std::max<int64_t>(0, count);
    const size_t one = thing.is(Kind::string) ? thing.text().size() : thing.sequence().items.size() * sizeof(Value);
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(one), static_cast<uint64_t>(count), &bytes)) bytes = UINT64_MAX;
    PTERON_TRY(meter_.charge(bytes));
    if (one == 0) count = 0;
    if (thing.is(Kind::string)) {
      std::string text;
      text.reserve(bytes);
      for (int64_t i = 0; i < count; ++i) text += thing.text();
      return Value::string(std::move(text));
    }
    std::vector<Value> items;
    for (int64_t i = 0; i < count; ++i) items.insert(items.end(), thing.sequence().items.begin(), thing.sequence().items.end());
    return thing.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }

  Result<Value> arithmetic(const std::string& op, const Value& a, const Value& b) {
    if (a.is(Kind::number) || b.is(Kind::number) || op == "/") return floating(op, a.as_number(), b.as_number());
    const int64_t x = a.integer(), y = b.integer();
    int64_t out = 0;
    bool overflow = false;
    if (op == "+") overflow = __builtin_add_overflow(x, y, &out);
    else if (op == "-") overflow = __builtin_sub_overflow(x, y, &out);
    else if (op == "*") overflow = __builtin_mul_overflow(x, y, &out);
    else if (op == "//" || op == "%") {
      if (y == 0) return template_error("integer division or modulo by zero");
      if (y == -1) overflow = op == "//" && __builtin_sub_overflow(int64_t{0}, x, &out);
      else {
        const int64_t quotient = x / y, rest = x % y;
        const bool adjust = rest != 0 && (rest < 0) != (y < 0);
        out = op == "//" ? quotient - adjust : rest + (adjust ? y : 0);
      }
    } else {
      if (y < 0) return floating(op, static_cast<double>(x), static_cast<double>(y));
      out = 1;
      for (int64_t i = 0; i < y && !overflow && out != 0 && !(x == 1 || (x == -1 && i > 1)); ++i) overflow = __builtin_mul_overflow(out, x, &out);
      if (x == -1) out = y % 2 == 0 ? 1 : -1;
    }
    if (overflow) return template_error("integer overflow");
    return Value::integer(out);
  }

  Result<Value> floating(const std::string& op, double x, double y) {
    if (op == "+") return Value::number(x + y);
    if (op == "-") return Value::number(x - y);
    if (op == "*") return Value::number(x * y);
    if (op == "**") return Value::number(std::pow(x, y));
    if (y == 0) return template_error(op == "/" ? "division by zero" : "float floor division by zero");
    if (op == "/") return Value::number(x / y);
    double rest = std::fmod(x, y);
    if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
    return Value::number(op == "%" ? rest : std::floor((x - rest) / y + 0.5));
  }

  Meter meter_;
  const Value& variables_;
  const std::optional<std::string>& now_;
  int calls_ = 0, depth_ = 0;
  std::deque<std::unique_ptr<Scope>> scopes_;
  std::vector<std::shared_ptr<Members>> namespaces_;
  std::vector<std::pair<size_t, size_t>> spans_;
};

}  // namespace

Result<Rendered> render(const Node& root, const Value& variables, const std::optional<std::string>& now) { return Interpreter(variables, now).run(root); }

}  // namespace pteron::text::jinja
