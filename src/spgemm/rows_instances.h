/* Part of rows_cpu.c and rows_avx512_cpu.c: the phases, compiled for the processor level of the file. */
#include "spgemm/rows.h"

#include <omp.h>
#include <string.h>
#ifdef __AVX512F__
#include "spgemm/rows_ranks.h"
#endif

/* Which byte of eight, each 0 or 1, is the first that is set. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SPRYI_BYTE_OF(bytes) (__builtin_ctzll(bytes) >> 3)
#else
#error "written for little-endian processors"
#endif

#define SPRYI_TEMPLATE "spgemm/rows_count.tmpl.c"
#include "core/instantiate_indices.h"
static const spryi_spgemm_count_table count_table = {count_32_32, count_64_32, count_64_64};

#undef SPRY_FN
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "spgemm/rows_fill.tmpl.c"
#include "core/instantiate.h"
static const spryi_spgemm_fill_table fill_table = SPRYI_TABLE(fill);
static const spryi_spgemm_fill_table refill_table = SPRYI_TABLE(refill);
#ifdef __AVX512F__
static const spryi_spgemm_fill_table once_table = {{once_f32_32_32}, {once_f64_32_32}};
#endif
