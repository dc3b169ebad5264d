/*
 * Vector work with AVX2: PageRank's pass has so much to do an entry that registers of two numbers do not keep up with
 * the memory; with four they do.
 */
#define TABLE spryi_vector_ops_avx2
#include "device/cpu/vector_ops_level.tmpl.c"
