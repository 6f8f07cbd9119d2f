// What turns a piece of text into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/token_table.h"
#include "text/word_memory.h"

namespace pteron::text {

// One thread's use of a model, with its scratch memory and memory of words seen.
class ModelRun {
 public:
  virtual ~ModelRun() = default;
  // Appends the tokens of a piece of well-formed text.
  virtual Status encode(std::string_view piece, std::vector<int32_t>& out) { return encode_word(piece, out); }
  // Bytes met so far that have no token and vanished.
  size_t lost_bytes() const { return lost_bytes_; }

 protected:
  explicit ModelRun(size_t text_size) : memory_(text_size) {}
  // The tokens of a word, remembered or worked out.
  Status encode_word(std::string_view word, std::vector<int32_t>& out);
  virtual Status encode_new_word(std::string_view word, std::vector<int32_t>& out) = 0;

  size_t lost_bytes_ = 0;
  WordMemory memory_;
};

// `text_size`: about how much text is to come. The table must outlive the run.
std::unique_ptr<ModelRun> make_model_run(const TokenTable& table, size_t text_size);

}  // namespace pteron::text
