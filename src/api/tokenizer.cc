#include "api/tokenizer_impl.h"

#include "base/file.h"
#include "import/checkpoint.h"
#include "text/tokenizer_compile.h"

namespace pteron {
namespace {

bool ends_with(std::string_view text, std::string_view end) { return text.size() >= end.size() && text.substr(text.size() - end.size()) == end; }

std::optional<TokenId> optional_id(TokenId id) { return id < 0 ? std::nullopt : std::optional<TokenId>(id); }

}  // namespace

struct DecodeStream::Impl {
  std::shared_ptr<const Tokenizer::Impl> tokenizer;  // what the stream points into
  text::DecodeStream stream;
};

DecodeStream::DecodeStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DecodeStream::DecodeStream(DecodeStream&&) noexcept = default;
DecodeStream& DecodeStream::operator=(DecodeStream&&) noexcept = default;
DecodeStream::~DecodeStream() = default;

Result<std::string> DecodeStream::push(TokenId id) {
  if (id < 0 || static_cast<size_t>(id) >= impl_->tokenizer->tokenizer.size()) {
    return Status::error(Code::invalid_argument, "token outside the vocabulary",
                         {.file = {}, .field = {}, .expected = "ids below " + std::to_string(impl_->tokenizer->tokenizer.size()), .found = std::to_string(id)});
  }
  return impl_->stream.push(id);
}

std::string DecodeStream::flush() { return impl_->stream.flush(); }

Tokenizer::Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<Tokenizer> Tokenizer::open(const std::string& path) {
  std::vector<std::byte> table;
  if (ends_with(path, ".json")) {
    PTERON_ASSIGN(const std::string source, read_text_file(path));
    auto compiled = text::compile_tokenizer_json(source);
    if (!compiled.ok()) return compiled.status().in_file(path);
    table = std::move(*compiled);
  } else if (ends_with(path, ".gguf")) {
    PTERON_ASSIGN(const importer::Checkpoint checkpoint, importer::open_checkpoint(path));
    if (!checkpoint.tokenizer.gguf) {
      return Status::error(Code::not_found, "the file carries no vocabulary", {.file = path, .field = "tokenizer.ggml.tokens", .expected = "a vocabulary", .found = "none"});
    }
    auto compiled = text::compile_gguf_vocabulary(*checkpoint.tokenizer.gguf);
    if (!compiled.ok()) return compiled.status().in_file(path);
    table = std::move(*compiled);
  } else {
    PTERON_ASSIGN(const Program program, Program::open(path));
    auto data = program.named_data("tokenizer");
    if (!data.ok()) {
      return Status::error(Code::not_found, "the program carries no tokenizer", {.file = path, .field = "tokenizer", .expected = "named data", .found = "none"});
    }
    table.assign(data->begin(), data->end());
  }
  auto made = Impl::make(std::move(table));
  if (!made.ok()) return made.status().in_file(path);
  return Tokenizer(std::move(*made));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  return impl_->tokenizer.encode(text, {.parse_special = options.parse_special, .add_special = options.add_special});
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, const DecodeOptions& options) const {
  return impl_->tokenizer.decode(ids, {.skip_special = options.skip_special});
}

DecodeStream Tokenizer::stream(const DecodeOptions& options) const {
  return DecodeStream(std::make_unique<DecodeStream::Impl>(DecodeStream::Impl{impl_, impl_->tokenizer.stream({.skip_special = options.skip_special})}));
}

size_t Tokenizer::vocab_size() const { return impl_->tokenizer.size(); }
std::string Tokenizer::piece(TokenId id) const { return std::string(impl_->tokenizer.piece(id)); }
std::optional<TokenId> Tokenizer::id_of(std::string_view piece) const { return optional_id(impl_->tokenizer.token_to_id(piece)); }
bool Tokenizer::is_special(TokenId id) const { return impl_->tokenizer.is_special(id); }
std::optional<TokenId> Tokenizer::bos() const { return optional_id(impl_->tokenizer.bos_id()); }
std::optional<TokenId> Tokenizer::eos() const { return optional_id(impl_->tokenizer.eos_id()); }

}  // namespace pteron
