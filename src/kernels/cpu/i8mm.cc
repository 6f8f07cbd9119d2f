// The NEON kernels under the flags of the int8 matrix product extension: the same source.
#include "kernels/cpu/neon.cc"
