#include "text/gguf_pre_tokenizer.h"

#include <array>
#include <utility>

#include "text/tokenizer_steps.h"

namespace pteron::text {
namespace {

// The tails that most patterns share.
#define PTERON_WORDS_AND_SPACES R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define PTERON_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define PTERON_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define PTERON_CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"

constexpr std::string_view kGpt2Cuts[] = {kGpt2Pattern};
constexpr std::string_view kDigitCuts[] = {R"(\p{N})", kGpt2Pattern};
constexpr std::string_view kLlama3Cuts[] = {PTERON_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})" PTERON_WORDS_AND_SPACES};
constexpr std::string_view kQwen2Cuts[] = {PTERON_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})" PTERON_WORDS_AND_SPACES};
constexpr std::string_view kFalconCuts[] = {R"([\p{P}\$\+<=>\^~\|`]+)", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))", "[0-9][0-9][0-9]"};
constexpr std::string_view kGpt4oCuts[] = {
    R"([^\r\n\p{L}\p{N}]?)" PTERON_UPPER "*" PTERON_LOWER "+" PTERON_CONTRACTIONS R"(?|[^\r\n\p{L}\p{N}]?)" PTERON_UPPER "+" PTERON_LOWER
    "*" PTERON_CONTRACTIONS R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kTekkenCuts[] = {
    R"([^\r\n\p{L}\p{N}]?)" PTERON_UPPER "*" PTERON_LOWER R"(+|[^\r\n\p{L}\p{N}]?)" PTERON_UPPER "+" PTERON_LOWER
    R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kDeepseekCoderCuts[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[一-龥ࠀ-一가-퟿]+", R"(\p{N})"};
constexpr std::string_view kDeepseek3Cuts[] = {
    R"(\p{N}{1,3})", "[一-龥぀-ゟ゠-ヿ]+",
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kBloomCuts[] = {R"( ?[^(\s|.,!?…。，、।۔،)]+)"};

#undef PTERON_WORDS_AND_SPACES
#undef PTERON_UPPER
#undef PTERON_LOWER
#undef PTERON_CONTRACTIONS

constexpr GgufPreTokenizer kPreTokenizers[] = {
    {"default gpt-2 gpt2 phi-2 mpt olmo jais trillion jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code roberta-bpe gigachat exaone4 granite-docling",
     kGpt2Cuts},
    {"smollm starcoder refact command-r codeshell exaone minerva-7b", kDigitCuts},
    {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2", kLlama3Cuts, true, true},
    {"dbrx smaug-bpe chatglm-bpe glm4", kLlama3Cuts},
    {"qwen2", kQwen2Cuts, false, false, true},
    {"stablelm2 deepseek-r1-qwen megrez hunyuan", kQwen2Cuts},
    {"falcon", kFalconCuts},
    {"gpt-4o llama4 kanana2", kGpt4oCuts},
    {"tekken", kTekkenCuts, true, true},
    {"deepseek-coder", kDeepseekCoderCuts},
    {"deepseek-v3 hunyuan-dense", kDeepseek3Cuts},
    {"bloom poro-chat gpt3-finnish", kBloomCuts},
};

}  // namespace

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name) {
  if (name.empty()) name = "default";
  for (const GgufPreTokenizer& pre : kPreTokenizers) {
    for (std::string_view rest = pre.names; !rest.empty();) {
      const size_t size = rest.find(' ');
      if (rest.substr(0, size) == name) return &pre;
      rest = size == std::string_view::npos ? std::string_view() : rest.substr(size + 1);
    }
  }
  return nullptr;
}

std::string known_gguf_pre_tokenizers() {
  std::string all;
  for (const GgufPreTokenizer& pre : kPreTokenizers) all += (all.empty() ? "" : " ") + std::string(pre.names);
  return "one of " + all;
}

Status append_gguf_pre_tokenizer(const GgufPreTokenizer& pre, TokenizerContent& content) {
  if (pre.nfc) content.normalizer.push_back({.kind = static_cast<uint16_t>(NormalizerKind::nfc), .text = {}, .more = {}});
  if (pre.ignore_merges) content.model_flags |= kIgnoreMerges;
  for (const std::string_view cut : pre.cuts) {
    PTERON_ASSIGN(ContentOp split, pattern_split(cut, SplitBehavior::isolated));
    content.pre_tokenizer.push_back(std::move(split));
  }
  content.pre_tokenizer.push_back({.kind = static_cast<uint16_t>(PreTokenizerKind::byte_level), .text = {}, .more = {}});
  return {};
}

}  // namespace pteron::text
