// Any bytes as a table: opening, encoding, decoding and asking about tokens must be safe and end.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/unicode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron;
  using namespace pteron::text;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto tokenizer = Tokenizer::from_table(bytes);
  if (!tokenizer.ok()) return 0;
  std::string own;  // the end of the input, as text of its own
  append_lossy_utf8(own, as_text(bytes.last(std::min<size_t>(size, 48))));
  std::vector<TokenId> ids = {-1, 0, 1, 2, 3, 0x7fffffff};
  for (const std::string& text : {std::string("The caf\xc3\xa9 costs 12 \xe2\x82\xac,\n  don't\t<s>ab</s>  \xe2\x96\x81"), std::string(300, 'a') + " b", own}) {
    for (const bool special : {false, true}) {
      const auto encoded = tokenizer->encode(text, {.parse_special = special, .add_special = special});
      if (encoded.ok()) ids.insert(ids.end(), encoded->begin(), encoded->end());
    }
    (void)tokenizer->lost_bytes(text);
  }
  ids.resize(std::min<size_t>(ids.size(), 600));
  const auto whole = tokenizer->decode(ids);
  DecodeStream stream = tokenizer->stream();
  std::string text;
  for (const TokenId id : ids) text += stream.push(id);
  text += stream.flush();
  if (!whole.ok() || text != *whole) std::abort();
  for (const TokenId id : ids) {
    (void)tokenizer->piece_bytes(id);
    (void)tokenizer->token_to_id(tokenizer->piece(id));
  }
  return 0;
}
