// Any bytes as a tokenizer.json: an error, or a tokenizer whose stream says what its decoder says.
#include <cstdint>
#include <cstdlib>

#include "text/tokenizer.h"
#include "text/tokenizer_compile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron;
  using namespace pteron::text;
  const auto table = compile_tokenizer_json(as_text({reinterpret_cast<const std::byte*>(data), size}));
  if (!table.ok()) return 0;
  const auto tokenizer = Tokenizer::from_table(*table);
  if (!tokenizer.ok()) std::abort();  // what the compiler makes must open
  const auto ids = tokenizer->encode("The caf\xc3\xa9, 12 \xe2\x82\xac\n don't <s> ab\xe2\x96\x81", {.parse_special = true, .add_special = true});
  if (!ids.ok()) return 0;
  DecodeStream stream = tokenizer->stream();
  std::string text;
  for (const TokenId id : *ids) text += stream.push(id);
  if (text + stream.flush() != *tokenizer->decode(*ids)) std::abort();
  return 0;
}
