#include "tools/contract_words.h"

#include <map>

namespace pteron::tools {
namespace {

size_t element_bytes(const std::string& dtype) { return dtype == "float32" ? 4 : 2; }

std::string layers_words(const Json& cache, uint64_t& bytes_in_all, uint64_t& full_bytes_per_token) {
  struct Kind {
    size_t layers = 0;
    uint64_t bytes = 0;
  };
  std::map<std::string, Kind> kinds;
  const size_t element = element_bytes(cache.value("dtype", "float32"));
  for (const Json& layer : cache["layers"]) {
    const uint64_t slot = layer.value("heads", uint64_t{0}) * (layer.value("key_dim", uint64_t{0}) + layer.value("value_dim", uint64_t{0})) * element;
    const uint64_t slots = layer.value("slots", uint64_t{0});
    std::string text = layer.value("kind", "full") == "sliding" ? "a token sees the last " + layer.value("window", Json(0)).dump() + " tokens (a ring of " + std::to_string(slots) + " slots)"
                                                                : "a token sees all before it (" + std::to_string(slots) + " slots)";
    Kind& kind = kinds[text];
    ++kind.layers;
    kind.bytes += slot * slots;
    bytes_in_all += slot * slots;
    if (layer.value("kind", "full") == "full") full_bytes_per_token += slot;
  }
  std::string words;
  for (const auto& [text, kind] : kinds) {
    words += "  in " + std::to_string(kind.layers) + (kind.layers == 1 ? " layer " : " layers ") + text + ": " + human_bytes(static_cast<double>(kind.bytes)) + " of " + cache.value("dtype", "") + " cache\n";
  }
  return words;
}

// The rule of chapter 9.4 of the contract: chunks while they fit and are worth it, then one by one.
std::string split_words(size_t prompt, size_t context, size_t rows) {
  if (prompt > context) return "  a prompt of " + std::to_string(prompt) + " tokens does not fit\n";
  size_t t = 0, chunks = 0, singles = 0, last = 0;
  while (t < prompt) {
    const size_t left = prompt - t;
    if (rows >= 2 && t + rows <= context && left >= 2) {
      last = std::min(rows, left);
      t += last;
      ++chunks;
    } else {
      ++t;
      ++singles;
    }
  }
  std::string words = "  a prompt of " + std::to_string(prompt) + " tokens takes ";
  if (chunks > 0) words += std::to_string(chunks) + " prefill call" + (chunks == 1 ? "" : "s") + " (the last with " + std::to_string(last) + " of " + std::to_string(rows) + " rows)";
  if (singles > 0) words += std::string(chunks > 0 ? " and " : "") + std::to_string(singles) + " decode call" + (singles == 1 ? "" : "s");
  return words + "\n";
}

}  // namespace

std::string contract_words(const Json& contract, size_t prompt) {
  if (!contract.is_object() || !contract.contains("cache") || !contract["cache"].contains("layers")) return {};
  const size_t context = contract.value("context_length", size_t{0});
  std::string words = "contract " + contract.value("contract", "?") + " version " + contract.value("version", Json(0)).dump() + ": " + contract.value("architecture", "a model") + ", " +
                      std::to_string(context) + " tokens of context, " + contract.value("vocab_size", Json(0)).dump() + " ids\n";
  uint64_t bytes = 0, per_token = 0;
  words += layers_words(contract["cache"], bytes, per_token);
  words += "  caches take " + human_bytes(static_cast<double>(bytes)) + " a session; a token fills " + human_bytes(static_cast<double>(per_token)) + " where all tokens are seen\n";
  size_t rows = 0;
  for (const Json& method : contract.value("methods", Json::array())) {
    if (method.value("role", "") == "prefill") rows = method.value("rows", size_t{0});
    words += "  method " + method.value("name", "?") + " takes " + method.value("rows", Json(0)).dump() + (method.value("rows", 0) == 1 ? " token" : " tokens") + " a call, gives logits of " +
             (method.value("logits_rows", "all") == "all" ? "all of them" : "the one asked for") + "\n";
  }
  if (contract.contains("verify")) {
    words += "  method " + contract["verify"].value("name", "?") + " tries up to " + contract["verify"].value("rows", Json(0)).dump() + " guessed tokens in a call (prompt lookup)\n";
  }
  return words + split_words(prompt > 0 ? prompt : std::min<size_t>(context, 300), context, rows);
}

}  // namespace pteron::tools
