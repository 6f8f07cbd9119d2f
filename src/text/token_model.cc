#include "text/token_model.h"

#include "text/bpe.h"
#include "text/unigram.h"
#include "text/word_piece.h"

namespace pteron::text {

std::unique_ptr<ModelRun> make_model_run(const TokenTable& table, size_t text_size) {
  switch (table.header().model) {
    case ModelKind::bpe: return std::make_unique<BpeRun>(table, text_size);
    case ModelKind::unigram: return std::make_unique<UnigramRun>(table);
    case ModelKind::word_piece: return std::make_unique<WordPieceRun>(table);
    case ModelKind::word_level: break;
  }
  return std::make_unique<WordLevelRun>(table);
}

}  // namespace pteron::text
