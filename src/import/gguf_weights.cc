#include "import/gguf_weights.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/constant_recipes.h"
#include "import/named_weights.h"

namespace pteron::importer {
namespace {

// Tensors that configure rotary embeddings; `gguf_config` reads them, or they repeat what the base says.
constexpr std::array<std::string_view, 4> kRopeTensors = {"rope_freqs", "rope_factors_long", "rope_factors_short", "blk.{}.attn_rot_embd"};

// "blk.12.attn_q.weight" taken apart: pattern "blk.{}.attn_q", layer "12", suffix ".weight".
struct NameParts {
  std::string pattern, layer, suffix;
};

NameParts take_apart(std::string_view name) {
  NameParts parts;
  if (const size_t dot = name.rfind('.'); dot != std::string_view::npos) {
    parts.suffix = name.substr(dot);
    name = name.substr(0, dot);
  }
  constexpr std::string_view kBlock = "blk.";
  if (name.starts_with(kBlock)) {
    const size_t end = name.find_first_not_of("0123456789", kBlock.size());
    if (end != std::string_view::npos && end > kBlock.size() && name[end] == '.') {
      parts.layer = name.substr(kBlock.size(), end - kBlock.size());
      parts.pattern = std::string(kBlock) + "{}" + std::string(name.substr(end));
      return parts;
    }
  }
  parts.pattern = name;
  return parts;
}

std::string fill(std::string_view pattern, std::string_view number) {
  const size_t hole = pattern.find("{}");
  if (hole == std::string_view::npos) return std::string(pattern);
  return std::string(pattern.substr(0, hole)) + std::string(number) + std::string(pattern.substr(hole + 2));
}

const GgufName* find_name(const GgufArchitecture& architecture, const std::string& pattern) {
  for (std::span<const GgufName> names : {architecture.own, architecture.base}) {
    for (const GgufName& name : names) {
      if (name.gguf == pattern) return &name;
    }
  }
  return nullptr;
}

Status check_row_count(const ConstantSource& source, int64_t expected) {
  if (!source.shape().empty() && source.shape()[0] == expected) return Status();
  return Status::error(Code::invalid_data, "a tensor does not fit the attention heads",
                       {"", "", std::to_string(expected) + " rows", "shape " + shape_text(source.shape())});
}

// Undoes the pairwise order: row i of a head was stored as row 2i, row i + D/2 as row 2i + 1.
Result<ConstantPtr> halves_from_pairs(ConstantPtr source, int64_t heads, int64_t dim) {
  PTERON_TRY(check_row_count(*source, heads * dim));
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(heads * dim));
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < dim; ++i) rows.push_back(head * dim + (i < dim / 2 ? 2 * i : 2 * (i - dim / 2) + 1));
  }
  return select_rows(std::move(source), std::move(rows));
}

Result<ConstantPtr> grouped_from_blocks(ConstantPtr source, const GgufHeads& heads) {
  PTERON_TRY(check_row_count(*source, (heads.query + 2 * heads.key) * heads.dim));
  const int64_t group = heads.query / heads.key * heads.dim, keys = heads.query * heads.dim, values = keys + heads.key * heads.dim;
  std::vector<int64_t> rows;
  for (int64_t head = 0; head < heads.key; ++head) {
    for (int64_t i = 0; i < group; ++i) rows.push_back(head * group + i);
    for (int64_t i = 0; i < heads.dim; ++i) rows.push_back(keys + head * heads.dim + i);
    for (int64_t i = 0; i < heads.dim; ++i) rows.push_back(values + head * heads.dim + i);
  }
  return select_rows(std::move(source), std::move(rows));
}

Result<ConstantPtr> row_vector(const ConstantPtr& rows, int64_t row) {
  std::vector<float> values(static_cast<size_t>(rows->nbytes() / element_size(rows->dtype()) / static_cast<uint64_t>(rows->shape()[0])));
  PTERON_TRY(rows->read_rows_f32(row, row + 1, values.data()));
  const auto size = static_cast<int64_t>(values.size());
  return constant_from_values({size}, std::move(values));
}

class Importer {
 public:
  Importer(const GgufFile& file, const GgufArchitecture& architecture, const GgufHeads& heads)
      : file_(file), architecture_(architecture), heads_(heads), weights_(std::make_shared<NamedWeights>(file.path())) {}

  Status add(const GgufTensor& tensor) {
    const NameParts parts = take_apart(tensor.name);
    for (std::string_view rope : kRopeTensors) {
      if (parts.pattern == rope) return Status();
    }
    const GgufName* name = find_name(architecture_, parts.pattern);
    if (name == nullptr || (parts.suffix != ".weight" && parts.suffix != ".bias")) {
      return Status::error(
          Code::unsupported, "a tensor that the architecture does not have",
          {file_.path(), tensor.name, "the tensors of " + std::string(architecture_.name), "shape " + shape_text(tensor.shape)});
    }
    PTERON_ASSIGN(ConstantPtr source, file_.source(tensor));
    const std::string target = fill(name->hf, parts.layer);
    if (name->layout == GgufLayout::head_vectors) return add_head_vectors(target, parts.suffix, tensor.name, source);
    Result<ConstantPtr> laid_out = lay_out(std::move(source), name->layout);
    if (!laid_out.ok()) return std::move(laid_out).status().in_field(tensor.name).in_file(file_.path());
    return weights_->add(target + parts.suffix, std::move(laid_out).value(), file_.path());
  }

  std::shared_ptr<const WeightSource> take() { return std::move(weights_); }

 private:
  Result<ConstantPtr> lay_out(ConstantPtr source, GgufLayout layout) const {
    switch (layout) {
      case GgufLayout::query_pairs: return halves_from_pairs(std::move(source), heads_.query, heads_.dim);
      case GgufLayout::key_pairs: return halves_from_pairs(std::move(source), heads_.key, heads_.dim);
      case GgufLayout::grouped_qkv: return grouped_from_blocks(std::move(source), heads_);
      case GgufLayout::transposed:
        return source->shape().size() == 2 ? transpose(std::move(source)) : Result<ConstantPtr>(std::move(source));
      case GgufLayout::same:
      case GgufLayout::head_vectors: break;
    }
    return source;
  }

  Status add_head_vectors(const std::string& pattern, const std::string& suffix, const std::string& stored, const ConstantPtr& source) {
    if (source->shape().size() != 2) {
      return Status::error(Code::invalid_data, "a tensor has the wrong rank",
                           {file_.path(), stored, "two dimensions, one vector a head", shape_text(source->shape())});
    }
    for (int64_t head = 0; head < source->shape()[0]; ++head) {
      PTERON_ASSIGN(ConstantPtr vector, row_vector(source, head));
      PTERON_TRY(weights_->add(fill(pattern, std::to_string(head)) + suffix, std::move(vector), file_.path()));
    }
    return Status();
  }

  const GgufFile& file_;
  const GgufArchitecture& architecture_;
  GgufHeads heads_;
  std::shared_ptr<NamedWeights> weights_;
};

}  // namespace

Result<std::shared_ptr<const WeightSource>> gguf_weights(const GgufFile& file, const GgufArchitecture& architecture) {
  PTERON_ASSIGN(const GgufHeads heads, gguf_heads(file));
  Importer importer(file, architecture, heads);
  for (const GgufTensor& tensor : file.tensors()) PTERON_TRY(importer.add(tensor));
  return importer.take();
}

}  // namespace pteron::importer
