#include "text/jinja_parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "text/jinja_lexer.h"

namespace pteron::text::jinja {
namespace {

constexpr int kMaxDepth = 100;   // of nesting in the source
constexpr int kMaxTree = 300;    // of the tree: a + b + c + ... nests too

bool mentions(const Node& node, std::string_view name) {
  if (node.kind == NodeKind::name && node.text == name) return true;
  const auto in = [&](const auto& named) { return named.second != nullptr && mentions(*named.second, name); };
  return std::any_of(node.children.begin(), node.children.end(), [&](const NodePtr& child) { return child != nullptr && mentions(*child, name); }) ||
         std::any_of(node.named.begin(), node.named.end(), in) || std::any_of(node.parameters.begin(), node.parameters.end(), in);
}

void deepen(Node& parent, const NodePtr& child) {
  if (child != nullptr) parent.depth = std::max(parent.depth, child->depth + 1);
}
void adopt(Node& parent, NodePtr child) {
  deepen(parent, child);
  parent.children.push_back(std::move(child));
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<NodePtr> run() {
    PTERON_ASSIGN(NodePtr body, statements({}));
    if (current().kind != TokenKind::end) return unexpected();
    return body;
  }

 private:
  // Depth of nesting, given back when a rule is left.
  struct Level {
    int& depth;
    explicit Level(int& d) : depth(d) { ++depth; }
    ~Level() { --depth; }
  };

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  int line() const { return current().line; }
  bool is_symbol(std::string_view text) const { return current().kind == TokenKind::symbol && current().text == text; }
  bool is_name(std::string_view text) const { return current().kind == TokenKind::name && current().text == text; }
  void next() { at_ += at_ + 1 < tokens_.size(); }
  bool take_symbol(std::string_view text) {
    const bool there = is_symbol(text);
    if (there) next();
    return there;
  }
  bool take_name(std::string_view text) {
    const bool there = is_name(text);
    if (there) next();
    return there;
  }

  Status unexpected() const {
    const Token& token = current();
    static constexpr std::array<std::string_view, 11> kNames = {"text", "'{{'", "'}}'", "'{%'", "'%}'", "name", "number", "number", "string", "symbol", "the end of the template"};
    std::string what = "unexpected " + std::string(kNames[static_cast<size_t>(token.kind)]);
    if (token.kind == TokenKind::name || token.kind == TokenKind::symbol) what += " '" + token.text.substr(0, 40) + "'";
    return syntax_error(token.line, what);
  }
  Status check_tree(const NodePtr& node) const { return node->depth <= kMaxTree ? Status() : syntax_error(line(), "expressions are nested too deeply"); }
  Status expect_symbol(std::string_view text) { return take_symbol(text) ? Status() : unexpected(); }
  Status expect_name(std::string_view text) { return take_name(text) ? Status() : unexpected(); }
  Status expect(TokenKind kind) {
    if (current().kind != kind) return unexpected();
    next();
    return {};
  }
  Result<std::string> take_any_name() {
    if (current().kind != TokenKind::name) return unexpected();
    std::string text = current().text;
    next();
    return text;
  }

  NodePtr make(NodeKind kind, int at_line) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->line = at_line;
    return node;
  }
  template <class... Children>
  NodePtr make(NodeKind kind, int at_line, Children... children) const {
    NodePtr node = make(kind, at_line);
    (adopt(*node, std::move(children)), ...);
    return node;
  }

  // Statements up to a block tag whose name is one of `ends`, which is left unread behind its "{%".
  Result<NodePtr> statements(std::initializer_list<std::string_view> ends) {
    const Level level(depth_);
    if (depth_ > kMaxDepth) return syntax_error(line(), "blocks are nested too deeply");
    NodePtr block = make(NodeKind::block, line());
    while (current().kind != TokenKind::end) {
      const Token& token = current();
      if (token.kind == TokenKind::text) {
        NodePtr text = make(NodeKind::output_text, token.line);
        text->text = token.text;
        adopt(*block, std::move(text));
        next();
      } else if (token.kind == TokenKind::variable_begin) {
        next();
        PTERON_ASSIGN(NodePtr value, tuple(true));
        PTERON_TRY(expect(TokenKind::variable_end));
        const int at_line = value->line;
        adopt(*block, make(NodeKind::output, at_line, std::move(value)));
      } else if (token.kind == TokenKind::block_begin) {
        next();
        if (current().kind == TokenKind::name && std::find(ends.begin(), ends.end(), current().text) != ends.end()) return block;
        PTERON_ASSIGN(NodePtr statement, this->statement());
        adopt(*block, std::move(statement));
      } else {
        return unexpected();
      }
    }
    if (ends.size() > 0) {
      std::string list;
      for (std::string_view end : ends) list += (list.empty() ? "" : " or ") + std::string(end);
      return syntax_error(line(), "the template ends before " + list);
    }
    return block;
  }

  // The rest of "{% endx %}".
  Status end_tag() {
    next();
    return expect(TokenKind::block_end);
  }

  Result<NodePtr> body_until(std::string_view end) {
    PTERON_TRY(expect(TokenKind::block_end));
    PTERON_ASSIGN(NodePtr body, statements({end}));
    PTERON_TRY(end_tag());
    return body;
  }

  Result<NodePtr> statement() {
    if (current().kind != TokenKind::name) return unexpected();
    const int at_line = line();
    const std::string tag = current().text;
    next();
    if (tag == "if") return parse_if(at_line);
    if (tag == "for") return parse_for(at_line);
    if (tag == "set") return parse_set(at_line);
    if (tag == "macro") return parse_macro(at_line);
    if (tag == "call") return parse_call(at_line);
    if (tag == "filter") return parse_filter_block(at_line);
    if (tag == "with") return parse_with(at_line);
    if (tag == "generation") return wrap(NodeKind::generation, at_line, body_until("endgeneration"));
    if (tag == "autoescape") {
      PTERON_ASSIGN(NodePtr ignored, expression());
      return body_until("endautoescape");
    }
    if (tag == "block") return parse_block(at_line);
    if (tag == "break" || tag == "continue") {
      PTERON_TRY(expect(TokenKind::block_end));
      if (loops_ == 0) return syntax_error(at_line, tag + " outside a loop");
      return make(tag == "break" ? NodeKind::break_ : NodeKind::continue_, at_line);
    }
    if (tag == "import" || tag == "include" || tag == "extends" || tag == "from") {
      while (current().kind != TokenKind::block_end && current().kind != TokenKind::end) next();
      PTERON_TRY(expect(TokenKind::block_end));
      NodePtr node = make(NodeKind::unsupported, at_line);
      node->text = tag;
      return node;
    }
    return syntax_error(at_line, "unknown tag '" + tag.substr(0, 40) + "'");
  }

  Result<NodePtr> wrap(NodeKind kind, int at_line, Result<NodePtr> body) {
    if (!body.ok()) return body;
    return make(kind, at_line, std::move(body).value());
  }

  Result<NodePtr> parse_if(int at_line) {
    NodePtr node = make(NodeKind::if_, at_line);
    while (true) {
      PTERON_ASSIGN(NodePtr condition, tuple(false));
      PTERON_TRY(expect(TokenKind::block_end));
      PTERON_ASSIGN(NodePtr body, statements({"elif", "else", "endif"}));
      adopt(*node, std::move(condition));
      adopt(*node, std::move(body));
      if (take_name("elif")) continue;
      if (take_name("else")) {
        PTERON_TRY(expect(TokenKind::block_end));
        PTERON_ASSIGN(NodePtr otherwise, statements({"endif"}));
        adopt(*node, std::move(otherwise));
      }
      PTERON_TRY(end_tag());
      return node;
    }
  }

  Result<NodePtr> parse_for(int at_line) {
    PTERON_ASSIGN(NodePtr target, assign_target(false));
    PTERON_TRY(expect_name("in"));
    PTERON_ASSIGN(NodePtr iterable, tuple(false, true));
    NodePtr condition;
    if (take_name("if")) {
      PTERON_ASSIGN(condition, expression());
    }
    const bool recursive = take_name("recursive");
    PTERON_TRY(expect(TokenKind::block_end));
    ++loops_;
    PTERON_ASSIGN(NodePtr body, statements({"endfor", "else"}));
    --loops_;
    NodePtr otherwise;
    if (take_name("else")) {
      PTERON_TRY(expect(TokenKind::block_end));
      PTERON_ASSIGN(otherwise, statements({"endfor"}));
    }
    PTERON_TRY(end_tag());
    NodePtr node = make(NodeKind::for_, at_line, std::move(target), std::move(iterable), std::move(condition), std::move(body), std::move(otherwise));
    node->recursive = recursive;
    return node;
  }

  Result<NodePtr> parse_set(int at_line) {
    PTERON_ASSIGN(NodePtr target, assign_target(true));
    if (take_symbol("=")) {
      PTERON_ASSIGN(NodePtr value, tuple(true));
      PTERON_TRY(expect(TokenKind::block_end));
      return make(NodeKind::set, at_line, std::move(target), std::move(value));
    }
    NodePtr node = make(NodeKind::set_block, at_line, std::move(target));
    NodePtr filters;
    if (is_symbol("|")) {
      PTERON_ASSIGN(filters, filter_chain(nullptr));
    }
    PTERON_ASSIGN(NodePtr body, body_until("endset"));
    adopt(*node, std::move(body));
    if (filters != nullptr) adopt(*node, std::move(filters));
    return node;
  }

  Result<NodePtr> parse_block(int at_line) {
    PTERON_ASSIGN(const std::string name, take_any_name());
    while (is_name("scoped") || is_name("required")) next();
    PTERON_TRY(expect(TokenKind::block_end));
    PTERON_ASSIGN(NodePtr body, statements({"endblock"}));
    next();
    if (current().kind == TokenKind::name && current().text == name) next();
    PTERON_TRY(expect(TokenKind::block_end));
    body->line = at_line;
    return body;
  }

  Status parse_parameters(Node& node) {
    PTERON_TRY(expect_symbol("("));
    while (!is_symbol(")")) {
      PTERON_ASSIGN(std::string name, take_any_name());
      NodePtr fallback;
      if (take_symbol("=")) {
        PTERON_ASSIGN(fallback, expression());
      } else if (!node.parameters.empty() && node.parameters.back().second != nullptr) {
        return syntax_error(line(), "a parameter without a default after one with a default");
      }
      deepen(node, fallback);
      node.parameters.emplace_back(std::move(name), std::move(fallback));
      if (!is_symbol(")")) PTERON_TRY(expect_symbol(","));
    }
    next();
    return {};
  }

  // A macro's body is its own place: no loop reaches into it.
  Result<NodePtr> callable_body(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Result<NodePtr> body = body_until(end);
    loops_ = loops;
    return body;
  }

  Result<NodePtr> parse_macro(int at_line) {
    NodePtr node = make(NodeKind::macro, at_line);
    PTERON_ASSIGN(node->text, take_any_name());
    PTERON_TRY(parse_parameters(*node));
    PTERON_ASSIGN(NodePtr body, callable_body("endmacro"));
    node->varargs = mentions(*body, "varargs");
    node->kwargs = mentions(*body, "kwargs");
    adopt(*node, std::move(body));
    return node;
  }

  Result<NodePtr> parse_call(int at_line) {
    NodePtr node = make(NodeKind::call_block, at_line);
    if (is_symbol("(")) PTERON_TRY(parse_parameters(*node));
    PTERON_ASSIGN(NodePtr call, expression());
    if (call->kind != NodeKind::call) return syntax_error(at_line, "a call block needs a call");
    PTERON_ASSIGN(NodePtr body, callable_body("endcall"));
    node->varargs = mentions(*body, "varargs");
    node->kwargs = mentions(*body, "kwargs");
    adopt(*node, std::move(call));
    adopt(*node, std::move(body));
    return node;
  }

  Result<NodePtr> parse_filter_block(int at_line) {
    PTERON_ASSIGN(NodePtr filter, filter_step(nullptr));
    while (is_symbol("|")) {
      next();
      PTERON_ASSIGN(filter, filter_step(std::move(filter)));
    }
    PTERON_ASSIGN(NodePtr body, body_until("endfilter"));
    return make(NodeKind::filter_block, at_line, std::move(filter), std::move(body));
  }

  Result<NodePtr> parse_with(int at_line) {
    NodePtr node = make(NodeKind::with, at_line);
    while (current().kind != TokenKind::block_end) {
      if (!node->children.empty()) PTERON_TRY(expect_symbol(","));
      PTERON_ASSIGN(NodePtr target, assign_target(false));
      PTERON_TRY(expect_symbol("="));
      PTERON_ASSIGN(NodePtr value, expression());
      adopt(*node, std::move(target));
      adopt(*node, std::move(value));
    }
    PTERON_ASSIGN(NodePtr body, body_until("endwith"));
    adopt(*node, std::move(body));
    return node;
  }

  // a, or a, b, or ns.a (where a namespace is meant).
  Result<NodePtr> assign_target(bool allow_attribute) {
    const int at_line = line();
    std::vector<NodePtr> parts;
    bool is_tuple = false;
    do {
      const bool parenthesis = take_symbol("(");
      if (parenthesis) {
        PTERON_ASSIGN(NodePtr inner, assign_target(false));
        PTERON_TRY(expect_symbol(")"));
        parts.push_back(std::move(inner));
        continue;
      }
      if (!parts.empty() && (current().kind != TokenKind::name || is_name("in"))) break;
      PTERON_ASSIGN(std::string name, take_any_name());
      NodePtr node = make(NodeKind::name, at_line);
      node->text = std::move(name);
      if (allow_attribute && parts.empty() && take_symbol(".")) {
        NodePtr attribute = make(NodeKind::attribute, at_line, std::move(node));
        PTERON_ASSIGN(attribute->text, take_any_name());
        return attribute;
      }
      parts.push_back(std::move(node));
    } while (take_symbol(",") && (is_tuple = true));
    if (!is_tuple) return std::move(parts[0]);
    NodePtr node = make(NodeKind::tuple, at_line);
    for (NodePtr& part : parts) adopt(*node, std::move(part));
    return node;
  }

  // One expression, or several with commas between them: a tuple.
  Result<NodePtr> tuple(bool with_conditional, bool ends_at_if = false) {
    const int at_line = line();
    const auto one = [&]() -> Result<NodePtr> { return with_conditional && !ends_at_if ? expression() : ends_at_if ? logical_or() : expression(); };
    PTERON_ASSIGN(NodePtr first, one());
    if (!is_symbol(",")) return first;
    NodePtr node = make(NodeKind::tuple, at_line, std::move(first));
    while (take_symbol(",")) {
      if (current().kind == TokenKind::variable_end || current().kind == TokenKind::block_end || is_symbol(")")) break;
      PTERON_ASSIGN(NodePtr item, one());
      adopt(*node, std::move(item));
    }
    return node;
  }

  Result<NodePtr> expression() {
    const Level level(depth_);
    if (depth_ > kMaxDepth) return syntax_error(line(), "expressions are nested too deeply");
    PTERON_ASSIGN(NodePtr value, logical_or());
    while (is_name("if")) {
      const int at_line = line();
      next();
      PTERON_ASSIGN(NodePtr condition, logical_or());
      NodePtr other;
      if (take_name("else")) {
        PTERON_ASSIGN(other, expression());
      }
      value = make(NodeKind::conditional, at_line, std::move(value), std::move(condition), std::move(other));
      PTERON_TRY(check_tree(value));
    }
    return value;
  }

  Result<NodePtr> logical_or() {
    PTERON_ASSIGN(NodePtr left, logical_and());
    while (is_name("or")) {
      const int at_line = line();
      next();
      PTERON_ASSIGN(NodePtr right, logical_and());
      left = make(NodeKind::logical_or, at_line, std::move(left), std::move(right));
      PTERON_TRY(check_tree(left));
    }
    return left;
  }

  Result<NodePtr> logical_and() {
    PTERON_ASSIGN(NodePtr left, logical_not());
    while (is_name("and")) {
      const int at_line = line();
      next();
      PTERON_ASSIGN(NodePtr right, logical_not());
      left = make(NodeKind::logical_and, at_line, std::move(left), std::move(right));
      PTERON_TRY(check_tree(left));
    }
    return left;
  }

  Result<NodePtr> logical_not() {
    const Level level(depth_);
    if (depth_ > kMaxDepth) return syntax_error(line(), "expressions are nested too deeply");
    const int at_line = line();
    if (!is_name("not")) return compare();
    next();
    return wrap(NodeKind::logical_not, at_line, logical_not());
  }

  Result<NodePtr> compare() {
    const int at_line = line();
    PTERON_ASSIGN(NodePtr first, sum());
    NodePtr node;
    while (true) {
      std::string op;
      for (std::string_view symbol : {"==", "!=", "<=", ">=", "<", ">"}) {
        if (op.empty() && take_symbol(symbol)) op = symbol;
      }
      if (op.empty() && take_name("in")) op = "in";
      if (op.empty() && is_name("not") && ahead().kind == TokenKind::name && ahead().text == "in") {
        next();
        next();
        op = "not in";
      }
      if (op.empty()) return node != nullptr ? std::move(node) : std::move(first);
      if (node == nullptr) node = make(NodeKind::compare, at_line, std::move(first));
      PTERON_ASSIGN(NodePtr operand, sum());
      node->operators.push_back(std::move(op));
      adopt(*node, std::move(operand));
    }
  }

  // Left-associative binary operators of one level.
  Result<NodePtr> binary(std::initializer_list<std::string_view> symbols, Result<NodePtr> (Parser::*operand)()) {
    PTERON_ASSIGN(NodePtr left, (this->*operand)());
    while (true) {
      std::string_view found;
      for (std::string_view symbol : symbols) {
        if (is_symbol(symbol)) found = symbol;
      }
      if (found.empty()) return left;
      const int at_line = line();
      next();
      PTERON_ASSIGN(NodePtr right, (this->*operand)());
      left = make(NodeKind::binary, at_line, std::move(left), std::move(right));
      left->text = found;
      PTERON_TRY(check_tree(left));
    }
  }

  Result<NodePtr> sum() { return binary({"+", "-"}, &Parser::concatenation); }
  Result<NodePtr> concatenation() { return binary({"~"}, &Parser::product); }
  Result<NodePtr> product() { return binary({"*", "/", "//", "%"}, &Parser::power); }
  Result<NodePtr> power() { return binary({"**"}, &Parser::filtered_unary); }
  Result<NodePtr> filtered_unary() { return unary(true); }

  Result<NodePtr> unary(bool with_filters) {
    const Level level(depth_);
    if (depth_ > kMaxDepth) return syntax_error(line(), "expressions are nested too deeply");
    const int at_line = line();
    NodePtr node;
    if (is_symbol("-") || is_symbol("+")) {
      const NodeKind kind = is_symbol("-") ? NodeKind::negate : NodeKind::plus;
      next();
      PTERON_ASSIGN(NodePtr operand, unary(false));
      node = make(kind, at_line, std::move(operand));
    } else {
      PTERON_ASSIGN(node, primary());
    }
    PTERON_ASSIGN(node, postfix(std::move(node)));
    return with_filters ? filters_and_tests(std::move(node)) : std::move(node);
  }

  NodePtr constant(Value value, int at_line) const {
    NodePtr node = make(NodeKind::constant, at_line);
    node->value = std::move(value);
    return node;
  }

  Result<NodePtr> primary() {
    const Token token = current();
    switch (token.kind) {
      case TokenKind::name: {
        next();
        if (token.text == "true" || token.text == "True") return constant(Value::boolean(true), token.line);
        if (token.text == "false" || token.text == "False") return constant(Value::boolean(false), token.line);
        if (token.text == "none" || token.text == "None") return constant(Value::none(), token.line);
        NodePtr node = make(NodeKind::name, token.line);
        node->text = token.text;
        return node;
      }
      case TokenKind::string: {
        std::string text;
        for (; current().kind == TokenKind::string; next()) text += current().text;
        return constant(Value::string(std::move(text)), token.line);
      }
      case TokenKind::integer: next(); return constant(Value::integer(token.integer), token.line);
      case TokenKind::number: next(); return constant(Value::number(token.number), token.line);
      default: break;
    }
    if (take_symbol("(")) {
      if (take_symbol(")")) return make(NodeKind::tuple, token.line);
      PTERON_ASSIGN(NodePtr inner, tuple(true));
      PTERON_TRY(expect_symbol(")"));
      return inner;
    }
    if (take_symbol("[")) {
      NodePtr node = make(NodeKind::list, token.line);
      while (!take_symbol("]")) {
        if (!node->children.empty()) {
          PTERON_TRY(expect_symbol(","));
          if (take_symbol("]")) break;
        }
        PTERON_ASSIGN(NodePtr item, expression());
        adopt(*node, std::move(item));
      }
      return node;
    }
    if (take_symbol("{")) {
      NodePtr node = make(NodeKind::dict, token.line);
      while (!take_symbol("}")) {
        if (!node->children.empty()) {
          PTERON_TRY(expect_symbol(","));
          if (take_symbol("}")) break;
        }
        PTERON_ASSIGN(NodePtr key, expression());
        PTERON_TRY(expect_symbol(":"));
        PTERON_ASSIGN(NodePtr value, expression());
        adopt(*node, std::move(key));
        adopt(*node, std::move(value));
      }
      return node;
    }
    return unexpected();
  }

  Result<NodePtr> postfix(NodePtr node) {
    while (true) {
      PTERON_TRY(check_tree(node));
      const int at_line = line();
      if (take_symbol(".")) {
        if (current().kind == TokenKind::integer) {
          NodePtr index = constant(Value::integer(current().integer), at_line);
          next();
          node = make(NodeKind::subscript, at_line, std::move(node), std::move(index));
          continue;
        }
        NodePtr attribute = make(NodeKind::attribute, at_line, std::move(node));
        PTERON_ASSIGN(attribute->text, take_any_name());
        node = std::move(attribute);
      } else if (take_symbol("[")) {
        PTERON_ASSIGN(NodePtr index, subscript());
        PTERON_TRY(expect_symbol("]"));
        node = make(NodeKind::subscript, at_line, std::move(node), std::move(index));
      } else if (is_symbol("(")) {
        NodePtr call = make(NodeKind::call, at_line, std::move(node));
        PTERON_TRY(arguments(*call));
        node = std::move(call);
      } else {
        return node;
      }
    }
  }

  Result<NodePtr> subscript() {
    const int at_line = line();
    std::array<NodePtr, 3> parts;
    size_t part = 0;
    bool is_slice = false;
    while (!is_symbol("]")) {
      if (take_symbol(":")) {
        is_slice = true;
        if (++part > 2) return unexpected();
        continue;
      }
      if (parts[part] != nullptr) return unexpected();
      PTERON_ASSIGN(parts[part], tuple(true));
    }
    if (!is_slice) {
      if (parts[0] == nullptr) return unexpected();
      return std::move(parts[0]);
    }
    return make(NodeKind::slice, at_line, std::move(parts[0]), std::move(parts[1]), std::move(parts[2]));
  }

  Status arguments(Node& call) {
    PTERON_TRY(expect_symbol("("));
    while (!is_symbol(")")) {
      if (is_symbol("*") || is_symbol("**")) {
        std::string spread = current().text;
        next();
        PTERON_ASSIGN(NodePtr value, expression());
        deepen(call, value);
        call.named.emplace_back(std::move(spread), std::move(value));
      } else if (current().kind == TokenKind::name && ahead().kind == TokenKind::symbol && ahead().text == "=") {
        std::string name = current().text;
        next();
        next();
        PTERON_ASSIGN(NodePtr value, expression());
        deepen(call, value);
        call.named.emplace_back(std::move(name), std::move(value));
      } else {
        if (!call.named.empty()) return syntax_error(line(), "an argument by position after one by name");
        PTERON_ASSIGN(NodePtr value, expression());
        adopt(call, std::move(value));
      }
      if (!is_symbol(")")) PTERON_TRY(expect_symbol(","));
    }
    next();
    return {};
  }

  Result<NodePtr> filters_and_tests(NodePtr node) {
    while (true) {
      PTERON_TRY(check_tree(node));
      if (is_symbol("|")) {
        PTERON_ASSIGN(node, filter_chain(std::move(node)));
      } else if (is_name("is")) {
        PTERON_ASSIGN(node, test(std::move(node)));
      } else if (is_symbol("(")) {
        PTERON_ASSIGN(node, postfix(std::move(node)));
      } else {
        return node;
      }
    }
  }

  Result<NodePtr> filter_chain(NodePtr node) {
    while (take_symbol("|")) {
      PTERON_ASSIGN(node, filter_step(std::move(node)));
    }
    return node;
  }

  Result<NodePtr> filter_step(NodePtr operand) {
    const int at_line = line();
    PTERON_ASSIGN(std::string name, take_any_name());
    while (take_symbol(".")) {
      PTERON_ASSIGN(const std::string part, take_any_name());
      name += "." + part;
    }
    if (!filter_exists(name)) return syntax_error(at_line, "no filter named '" + name.substr(0, 40) + "'");
    NodePtr node = make(NodeKind::filter, at_line, std::move(operand));
    node->text = std::move(name);
    PTERON_TRY(check_tree(node));
    if (is_symbol("(")) PTERON_TRY(arguments(*node));
    return node;
  }

  Result<NodePtr> test(NodePtr operand) {
    const int at_line = line();
    next();
    const bool negated = take_name("not");
    PTERON_ASSIGN(std::string name, take_any_name());
    if (!test_exists(name)) return syntax_error(at_line, "no test named '" + name.substr(0, 40) + "'");
    NodePtr node = make(NodeKind::test, at_line, std::move(operand));
    node->text = std::move(name);
    node->negated = negated;
    const Token& token = current();
    const bool word = token.kind == TokenKind::name && token.text != "else" && token.text != "or" && token.text != "and" && token.text != "is" && token.text != "if" &&
                      token.text != "in" && token.text != "not" && token.text != "recursive";
    if (is_symbol("(")) {
      PTERON_TRY(arguments(*node));
    } else if (word || token.kind == TokenKind::string || token.kind == TokenKind::integer || token.kind == TokenKind::number || is_symbol("[") || is_symbol("{")) {
      PTERON_ASSIGN(NodePtr argument, primary());
      PTERON_ASSIGN(argument, postfix(std::move(argument)));
      adopt(*node, std::move(argument));
    }
    return node;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0, loops_ = 0;
};

}  // namespace

Result<NodePtr> parse(std::string_view source) {
  PTERON_ASSIGN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace pteron::text::jinja
