#include "models/weights.h"

#include <algorithm>

#include "core/constant_recipes.h"
#include "core/dtype.h"

namespace pteron::models {
namespace {

Result<ConstantPtr> pick_rows(ConstantPtr source, const Matrix& matrix) {
  if (matrix.rows.empty()) return source;
  if (matrix.rows.size() == 1) return slice_rows(std::move(source), matrix.rows[0].first, matrix.rows[0].second);
  std::vector<int64_t> rows;
  for (const auto& [begin, end] : matrix.rows) {
    for (int64_t row = begin; row < end; ++row) rows.push_back(row);
  }
  return select_rows(std::move(source), std::move(rows));
}

std::string typed(const std::string& name, ScalarType dtype) { return name + ":" + std::string(dtype_name(dtype)); }

// Keeps block-encoded sources as they are where float32 is wanted: a backend that packs weights wants the blocks, and their elements
// are float32 already.
Result<ConstantPtr> as_dtype(ConstantPtr source, ScalarType dtype) {
  return source->dtype() == dtype ? Result<ConstantPtr>(std::move(source)) : cast(std::move(source), dtype);
}

}  // namespace

std::string part_name(const Matrix& matrix, const std::string& tensor) { return matrix.part.empty() ? tensor : tensor + "/" + matrix.part; }

Result<ConstantPtr> Weights::stored(const std::string& name, const std::vector<int64_t>& shape) {
  ConstantPtr source = source_.find(name);
  if (!source) {
    return Status::error(Code::invalid_data, "the checkpoint lacks a tensor", {.file = source_.location(name), .field = name, .expected = "shape " + shape_text(shape), .found = "nothing"});
  }
  if (!is_float(source->dtype())) {
    return Status::error(Code::invalid_data, "a tensor has a wrong element type",
                         {.file = source_.location(name), .field = name, .expected = "a float type", .found = std::string(dtype_name(source->dtype()))});
  }
  if (source->shape() != shape) {
    return Status::error(Code::invalid_data, "a tensor does not have the shape that the configuration gives",
                         {.file = source_.location(name), .field = name, .expected = shape_text(shape), .found = shape_text(source->shape())});
  }
  used_.insert(name);
  return source;
}

Result<ConstantPtr> Weights::remember(const std::string& key, Result<ConstantPtr> made) {
  if (!made.ok()) return made;
  return made_.emplace(key, std::move(made).value()).first->second;
}

Result<ConstantPtr> Weights::take(const std::string& name, const std::vector<int64_t>& shape, ScalarType dtype) {
  const std::string key = typed(name, dtype);
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  PTERON_ASSIGN(ConstantPtr source, stored(name, shape));
  return remember(key, as_dtype(std::move(source), dtype));
}

Result<ConstantPtr> Weights::take_weight(const Matrix& matrix, ScalarType dtype) {
  const int64_t rows = matrix.stored_out > 0 ? matrix.stored_out : matrix.out;
  if (matrix.rows.empty() && !matrix.transposed) return take(matrix.weight, {rows, matrix.in}, dtype);
  const std::string key = typed(part_name(matrix, matrix.weight), dtype);
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  PTERON_ASSIGN(ConstantPtr source, stored(matrix.weight, matrix.transposed ? std::vector<int64_t>{matrix.in, rows} : std::vector<int64_t>{rows, matrix.in}));
  if (matrix.transposed) {
    PTERON_ASSIGN(source, transpose(std::move(source)));
  }
  PTERON_ASSIGN(source, pick_rows(std::move(source), matrix));
  return remember(key, as_dtype(std::move(source), dtype));
}

Result<ConstantPtr> Weights::take_bias(const Matrix& matrix, ScalarType dtype) {
  const int64_t rows = matrix.stored_out > 0 ? matrix.stored_out : matrix.out;
  if (matrix.rows.empty()) return take(matrix.bias, {rows}, dtype);
  const std::string key = typed(part_name(matrix, matrix.bias), dtype);
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  PTERON_ASSIGN(ConstantPtr source, stored(matrix.bias, {rows}));
  PTERON_ASSIGN(source, pick_rows(std::move(source), matrix));
  return remember(key, as_dtype(std::move(source), dtype));
}

Result<ConstantPtr> Weights::take_norm(const Norm& norm, ScalarType dtype) {
  if (norm.weight_rows.empty()) return take(norm.weight, norm.shape, dtype);
  const std::string key = typed(norm.weight_rows[0] + "/stacked", dtype);
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  std::vector<ConstantPtr> rows;
  for (const std::string& name : norm.weight_rows) {
    // Each row as a matrix of one row, so that they stack.
    PTERON_ASSIGN(ConstantPtr row, stored(name, {norm.shape.back()}));
    std::vector<float> values(static_cast<size_t>(norm.shape.back()));
    PTERON_TRY(row->read_rows_f32(0, norm.shape.back(), values.data()));
    PTERON_ASSIGN(row, constant_from_values({1, norm.shape.back()}, std::move(values)));
    rows.push_back(std::move(row));
  }
  PTERON_ASSIGN(ConstantPtr stacked, concat_rows(std::move(rows)));
  return remember(key, as_dtype(std::move(stacked), dtype));
}

std::vector<std::string> Weights::unused(const std::vector<std::string>& ignored) const {
  std::vector<std::string> out;
  for (std::string& name : source_.names()) {
    const bool known = used_.count(name) > 0 || std::any_of(ignored.begin(), ignored.end(), [&](const std::string& ending) { return name.ends_with(ending); });
    if (!known) out.push_back(std::move(name));
  }
  return out;
}

}  // namespace pteron::models
