/* A pattern's inner functions: rows and pieces with AVX-512, the rest plain. */
#include "formats/csr/csr_avx512_rows.tmpl.c"

#include "formats/csr/csr_pattern.tmpl.c"
