// The 256-bit kernels under -mavxvnni: the same source, with the dot product of AVX-VNNI.
#include "kernels/cpu/avx2.cc"
