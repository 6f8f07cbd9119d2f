#include "text/gguf_pre_tokenizer.h"

#include "text/pre_tokenizer.h"
#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

class Pieces final : public PieceSink {
 public:
  Status piece(std::string_view text) override {
    joined += std::string(joined.empty() ? "" : "|") + std::string(text);
    return {};
  }
  std::string joined;
};

std::string cut(std::string_view name, std::string_view text) {
  const GgufPreTokenizer* pre = find_gguf_pre_tokenizer(name);
  if (pre == nullptr) return "unknown";
  TokenizerContent content;
  const Status status = append_gguf_pre_tokenizer(*pre, content);
  EXPECT_TRUE(status.ok()) << status.message();
  const auto bytes = table_with(content);
  const auto table = TokenTable::open(bytes);
  const auto pre_tokenizer = PreTokenizer::from_table(*table);
  EXPECT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.status().message();
  Pieces pieces;
  StepBudget budget(text.size());
  EXPECT_TRUE(PreTokenizerRun(*pre_tokenizer, budget, pieces).cut(text, true).ok());
  return pieces.joined;
}

TEST(GgufPreTokenizer, PatternsOfTheNames) {
  EXPECT_EQ(cut("", "don't 2024  x"), "don|'t| 2024| | x");
  EXPECT_EQ(cut("gpt-2", "DON'T"), "DON|'|T");
  EXPECT_EQ(cut("smollm", "a 2024"), "a| |2|0|2|4");
  EXPECT_EQ(cut("llama-bpe", "DON'T 20245"), "DON|'T| |202|45");
  EXPECT_EQ(cut("qwen2", "(a) 20"), "(a|)| |2|0");
  EXPECT_EQ(cut("gpt-4o", "HelloWorld's 1234/\n"), "Hello|World's| |123|4|/\n");
  EXPECT_EQ(cut("tekken", "Hello's 12"), "Hello|'s| |1|2");
  EXPECT_EQ(cut("falcon", "a,12345"), "a|,|123|45");
  EXPECT_EQ(cut("deepseek-v3", "ab12345\xe4\xb8\x80"), "ab|123|45|\xe4\xb8\x80");
  EXPECT_EQ(cut("deepseek-coder", "a\nb 12"), "a|\n|b| |1|2");
  EXPECT_EQ(cut("bloom", "hi, you"), "hi|,| you");
}

TEST(GgufPreTokenizer, EveryNameWorks) {
  std::string names = known_gguf_pre_tokenizers();
  ASSERT_TRUE(names.starts_with("one of "));
  names += ' ';
  size_t count = 0;
  for (size_t at = 7; at < names.size(); ++count) {
    const size_t end = names.find(' ', at);
    const std::string text = "It's 12345 words,\n\n and \xe4\xb8\x80\xe4\xba\x8c!  ";
    std::string joined = cut(names.substr(at, end - at), text);
    std::erase(joined, '|');
    EXPECT_EQ(joined, text) << names.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_GT(count, 30u);
}

TEST(GgufPreTokenizer, UnknownNamesAreNull) {
  for (const char* name : {"unheard-of", "gpt", "gpt-2 ", "default gpt-2"}) EXPECT_EQ(find_gguf_pre_tokenizer(name), nullptr) << name;
}

}  // namespace
}  // namespace pteron::text
