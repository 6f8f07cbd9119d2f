// Matrix products: linear, mm, bmm, addmm.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/isa.h"
#include "kernels/portable/shape.h"
#include "runtime/arguments.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;
using runtime::Value;

// A matrix inside a tensor: `rows` x `cols` elements at the given steps.
struct Matrix {
  const Tensor* tensor = nullptr;
  int64_t offset = 0, rows = 0, cols = 0, row_step = 0, col_step = 0;
};

Matrix matrix_of(const Tensor& t, size_t row_dim, int64_t offset = 0) {
  return {&t, offset, t.size(row_dim), t.size(row_dim + 1), t.stride(row_dim), t.stride(row_dim + 1)};
}

bool computes_in_float(ScalarType t) { return t == ScalarType::Float || is_reduced_float(t); }

// Whether float kernels can read the matrix in place.
bool plain(const Matrix& m) { return m.tensor->dtype() == ScalarType::Float && m.col_step == 1; }

// The matrix as floats with rows one after another: in place, or converted into `space`, which is then moved on.
const float* as_floats(const Matrix& m, float*& space, int64_t& row_step) {
  row_step = m.row_step;
  if (plain(m)) return m.tensor->data<float>() + m.offset;
  float* const floats = space;
  for (int64_t r = 0; r < m.rows; ++r)
    load_run<float>(m.tensor->dtype(), m.tensor->data(), m.offset + r * m.row_step, m.col_step, m.cols, floats + r * m.cols);
  space += m.rows * m.cols;
  row_step = m.cols;
  return floats;
}

void parallel_gemm(KernelContext& context, const GemmArgs& all) {
  const bool by_rows = all.m >= static_cast<int64_t>(24 * context.threads().size());
  const auto n = static_cast<size_t>(by_rows ? all.m : all.n);
  const size_t grain = all.m * all.n * all.k < 65536 ? std::max<size_t>(n, 1) : by_rows ? 12 : 64;
  context.threads().parallel_for(n, grain, [&](size_t begin, size_t end) {
    GemmArgs part = all;
    const auto from = static_cast<int64_t>(begin), count = static_cast<int64_t>(end - begin);
    if (by_rows) {
      part.a += from * part.lda;
      part.c += from * part.ldc;
      part.m = count;
    } else {
      part.b += from;
      part.c += from;
      part.n = count;
    }
    isa().gemm(part);
  });
}

// result[rows x cols] = a x b for types that no vector loop is written for; `result` lies row by row.
template <class T>
void product_of_any(KernelContext& context, const Matrix& a, const Matrix& b, T* result) {
  context.threads().parallel_for(static_cast<size_t>(a.rows), 1, [&](size_t begin, size_t end) {
    constexpr int64_t kBlock = 256;
    T left[kBlock], right[kBlock];
    for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); ++i) {
      std::fill(result + i * b.cols, result + (i + 1) * b.cols, T(0));
      for (int64_t k = 0; k < a.cols; k += kBlock) {
        const int64_t n = std::min(kBlock, a.cols - k);
        load_run<T>(a.tensor->dtype(), a.tensor->data(), a.offset + i * a.row_step + k * a.col_step, a.col_step, n, left);
        for (int64_t j = 0; j < b.cols; ++j) {
          load_run<T>(b.tensor->dtype(), b.tensor->data(), b.offset + j * b.col_step + k * b.row_step, b.row_step, n, right);
          T sum = result[i * b.cols + j];
          for (int64_t t = 0; t < n; ++t) sum = static_cast<T>(sum + left[t] * right[t]);
          result[i * b.cols + j] = sum;
        }
      }
    }
  });
}
template <>
void product_of_any<int64_t>(KernelContext&, const Matrix& a, const Matrix& b, int64_t* result) {  // integers wrap
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.cols; ++j) {
      uint64_t sum = 0;
      for (int64_t k = 0; k < a.cols; ++k) {
        sum += static_cast<uint64_t>(load_one<int64_t>(a.tensor->dtype(), a.tensor->data(), a.offset + i * a.row_step + k * a.col_step)) *
               static_cast<uint64_t>(load_one<int64_t>(b.tensor->dtype(), b.tensor->data(), b.offset + k * b.row_step + j * b.col_step));
      }
      result[i * b.cols + j] = static_cast<int64_t>(sum);
    }
  }
}

// beta * self + alpha * product, where `self` (may be null) broadcasts to the product.
struct Blend {
  const Tensor* self = nullptr;
  Scalar alpha{Scalar::Kind::integer, 1, 0}, beta{Scalar::Kind::integer, 1, 0};
  bool plain() const { return self == nullptr && alpha.as_double() == 1; }
};

template <class T>
void blend_and_store(const Blend& blend, T* result, const Matrix& to, Tensor& out) {
  const T alpha = static_cast<T>(blend.alpha.as_double()), beta = static_cast<T>(blend.beta.as_double());
  for (int64_t i = 0; i < to.rows; ++i) {
    T* row = result + i * to.cols;
    if (!blend.plain()) {
      for (int64_t j = 0; j < to.cols; ++j) row[j] = static_cast<T>(alpha * row[j]);
    }
    if (blend.self != nullptr && blend.beta.as_double() != 0) {  // beta 0 hides whatever self holds
      const Tensor& self = *blend.self;
      const size_t rank = self.rank();
      const int64_t row_step = rank == 2 && self.size(0) != 1 ? self.stride(0) : 0;
      const int64_t col_step = rank >= 1 && self.size(rank - 1) != 1 ? self.stride(rank - 1) : 0;
      for (int64_t j = 0; j < to.cols; ++j)
        row[j] = static_cast<T>(row[j] + beta * load_one<T>(self.dtype(), self.data(), i * row_step + j * col_step));
    }
    store_run<T>(out.dtype(), row, to.cols, out.data(), to.offset + i * to.row_step, to.col_step);
  }
}

// One product into a matrix of `out`. `space` holds conversions and the result where they are needed.
Status multiply(KernelContext& context, const Matrix& a, const Matrix& b, const Matrix& to, const Blend& blend, void* space, Tensor& out) {
  const ScalarType type = promote(a.tensor->dtype(), b.tensor->dtype());
  if (computes_in_float(type)) {
    auto* floats = static_cast<float*>(space);
    GemmArgs args{.m = a.rows, .n = b.cols, .k = a.cols};
    args.a = as_floats(a, floats, args.lda);
    args.b = as_floats(b, floats, args.ldb);
    const bool direct = blend.plain() && plain(to);
    args.c = direct ? out.data<float>() + to.offset : floats;
    args.ldc = direct ? to.row_step : to.cols;
    parallel_gemm(context, args);
    if (!direct) blend_and_store<float>(blend, floats, to, out);
  } else if (type == ScalarType::Double) {
    product_of_any<double>(context, a, b, static_cast<double*>(space));
    blend_and_store<double>(blend, static_cast<double*>(space), to, out);
  } else if (is_int_or_bool(type)) {
    product_of_any<int64_t>(context, a, b, static_cast<int64_t*>(space));
    blend_and_store<int64_t>(blend, static_cast<int64_t*>(space), to, out);
  } else {
    return bad_dtype("self", type);
  }
  return {};
}

// Scratch of one product, and its checks. The last two dimensions of each tensor are the matrices.
Result<size_t> product_scratch(const Tensor& a, const Tensor& b, const Tensor& out) {
  const size_t rank = out.rank();
  if (rank < 2 || a.rank() != rank || b.rank() != rank)
    return bad("matrix product of other ranks", "", std::to_string(rank), sizes_text(a.sizes()));
  const std::array<size_t, 3> elements = {static_cast<size_t>(a.size(rank - 2)) * static_cast<size_t>(a.size(rank - 1)),
                                          static_cast<size_t>(b.size(rank - 2)) * static_cast<size_t>(b.size(rank - 1)),
                                          static_cast<size_t>(a.size(rank - 2)) * static_cast<size_t>(b.size(rank - 1))};
  const auto total = checked_add(elements[0] + elements[1], elements[2]);
  const auto bytes = total ? checked_mul<size_t>(*total, 8) : std::nullopt;
  if (!bytes) return bad("matrix product overflows");
  const bool direct = a.dtype() == ScalarType::Float && b.dtype() == ScalarType::Float && out.dtype() == ScalarType::Float &&
                      a.contiguous() && b.contiguous() && out.contiguous();
  return direct ? size_t{0} : *bytes;
}

Result<size_t> product_args_scratch(std::span<runtime::Value* const> args, size_t a, size_t out) {
  for (size_t i : {a, a + 1, out}) {
    if (!args[i]->is(Value::Kind::tensor)) return size_t{0};  // the call itself will say so
  }
  auto bytes = product_scratch(args[a]->tensor(), args[a + 1]->tensor(), args[out]->tensor());
  return bytes.ok() ? bytes : Result<size_t>(size_t{0});
}
Result<size_t> mm_scratch(std::span<runtime::Value* const> args, size_t) { return product_args_scratch(args, 0, 2); }
Result<size_t> addmm_scratch(std::span<runtime::Value* const> args, size_t) {
  if (!args[1]->is(Value::Kind::tensor) || !args[2]->is(Value::Kind::tensor)) return size_t{0};
  const Tensor &a = args[1]->tensor(), &b = args[2]->tensor();
  if (a.rank() != 2 || b.rank() != 2) return size_t{0};
  const auto cells = checked_mul<size_t>(static_cast<size_t>(a.size(0)), static_cast<size_t>(b.size(1)));
  const auto bytes = cells ? checked_mul<size_t>(*cells + a.numel() + b.numel(), 8) : std::nullopt;
  if (!bytes) return bad("matrix product overflows");
  return *bytes;
}

Status check_product(const Tensor& a, const Tensor& b, size_t rank) {
  PTERON_TRY(expect_rank(a, rank, "self"));
  PTERON_TRY(expect_rank(b, rank, "mat2"));
  if (a.size(rank - 1) != b.size(rank - 2))
    return bad("inner sizes of a matrix product differ", "", sizes_text(a.sizes()), sizes_text(b.sizes()));
  return {};
}

Status mm(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  PTERON_TRY(check_product(self, mat2, 2));
  const int32_t sizes[] = {self.size(0), mat2.size(1)};
  PTERON_TRY(out.resize(sizes));
  PTERON_ASSIGN(const size_t bytes, product_scratch(self, mat2, out));
  PTERON_ASSIGN(void* space, context.scratch(bytes));
  return multiply(context, matrix_of(self, 0), matrix_of(mat2, 0), matrix_of(out, 0), {}, space, out);
}

Status addmm(KernelContext& context, const Tensor& self, const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha, Tensor& out) {
  PTERON_TRY(check_product(mat1, mat2, 2));
  const int32_t sizes[] = {mat1.size(0), mat2.size(1)};
  PTERON_TRY(out.resize(sizes));
  if (self.rank() > 2) return bad("addend does not broadcast", "self", sizes_text(sizes), sizes_text(self.sizes()));
  for (size_t i = 0; i < self.rank(); ++i) {
    const int32_t size = self.size(i), wanted = sizes[2 - self.rank() + i];
    if (size != 1 && size != wanted) return bad("addend does not broadcast", "self", sizes_text(sizes), sizes_text(self.sizes()));
  }
  if (!is_real(self.dtype()) || !is_real(out.dtype())) return bad_dtype("self", self.dtype());
  PTERON_ASSIGN(void* space, context.scratch((mat1.numel() + mat2.numel() + out.numel()) * 8));
  return multiply(context, matrix_of(mat1, 0), matrix_of(mat2, 0), matrix_of(out, 0), {&self, alpha, beta}, space, out);
}

// A right side of a few columns, such as the queries of one token against a cache of keys: its columns become rows of dot products, so that the
// left side streams through once, in blocks that all threads share.
constexpr int64_t kNarrowColumns = 8, kNarrowDepth = 512, kNarrowRows = 64;

bool is_narrow(int64_t m, int64_t n, int64_t k) { return n <= kNarrowColumns && k <= kNarrowDepth && m >= kNarrowRows; }

void narrow_bmm(KernelContext& context, const float* a, const float* b, float* c, int64_t batch, int64_t m, int64_t n, int64_t k) {
  const int64_t blocks = (m + kNarrowRows - 1) / kNarrowRows;
  const size_t total = static_cast<size_t>(batch * blocks), grain = batch * m * n * k < 65536 ? std::max<size_t>(total, 1) : 1;
  context.threads().parallel_for(total, grain, [&](size_t begin, size_t end) {
    float columns[kNarrowColumns * kNarrowDepth], products[kNarrowColumns * kNarrowRows];
    int64_t packed = -1;
    for (auto block = static_cast<int64_t>(begin); block < static_cast<int64_t>(end); ++block) {
      const int64_t i = block / blocks, from = block % blocks * kNarrowRows, rows = std::min(kNarrowRows, m - from);
      if (packed != i) {
        packed = i;
        for (int64_t p = 0; p < k; ++p) {
          for (int64_t j = 0; j < n; ++j) columns[j * k + p] = b[(i * k + p) * n + j];
        }
      }
      DotArgs args{.n = rows, .k = k};
      args.m = n;
      args.a = columns;
      args.w = a + (i * m + from) * k;
      args.lda = args.ldw = k;
      args.c = products;
      args.ldc = kNarrowRows;
      isa().dot_f32(args);
      float* const to = c + (i * m + from) * n;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < n; ++j) to[r * n + j] = products[j * kNarrowRows + r];
      }
    }
  });
}

Status bmm(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  PTERON_TRY(check_product(self, mat2, 3));
  PTERON_TRY(expect(self.size(0) == mat2.size(0), "batches of a matrix product differ"));
  const int32_t sizes[] = {self.size(0), self.size(1), mat2.size(2)};
  PTERON_TRY(out.resize(sizes));
  PTERON_ASSIGN(const size_t bytes, product_scratch(self, mat2, out));
  PTERON_ASSIGN(void* space, context.scratch(bytes));
  if (bytes == 0 && is_narrow(self.size(1), mat2.size(2), self.size(2))) {
    narrow_bmm(context, self.data<float>(), mat2.data<float>(), out.data<float>(), self.size(0), self.size(1), mat2.size(2), self.size(2));
    return {};
  }
  if (bytes == 0 && static_cast<size_t>(self.size(0)) >= context.threads().size()) {  // one batch entry a thread
    const int64_t m = self.size(1), k = self.size(2), n = mat2.size(2);
    const size_t grain = self.size(0) * m * n * k < 65536 ? static_cast<size_t>(std::max(self.size(0), 1)) : 1;
    context.threads().parallel_for(static_cast<size_t>(self.size(0)), grain, [&](size_t begin, size_t end) {
      for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); ++i) {
        isa().gemm({self.data<float>() + i * m * k, k, mat2.data<float>() + i * k * n, n, out.data<float>() + i * m * n, n, m, n, k, false});
      }
    });
    return {};
  }
  for (int64_t i = 0; i < self.size(0); ++i) {
    PTERON_TRY(multiply(context, matrix_of(self, 1, i * self.stride(0)), matrix_of(mat2, 1, i * mat2.stride(0)),
                        matrix_of(out, 1, i * out.stride(0)), {}, space, out));
  }
  return {};
}

// Conversions that a linear needs, in floats: input, bias and result where they are not float32 already.
struct LinearPlan {
  size_t input = 0, bias = 0, result = 0;
  size_t bytes() const { return (input + bias + result) * sizeof(float); }
};

LinearPlan plan_linear(const Tensor& input, const Tensor& weight, const Tensor* bias, const Tensor& out) {
  LinearPlan plan;
  if (input.dtype() != ScalarType::Float) plan.input = input.numel();
  if (bias != nullptr && bias->dtype() != ScalarType::Float) plan.bias = bias->numel();
  if (out.dtype() != ScalarType::Float) plan.result = out.numel();
  if (!computes_in_float(weight.dtype())) plan.result = 2 * out.numel();  // computed in 8 bytes
  return plan;
}

Result<size_t> linear_scratch(std::span<runtime::Value* const> args, size_t) {
  for (size_t i : {0, 1, 3}) {
    if (!args[i]->is(Value::Kind::tensor)) return size_t{0};
  }
  const Tensor* bias = args[2]->is(Value::Kind::tensor) ? &args[2]->tensor() : nullptr;
  return plan_linear(args[0]->tensor(), args[1]->tensor(), bias, args[3]->tensor()).bytes();
}

Status check_linear(const Tensor& input, const Tensor& weight, const Tensor* bias, Tensor& out) {
  if (input.rank() == 0) return bad("linear of a scalar", "input");
  PTERON_TRY(expect_rank(weight, 2, "weight"));
  if (input.size(input.rank() - 1) != weight.size(1)) {
    return bad("inner sizes of a linear differ", "weight", std::to_string(input.size(input.rank() - 1)), sizes_text(weight.sizes()));
  }
  if (bias != nullptr) {
    const int32_t expected[] = {weight.size(0)};
    PTERON_TRY(expect_sizes(*bias, expected, "bias"));
  }
  PTERON_TRY(expect_contiguous({&input, &weight, bias}));
  Sizes sizes(input.sizes());
  sizes[sizes.rank() - 1] = weight.size(0);
  PTERON_TRY(out.resize(sizes.span()));
  return expect_contiguous({&out});
}

// Types without vector loops.
template <class T>
Status linear_of_any(KernelContext& context, const Tensor& input, const Tensor& weight, const Tensor* bias, void* space, Tensor& out) {
  const int64_t k = weight.size(1), n = weight.size(0),
                m = k > 0 ? static_cast<int64_t>(input.numel()) / k : static_cast<int64_t>(out.numel()) / std::max<int64_t>(n, 1);
  const Matrix a{&input, 0, m, k, k, 1}, b{&weight, 0, k, n, 1, k}, to{&out, 0, m, n, n, 1};
  product_of_any<T>(context, a, b, static_cast<T*>(space));
  blend_and_store<T>({bias}, static_cast<T*>(space), to, out);
  return {};
}

Status linear(KernelContext& context, const Tensor& input, const Tensor& weight, const Tensor* bias, Tensor& out) {
  PTERON_TRY(check_linear(input, weight, bias, out));
  const LinearPlan plan = plan_linear(input, weight, bias, out);
  PTERON_ASSIGN(void* space, context.scratch(plan.bytes()));
  if (!computes_in_float(weight.dtype()) || !computes_in_float(input.dtype()) || !computes_in_float(out.dtype())) {
    if (input.dtype() != weight.dtype() || out.dtype() != weight.dtype()) return bad_dtype("input", input.dtype());
    if (weight.dtype() == ScalarType::Double) return linear_of_any<double>(context, input, weight, bias, space, out);
    if (is_int(weight.dtype())) return linear_of_any<int64_t>(context, input, weight, bias, space, out);
    return bad_dtype("weight", weight.dtype());
  }
  auto* floats = static_cast<float*>(space);
  DotArgs args{.n = weight.size(0), .k = weight.size(1)};
  args.m = args.n > 0 ? static_cast<int64_t>(out.numel()) / args.n : 0;
  args.a = input.data<float>();
  args.lda = args.ldw = args.k;
  args.w = weight.data();
  args.ldc = args.n;
  if (plan.input > 0) {
    load_run<float>(input.dtype(), input.data(), 0, 1, static_cast<int64_t>(plan.input), floats);
    args.a = floats;
    floats += plan.input;
  }
  if (bias != nullptr) args.bias = bias->data<float>();
  if (plan.bias > 0) {
    load_run<float>(bias->dtype(), bias->data(), 0, 1, static_cast<int64_t>(plan.bias), floats);
    args.bias = floats;
    floats += plan.bias;
  }
  args.c = plan.result > 0 ? floats : out.data<float>();
  const Isa& loops = isa();
  const auto dot = weight.dtype() == ScalarType::Float ? loops.dot_f32 : weight.dtype() == ScalarType::Half ? loops.dot_f16 : loops.dot_bf16;
  const size_t grain = args.m * args.n * args.k < 32768 ? std::max<size_t>(static_cast<size_t>(args.n), 1) : 12;
  context.threads().parallel_for(static_cast<size_t>(args.n), grain, [&](size_t begin, size_t end) {
    DotArgs part = args;
    const auto from = static_cast<int64_t>(begin);
    part.w = static_cast<const std::byte*>(args.w) + static_cast<size_t>(from * args.ldw) * weight.element_bytes();
    part.c += from;
    if (part.bias != nullptr) part.bias += from;
    part.n = static_cast<int64_t>(end - begin);
    dot(part);
  });
  if (plan.result > 0) store_run<float>(out.dtype(), args.c, static_cast<int64_t>(out.numel()), out.data(), 0);
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&linear>("aten::linear.out", &linear_scratch),
    make_kernel<&mm>("aten::mm.out", &mm_scratch),
    make_kernel<&bmm>("aten::bmm.out", &mm_scratch),
    make_kernel<&addmm>("aten::addmm.out", &addmm_scratch),
};

}  // namespace

std::span<const Kernel> matmul_kernels() { return kKernels; }

}  // namespace pteron::portable
