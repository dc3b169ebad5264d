/* Part of rows_cpu.c and rows_avx512_cpu.c: the phases, compiled for the processor level of the file. */
#include "core/team.h"
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
#ifdef __AVX512F__ /* 64-bit columns gain little from it: the portable instances serve both */
#define count_64_64 spryi_rows_count_64_64
#define fill_f32_64_64 spryi_rows_fill_f32_64_64
#define fill_f64_64_64 spryi_rows_fill_f64_64_64
#define refill_f32_64_64 spryi_rows_refill_f32_64_64
#define refill_f64_64_64 spryi_rows_refill_f64_64_64
#endif
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
