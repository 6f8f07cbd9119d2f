// What tests of tokenizers share: a compiled tokenizer that keeps its table alive.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "text/token_table_writer.h"
#include "text/tokenizer.h"
#include "text/tokenizer_compile.h"

namespace pteron::text {

struct TestTokenizer {
  std::unique_ptr<std::vector<std::byte>> table;  // at an address that stays
  Tokenizer tokenizer;

  static TestTokenizer from(Result<std::vector<std::byte>> compiled) {
    if (!compiled.ok()) ADD_FAILURE() << compiled.status().message();
    auto table = std::make_unique<std::vector<std::byte>>(compiled.ok() ? std::move(compiled).value() : std::vector<std::byte>());
    auto opened = Tokenizer::from_table(*table);
    if (!opened.ok()) ADD_FAILURE() << opened.status().message();
    return {std::move(table), std::move(opened).value()};
  }
  static TestTokenizer from_json(std::string_view json) { return from(compile_tokenizer_json(json)); }
  static TestTokenizer from_data(const std::string& name) {
    auto json = read_text_file(std::string(PTERON_TEST_DATA) + "/tokenizers/" + name + "/tokenizer.json");
    EXPECT_TRUE(json.ok()) << json.status().message();
    return from_json(json.ok() ? *json : std::string());
  }

  std::vector<TokenId> ids(std::string_view text, EncodeOptions options = {.parse_special = true}) const {
    auto result = tokenizer.encode(text, options);
    if (!result.ok()) ADD_FAILURE() << result.status().message();
    return result.ok() ? std::move(result).value() : std::vector<TokenId>();
  }
  std::vector<std::string> pieces(std::string_view text, EncodeOptions options = {.parse_special = true}) const {
    std::vector<std::string> out;
    for (const TokenId id : ids(text, options)) out.emplace_back(tokenizer.piece(id));
    return out;
  }
};

inline const std::vector<std::string>& test_tokenizer_names() {
  static const auto* const names = new std::vector<std::string>{"gpt2_bytelevel", "llama3_bytelevel", "qwen2_bytelevel_nfc", "spm_bpe_first",
                                                                "spm_bpe_legacy", "unigram_nfkc", "wordpiece_uncased"};
  return *names;
}

// A table with the given steps and nothing else.
inline std::vector<std::byte> table_with(TokenizerContent content) {
  auto table = write_token_table(content);
  EXPECT_TRUE(table.ok()) << table.status().message();
  return table.ok() ? std::move(table).value() : std::vector<std::byte>();
}

}  // namespace pteron::text
