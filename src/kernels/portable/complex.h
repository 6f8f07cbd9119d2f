// Complex elements.
#pragma once

#include <complex>

#include "kernels/portable/shape.h"

namespace pteron::portable {

// An element of a complex or real tensor.
std::complex<double> load_complex(const Tensor& t, int64_t offset);
void store_complex(Tensor& t, int64_t offset, std::complex<double> value);

// out = f(a, b), broadcast; one of the operands may be real.
Status complex_binary(const Tensor& a, const Tensor& b, std::complex<double> (*f)(std::complex<double>, std::complex<double>), Tensor& out);

}  // namespace pteron::portable
