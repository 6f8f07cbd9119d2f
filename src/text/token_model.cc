#include "text/token_model.h"

#include "text/bpe.h"
#include "text/unigram.h"
#include "text/word_piece.h"

namespace pteron::text {

Status ModelRun::encode_word(std::string_view word, std::vector<int32_t>& out) {
  if (memory_.recall(word, out, lost_bytes_)) return {};
  const size_t first = out.size(), lost_before = lost_bytes_;
  PTERON_TRY(encode_new_word(word, out));
  memory_.keep(word, out, first, lost_bytes_ - lost_before);
  return {};
}

std::unique_ptr<ModelRun> make_model_run(const TokenTable& table, size_t text_size) {
  switch (table.header().model) {
    case ModelKind::bpe: return std::make_unique<BpeRun>(table, text_size);
    case ModelKind::unigram: return std::make_unique<UnigramRun>(table, text_size);
    case ModelKind::word_piece: return std::make_unique<WordPieceRun>(table, text_size);
    case ModelKind::word_level: break;
  }
  return std::make_unique<WordLevelRun>(table, text_size);
}

}  // namespace pteron::text
