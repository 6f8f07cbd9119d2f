// The NEON kernels under the flags of the dot product extension: the same source.
#include "kernels/cpu/neon.cc"
