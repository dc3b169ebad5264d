/*
 * Vector passes with AVX2. PageRank's pass does so much work per element that registers of two doubles are slower than
 * the memory; registers of four are not.
 */
#define TABLE spryi_vector_ops_avx2
#include "device/cpu/vector_ops_level.tmpl.c"
