// Any vocabulary as a GGUF file could hold it. The input is lines: model, pre-tokenizer, settings, then tokens ("type score text") and merges ("m left right").
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/tokenizer.h"
#include "text/tokenizer_compile.h"

namespace {

std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron;
  using namespace pteron::text;
  std::string_view rest = as_text({reinterpret_cast<const std::byte*>(data), size});
  GgufVocabulary v;
  v.model = take_line(rest);
  v.pre = take_line(rest);
  const std::string_view settings = take_line(rest);
  const auto setting = [&](size_t i) { return i < settings.size() ? static_cast<int8_t>(settings[i]) : int8_t{-1}; };
  v.bos_token_id = setting(0);
  v.eos_token_id = setting(1);
  v.unknown_token_id = setting(2);
  v.cls_token_id = setting(3);
  v.seperator_token_id = setting(4);
  v.add_space_prefix = setting(5);
  v.remove_extra_whitespaces = setting(6);
  v.add_bos_token = setting(7);
  if (settings.size() > 8) v.precompiled_charsmap = settings.substr(8);
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.starts_with("m ")) {
      v.merges.emplace_back(line.substr(2));
    } else if (line.size() > 3) {
      v.token_types.push_back(line[0] - '0');
      v.scores.push_back(static_cast<float>(line[1] - '9'));
      v.tokens.emplace_back(line.substr(3));
    }
  }
  const auto table = compile_gguf_vocabulary(v);
  if (!table.ok()) return 0;
  const auto tokenizer = Tokenizer::from_table(*table);
  if (!tokenizer.ok()) std::abort();
  const auto ids = tokenizer->encode("ab  ba 12\xc3\xa9!</s>", {.parse_special = true, .add_special = true});
  if (ids.ok()) (void)tokenizer->decode(*ids);
  return 0;
}
