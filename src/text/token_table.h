// The compiled tokenizer: one block of bytes that is used where it lies. This header is its layout and the reader;
// `token_table_writer.h` makes it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "text/double_array.h"

namespace pteron::text {

inline constexpr uint32_t kNoId = 0xffffffff;
inline constexpr std::array<char, 8> kTableMagic = {'P', 'T', 'R', 'N', 'T', 'O', 'K', '\0'};
inline constexpr uint32_t kTableVersion = 1;

enum class ModelKind : uint32_t { bpe = 1, unigram = 2, word_piece = 3, word_level = 4 };

// Bits of TableHeader::model_flags.
enum ModelFlags : uint32_t {
  kByteFallback = 1,   // characters without a token become their byte tokens
  kFuseUnknown = 2,    // neighbouring unknown characters are one unknown token
  kIgnoreMerges = 4,   // a word that is a token is that token, whatever the merges say
  kRawBytes = 8,       // BPE begins with bytes, not characters (byte-level alphabet)
  kJoinWithSpaces = 16 // no decoder: tokens are joined with spaces
};

// Bits of a token's flags.
enum TokenFlags : uint8_t { kTokenExists = 1, kTokenInModel = 2, kTokenAdded = 4, kTokenSpecial = 8 };

// Bits of an added token's flags.
enum AddedFlags : uint32_t { kAddedSpecial = 1, kAddedStripLeft = 2, kAddedStripRight = 4, kAddedSingleWord = 8 };

enum class NormalizerKind : uint16_t {
  nfc = 1, nfd, nfkc, nfkd, lowercase, strip, strip_accents, replace_text, replace_pattern, prepend, charsmap, bert, nmt, byte_level,
  collapse_spaces  // runs of spaces become one, spaces at both ends go (SentencePiece's remove_extra_whitespaces)
};
enum class PreTokenizerKind : uint16_t {
  byte_level = 1,  // maps bytes to characters; ByteLevel's other habits are steps of their own before it
  prefix_space,    // puts a space before a piece that does not begin with one
  split_pattern, split_text, white_space_split, digits, punctuation, metaspace, char_delimiter, fixed_length
};
enum class DecoderKind : uint16_t { byte_level = 1, metaspace, byte_fallback, fuse, strip, replace_text, replace_pattern, word_piece, bpe_suffix, ctc };

enum class SplitBehavior : uint32_t { removed = 0, isolated, merged_with_previous, merged_with_next, contiguous };

// Bits of Op::flags, by kind.
enum OpFlags : uint16_t {
  kStripLeft = 1, kStripRight = 2,                                                   // strip
  kLongestMatch = 1,                                                                 // charsmap
  kCleanText = 1, kChineseChars = 2, kStripAccents = 4, kLowercase = 8,              // bert normalizer
  kInvert = 1,                                                                       // split_*
  kIndividualDigits = 1,                                                             // digits
  kPrependAlways = 1, kPrependFirst = 2, kSplitMetaspace = 4,                        // metaspace
  kCleanup = 1,                                                                      // word_piece, ctc
};

// One step of the normalizer, pre-tokenizer or decoder. `text` and `more` lie in the text section.
struct Op {
  uint16_t kind = 0;
  uint16_t flags = 0;
  uint32_t number = 0;   // split behaviour, length; decoder strip: characters from the left
  uint32_t number2 = 0;  // decoder strip: characters from the right
  uint32_t text_offset = 0, text_size = 0;
  uint32_t more_offset = 0, more_size = 0;
};
static_assert(sizeof(Op) == 28);

struct AddedEntry {
  uint32_t id = 0;
  uint32_t flags = 0;
};

struct MergeSlot {
  uint32_t left = kNoId, right = kNoId, rank = 0, result = 0;
};

enum class Section : uint32_t {
  token_offsets,     // u32[size + 1] into token_bytes
  token_bytes,
  token_flags,       // u8[size]
  piece_slots,       // u32[], hashed tokens of the model: id + 1, 0 is free
  merge_slots,       // MergeSlot[], hashed pairs; free where left is kNoId
  scores,            // f64[size] (unigram)
  model_trie,        // TrieUnit[]: token -> id (unigram, word_piece)
  added,             // AddedEntry[]
  added_trie,        // TrieUnit[]: content -> index into added, searched in the text as it is
  added_normal_trie, // the same, searched in normalized text
  normalizer,        // Op[]
  pre_tokenizer,     // Op[]
  decoder,           // Op[]
  text,              // what ops refer to
  prefix_ids,        // u32[]
  suffix_ids,        // u32[]
  byte_ids,          // u32[256]: byte -> token or kNoId (raw bytes: the character's; byte fallback: "<0x..>")
  glue,              // u32[], sorted: characters that some token has right before the boundary character
  count
};

struct SectionRange {
  uint64_t offset = 0, size = 0;
};

struct TableHeader {
  std::array<char, 8> magic = kTableMagic;
  uint32_t version = kTableVersion;
  ModelKind model = ModelKind::bpe;
  uint32_t model_flags = 0;
  uint32_t size = 0;
  uint32_t bos = kNoId, eos = kNoId, unk = kNoId, pad = kNoId;
  uint32_t model_unk = kNoId;           // what the model gives for what it does not know
  uint32_t max_piece_probes = 0;        // no search in piece_slots needs more
  uint32_t max_merge_probes = 0;
  uint32_t max_word_characters = 0;     // word_piece
  uint32_t boundary = 0;                // BPE: no merge crosses the border before this character unless `glue` has the one before; 0 = unused
  uint32_t prefix_offset = 0, prefix_size = 0;  // in text: continuing_subword_prefix
  uint32_t suffix_offset = 0, suffix_size = 0;  // in text: end_of_word_suffix
  uint32_t reserved = 0;
  double unknown_score = 0;             // unigram
  std::array<SectionRange, static_cast<size_t>(Section::count)> sections;
};
static_assert(sizeof(TableHeader) == 88 + 16 * static_cast<size_t>(Section::count));

inline constexpr uint64_t kHashFactor = 0x9e3779b97f4a7c15u;

inline uint64_t mix(uint64_t value) {
  const auto product = static_cast<unsigned __int128>(value) * kHashFactor;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t hash_bytes(std::string_view bytes);
inline uint64_t hash_pair(uint32_t left, uint32_t right) { return mix((uint64_t{left} << 32 | right) ^ 0x5851f42d4c957f2du) * kHashFactor; }
// Where the search for a hash begins among `slots` slots.
inline size_t slot_of(uint64_t hash, size_t slots) { return static_cast<size_t>(static_cast<unsigned __int128>(hash) * slots >> 64); }

struct Merge {
  uint32_t rank = kNoId;  // kNoId: the two do not merge
  uint32_t result = 0;
};

// Reads a table. `open` checks header, sections and step lists; what lies in the large sections is checked when read.
class TokenTable {
 public:
  static Result<TokenTable> open(ByteSpan bytes);

  const TableHeader& header() const { return header_; }
  bool has(ModelFlags flag) const { return (header_.model_flags & flag) != 0; }
  uint32_t size() const { return header_.size; }
  // Empty for an id out of range and where the offsets are broken.
  std::string_view token(uint32_t id) const;
  uint8_t flags(uint32_t id) const { return id < header_.size ? static_cast<uint8_t>(section(Section::token_flags)[id]) : 0; }
  // The id of a token of the model, or kNoId.
  uint32_t find(std::string_view piece) const;
  Merge merge(uint32_t left, uint32_t right) const;
  double score(uint32_t id) const { return id < count<double>(Section::scores) ? at<double>(Section::scores, id) : 0.0; }
  uint32_t byte_id(unsigned char byte) const { return byte < count<uint32_t>(Section::byte_ids) ? valid_id(at<uint32_t>(Section::byte_ids, byte)) : kNoId; }
  TrieView trie(Section which) const { return TrieView(section(which)); }
  AddedEntry added(uint32_t index) const;  // id kNoId for an index out of range
  bool is_glue(uint32_t character) const;

  size_t op_count(Section which) const { return count<Op>(which); }
  Op op(Section which, size_t index) const { return at<Op>(which, index); }
  std::string_view text(uint32_t offset, uint32_t size) const;
  std::string_view op_text(const Op& op) const { return text(op.text_offset, op.text_size); }
  std::string_view op_more(const Op& op) const { return text(op.more_offset, op.more_size); }
  std::string_view subword_prefix() const { return text(header_.prefix_offset, header_.prefix_size); }
  std::string_view word_suffix() const { return text(header_.suffix_offset, header_.suffix_size); }

  // Lists of ids (prefix_ids, suffix_ids).
  size_t id_count(Section which) const { return count<uint32_t>(which); }
  uint32_t id(Section which, size_t index) const { return valid_id(at<uint32_t>(which, index)); }

 private:
  ByteSpan section(Section which) const { return sections_[static_cast<size_t>(which)]; }
  template <class T>
  size_t count(Section which) const {
    return section(which).size() / sizeof(T);
  }
  template <class T>
  T at(Section which, size_t index) const {
    return load_unaligned<T>(section(which).data() + index * sizeof(T));
  }
  uint32_t valid_id(uint32_t id) const { return id < header_.size ? id : kNoId; }
  Status check_ops(Section which, std::string_view name, uint16_t last_kind) const;

  TableHeader header_;
  std::array<ByteSpan, static_cast<size_t>(Section::count)> sections_;
};

}  // namespace pteron::text
