// From a vocabulary in ordinary containers to the table: what tokenizer.json and GGUF have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/token_table.h"

namespace pteron::text {

struct ContentToken {
  std::string text = {};
  uint8_t flags = 0;  // TokenFlags; 0: there is no token of that id
};

struct ContentOp {
  uint16_t kind = 0;
  uint16_t flags = 0;
  uint32_t number = 0, number2 = 0;
  std::string text = {}, more = {};
};

struct ContentAdded {
  uint32_t id = 0;
  uint32_t flags = 0;       // AddedFlags
  bool normalized = false;  // searched in normalized text, in its own normal form
  std::string content = {};
};

struct ContentMerge {
  uint32_t left = 0, right = 0, result = 0;  // in order of rank; of equal pairs the last counts
};

struct TokenizerContent {
  ModelKind model = ModelKind::bpe;
  uint32_t model_flags = 0;            // ModelFlags; kRawBytes is set by the writer
  std::vector<ContentToken> tokens = {};    // by id
  std::vector<double> scores = {};          // unigram: one a token
  std::vector<ContentMerge> merges = {};
  std::vector<ContentAdded> added = {};     // in order of precedence
  std::vector<ContentOp> normalizer = {}, pre_tokenizer = {}, decoder = {};
  std::vector<uint32_t> prefix_ids = {}, suffix_ids = {};
  uint32_t bos = kNoId, eos = kNoId, unk = kNoId, pad = kNoId;
  uint32_t model_unk = kNoId;
  uint32_t max_word_characters = 100;
  std::string subword_prefix = {}, word_suffix = {};
  char32_t space_character = 0;        // the character that vocabularies of SentencePiece write for a space, where there is one
};

// The table. Everything that can be worked out beforehand is: hashed searches, tries, the normal forms of added tokens.
Result<std::vector<std::byte>> write_token_table(const TokenizerContent& content);

}  // namespace pteron::text
