// pteron inspect: what a program contains, as text, JSON or a page.
#include <cstdio>
#include <map>
#include <memory>

#include "pteron/program.h"
#include "tools/contract_words.h"
#include "tools/inspect_html.h"
#include "tools/keys.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  std::string file, html, method;
  std::vector<std::string> data;
  TrustOptions trust;
  bool instructions = false;
  size_t prompt = 0;
};

std::string shape_text(const Json& slot) {
  if (slot["kind"] != "tensor") {
    const std::string kind = slot["kind"];
    return slot.contains("value") ? kind + " " + slot["value"].dump(-1, ' ', false, Json::error_handler_t::replace) : kind;
  }
  std::string text = slot["dtype"].get<std::string>() + " " + slot["shape"].dump();
  if (slot.contains("dim_order")) text += " dim order " + slot["dim_order"].dump();
  if (slot.contains("dynamic")) text += ", up to";
  return text + (slot["planned"].get<bool>() ? ", planned" : "");
}

// Runs of slots of one kind on one line: "2-61  float32 [1,3,2048,64] (60)".
void print_slots(const char* title, const Json& slots) {
  for (size_t i = 0; i < slots.size();) {
    size_t end = i + 1;
    const std::string text = shape_text(slots[i]);
    while (end < slots.size() && shape_text(slots[end]) == text) ++end;
    const std::string range = end - i == 1 ? std::to_string(i) : std::to_string(i) + "-" + std::to_string(end - 1);
    std::printf("  %-8s %-8s %s\n", i == 0 ? title : "", range.c_str(), text.c_str());
    i = end;
  }
}

void print_method(const Json& method) {
  std::printf("\nmethod %s\n", method["name"].get<std::string>().c_str());
  print_slots("inputs", method["inputs"]);
  print_slots("outputs", method["outputs"]);
  uint64_t arenas = 0;
  for (const Json& bytes : method["arena_bytes"]) arenas += bytes.get<uint64_t>();
  std::printf("  memory   %s planned in %zu arena%s\n", human_bytes(static_cast<double>(arenas)).c_str(), method["arena_bytes"].size(), method["arena_bytes"].size() == 1 ? "" : "s");
  for (const Json& delegate : method["delegates"]) {
    std::printf("  delegate %s, %s\n", delegate["id"].get<std::string>().c_str(), human_bytes(delegate["bytes"].get<double>()).c_str());
  }
  if (!method["operators"].empty()) {
    std::printf("  operators %zu instructions:", method["instructions"].get<size_t>());
    for (const auto& [name, count] : method["operators"].items()) std::printf(" %s x%zu", name.c_str(), count.get<size_t>());
    std::printf("\n");
  }
}

void print_listing(const Json& method) {
  size_t at = 0;
  std::printf("\nmethod %s\n", method["name"].get<std::string>().c_str());
  for (const Json& i : method["listing"]) {
    const std::string kind = i["kind"];
    std::string text = kind == "kernel_call"     ? i["operator"].get<std::string>() + " " + i["args"].dump()
                       : kind == "delegate_call" ? "delegate " + i["delegate"].get<std::string>() + " " + i["args"].dump()
                       : kind == "move_call"     ? "move " + i["from"].dump() + " -> " + i["to"].dump()
                       : kind == "free_call"     ? "free " + i["value"].dump()
                                                 : "jump to " + i["destination"].dump() + " unless " + i["condition"].dump();
    std::printf("%5zu  %s\n", at++, text.c_str());
  }
}

// Packed weights by encoding, with the errors of those that were quantised at export.
void print_weights(const Json& weights) {
  struct Group {
    size_t count = 0, quantised = 0;
    uint64_t bytes = 0;
    double sum = 0, worst = 0;
    std::string worst_key;
  };
  std::map<std::string, Group> groups;
  for (const Json& weight : weights) {
    Group& group = groups[weight["encoding"].get<std::string>()];
    ++group.count;
    group.bytes += weight["bytes"].get<uint64_t>();
    if (!weight.contains("error")) continue;
    const double error = weight["error"];
    ++group.quantised;
    group.sum += error;
    if (error > group.worst) group.worst = error, group.worst_key = weight["key"];
  }
  for (const auto& [encoding, group] : groups) {
    std::printf("weights %-14s %zu, %s", encoding.c_str(), group.count, human_bytes(static_cast<double>(group.bytes)).c_str());
    if (group.quantised > 0) {
      std::printf("; quantised with a relative error of %.4f on average, %.4f at most (%s)", group.sum / static_cast<double>(group.quantised), group.worst, group.worst_key.c_str());
    }
    std::printf("\n");
  }
}

void print_text(const Json& report, const Options& options) {
  std::printf("%s, %s\n", options.file.c_str(), human_bytes(report["bytes"]["total"].get<double>()).c_str());
  const Json& trust = report["manifest"];
  std::printf("signature: %s%s\n", trust["state"].get<std::string>().c_str(), trust.contains("key_id") ? (" (key " + trust["key_id"].get<std::string>() + ")").c_str() : "");
  std::printf("bytes:");
  for (const auto& [kind, bytes] : report["bytes"].items()) {
    if (kind != "total" && bytes.get<uint64_t>() > 0) std::printf(" %s %s;", kind.c_str(), human_bytes(bytes.get<double>()).c_str());
  }
  std::printf("\n");
  if (report.contains("contract")) std::printf("\n%s", contract_words(report["contract"], options.prompt).c_str());
  for (const Json& method : report["methods"]) {
    if (!options.method.empty() && method["name"] != options.method) continue;
    if (options.instructions) print_listing(method);
    else if (!method["constant"].get<bool>()) print_method(method);
  }
  if (options.instructions) return;
  std::printf("\nconstant methods:");
  for (const Json& method : report["methods"]) {
    if (!method["constant"].get<bool>() || method["name"] == "io_contract") continue;
    std::printf(" %s =", method["name"].get<std::string>().c_str());
    for (const Json& output : method["outputs"]) std::printf(" %s", output.contains("value") ? output["value"].dump(-1, ' ', false, Json::error_handler_t::replace).c_str() : shape_text(output).c_str());
    std::printf(";");
  }
  std::printf("\n");
  print_weights(report["weights"]);
  // Weights of a backend have one entry each: those that share a prefix are summed.
  std::map<std::string, std::pair<size_t, uint64_t>> groups;
  for (const Json& entry : report["named_data"]) {
    const std::string key = entry["key"];
    const size_t slash = key.find('/');
    auto& [count, bytes] = groups[slash == std::string::npos ? key : key.substr(0, slash) + "/..."];
    ++count;
    bytes += entry["bytes"].get<uint64_t>();
  }
  for (const auto& [key, sum] : groups) {
    std::printf("named data %-24s %s%s\n", key.c_str(), human_bytes(static_cast<double>(sum.second)).c_str(), sum.first > 1 ? (" in " + std::to_string(sum.first) + " entries").c_str() : "");
  }
}

int run_inspect(Context& context, const Options& options) {
  const Result<TrustedPolicy> trusted = load_policy(options.trust);
  if (!trusted.ok()) return fail(context, trusted.status());
  const Result<Program> program = options.data.empty() ? Program::open_tables(options.file, trusted->policy)
                                                       : Program::open(options.file, trusted->policy, options.data);
  if (!program.ok()) return fail(context, program.status());
  if (!options.method.empty() && program->find(options.method) == nullptr) {
    std::string known;
    for (const MethodInfo& method : program->methods()) known += (known.empty() ? "" : ", ") + method.name;
    return fail(context, Status::error(Code::not_found, "no such method", {.file = options.file, .field = "--method", .expected = "one of " + known, .found = options.method}));
  }
  const Json report = Json::parse(program->describe(options.instructions || !options.html.empty()));
  if (!options.html.empty()) {
    if (const Status status = write_inspect_html(options.html, options.file, report); !status.ok()) return fail(context, status);
    if (!context.quiet) std::fprintf(stderr, "wrote %s\n", options.html.c_str());
    if (!context.json) return kDone;
  }
  if (context.json) return print_json(report);
  print_text(report, options);
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("inspect", "show what a program contains");
  reads(verb.add_option("FILE", options->file, "the program"))->required();
  reads(verb.add_option("--data", options->data, "a .ptd file with external tensors (repeatable)"));
  writes(verb.add_option("--html", options->html, "write a self-contained page: size map, memory plan, a graph per method"));
  verb.add_option("--method", options->method, "this method only");
  verb.add_flag("--instructions", options->instructions, "list the instructions");
  verb.add_option("--prompt", options->prompt, "explain how a prompt of N tokens is split")->check(CLI::Range(1, 1 << 30));
  add_trust_options(verb, options->trust);
  finish_verb(verb, context, "pteron inspect smollm2.pte", [&context, options] { return run_inspect(context, *options); });
}

}  // namespace pteron::tools
