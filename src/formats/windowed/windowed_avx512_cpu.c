/*
 * windowed_avx512_cpu: windows with AVX-512.
 *
 * Idea: copies the elements of x that a window's dictionary lists into a buffer that remains in the first- or
 *       second-level cache. Each lane computes a row; the 32 lanes of a slice are four registers of f64 or two of f32.
 *       Shifts extract the dictionary indices of eight runs of all groups; a permutation distributes them to the lanes.
 *       x is gathered by loads and inserts. Lanes without a slot are the last lanes and are masked. Values and indices
 *       are prefetched by software.
 * Work: a task is a part of the windows, or a group of pieces of long rows (windowed_driver.c).
 * Cost: bytes of windowed, plus one write and reads of the staged x in cache.
 * Source: x of a part of the rows staged: Chen, Explicit caching HYB, 2022; the rest: this library.
 * Good at: meshes, blocks. Bad at: rows with few entries and without common columns.
 */
#ifndef SPRY_FN
#include "base/simd_x86.h"
#include "formats/windowed/windowed_driver.h"

enum { AT_ONCE = 8 }; /* runs decoded at a time; their indices fill whole words */

/* Decodes the dictionary indices of a slice, AT_ONCE runs at a time. Registers have 16-bit elements. */
typedef struct numbers {
    __m512i group;        /* group of each lane */
    __m512i group_length; /* length of each group in runs; 0 after the last group */
    __m512i lane_length;
    const uint32_t *word; /* word q of group 0; q: next word to read */
    int q, run;
} numbers;

SPRYI_INLINE numbers open_numbers(const spryi_windowed_view *v)
{
    static const uint8_t in_order[SPRYI_WINDOWED_LANES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                           11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                           22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    const __mmask32 groups = _bzhi_u32(UINT32_MAX, (unsigned)v->groups);
    numbers n = {.word = v->words, .run = v->run};
    n.group = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(v->group ? v->group : in_order)));
    n.group_length = _mm512_maskz_loadu_epi16(groups, v->length);
    n.lane_length = _mm512_permutexvar_epi16(n.group, n.group_length);
    return n;
}

/* Returns the mask of the lanes that have run t. They are the first lanes. */
SPRYI_INLINE uint32_t lanes_with(const numbers *n, int t)
{
    return _mm512_cmpgt_epu16_mask(n->lane_length, _mm512_set1_epi16((short)t));
}

/* Extracts `bits` bits, starting at bit `from`, from the words of 16 groups. */
SPRYI_INLINE __m256i part_of_words(const __m512i *words, int from, int bits)
{
    __m512i some = _mm512_srli_epi32(words[from / 32], (unsigned)(from % 32));
    if (from % 32 + bits > 32)
        some = _mm512_or_si512(some, _mm512_slli_epi32(words[from / 32 + 1], (unsigned)(32 - from % 32)));
    return _mm512_cvtepi32_epi16(_mm512_and_si512(some, _mm512_set1_epi32((1 << bits) - 1)));
}

/*
 * Sets at[u][l] to the position of run t + u of lane l in the staged x, or to 0 if the lane lacks the run. t, a
 * multiple of AT_ONCE, is the next run.
 */
SPRYI_INLINE void next_numbers(numbers *n, int t, int bits, uint16_t (*at)[SPRYI_WINDOWED_LANES])
{
    const int words = AT_ONCE * bits / 32;
    __m512i first[AT_ONCE / 2], second[AT_ONCE / 2];
    for (int w = 0; w < words; w++, n->q++) {
        const __mmask32 groups = _mm512_cmpgt_epu16_mask(n->group_length, _mm512_set1_epi16((short)(32 * n->q / bits)));
        first[w] = _mm512_maskz_loadu_epi32((__mmask16)groups, n->word);
        second[w] = _mm512_maskz_loadu_epi32((__mmask16)(groups >> 16), n->word + 16);
        n->word += __builtin_popcount(groups);
    }
#pragma GCC unroll 8
    for (int u = 0; u < AT_ONCE; u++) {
        __m512i all = _mm512_inserti64x4(_mm512_castsi256_si512(part_of_words(first, u * bits, bits)),
                                         part_of_words(second, u * bits, bits), 1);
        all = _mm512_maskz_permutexvar_epi16(lanes_with(n, t + u), n->group, all);
        if (n->run > 1) all = _mm512_mullo_epi16(all, _mm512_set1_epi16((short)n->run));
        /* two stores of 32 bytes are read back sooner than one of 64 bytes */
        _mm256_storeu_si256((void *)at[u], _mm512_castsi512_si256(all));
        _mm256_storeu_si256((void *)(at[u] + 16), _mm512_extracti64x4_epi64(all, 1));
    }
}

#define SPRYI_TEMPLATE "formats/windowed/windowed_avx512_cpu.c" /* the second half of this file */
#include "base/instantiate_types.h"

static const spryi_run_table runs = SPRYI_TABLE_OF_TYPES(run);

const spryi_kernel spryi_windowed_avx512_cpu = {
    SPRYI_KERNEL_OF("windowed", "avx512", "cpu"),
    .idea = "x of a window in a near cache, a row a lane, 32 a step, numbers decoded by shifts; AVX-512",
    .source = "this library; x of parts of the rows staged: Chen 2022; slices: Monakov et al. 2010",
    .pattern = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
};

#else /* for each type of vectors: base/instantiate_types.h */

#include "base/avx512_lanes.h"

#define VECTORS (SPRYI_WINDOWED_LANES / LANES)

/* Sets xs[d*run + c] = x of column c of the run at dictionary index d. */
static void SPRY_FN(stage)(const spryi_windowed *s, const spryi_windowed_window *w, const SPRY_V *x, SPRY_V *xs)
{
    const uint16_t *low = s->dictionary + (int64_t)w->dictionary * SPRYI_WINDOWED_DICTIONARY;
    const int64_t run = w->run, stride = run > 1 ? s->stride : 1;
    for (int64_t p = w->page; p < w[1].page; p++) {
        const SPRY_V *of_page = x + ((int64_t)s->pages[p].high << SPRYI_WINDOWED_PAGE_BITS);
        const int64_t end = p + 1 < w[1].page ? s->pages[p + 1].first : w->columns;
        int64_t d = s->pages[p].first;
        for (; run == 1 && d + LANES <= end; d += LANES) STORE(xs + d, GATHER_AT(of_page, low + d));
        for (; d < end; d++)
            for (int64_t c = 0; c < run; c++) xs[d * run + c] = of_page[low[d] + c * stride];
    }
}

/* Returns sum plus one register of a slot's products for the lanes in `live`, whose values are contiguous. */
SPRYI_INLINE VEC SPRY_FN(some_lanes)(const SPRY_V *Ax, const SPRY_V *xs, const uint16_t *at, MASK live, VEC sum)
{
    const VEC x = GATHER_AT(xs, at);
    if (!Ax) return MASK_ADD(sum, live, x);
    return MASK_FMA(MASKZ_LOAD(live, Ax), x, sum, live);
}

SPRYI_INLINE VEC SPRY_FN(all_lanes)(const SPRY_V *Ax, const SPRY_V *xs, const uint16_t *at, VEC sum)
{
    return Ax ? FMA(LOAD(Ax), GATHER_AT(xs, at), sum) : ADD(sum, GATHER_AT(xs, at));
}

/* Registers are named, because an array of sums would not be kept in registers. v: register of a slot. */
#define LIVE(v) ((MASK)((uint64_t)lanes >> (v)*LANES))
#define SOME(v)                                                                                                        \
    if (LIVE(v)) s##v = SPRY_FN(some_lanes)(Ax ? Ax + (v)*LANES : NULL, xs + c, at + (v)*LANES, LIVE(v), s##v)
#define ALL(v) s##v = SPRY_FN(all_lanes)(Ax ? Ax + (v)*LANES : NULL, xs + c, at + (v)*LANES, s##v)

#define EACH(DO)                                                                                                       \
    DO(0);                                                                                                             \
    DO(1);                                                                                                             \
    if (VECTORS > 2) {                                                                                                 \
        DO(2);                                                                                                         \
        DO(3);                                                                                                         \
    }

/* Sets sum to the sums of a slice's rows. */
SPRYI_INLINE void SPRY_FN(slice)(const spryi_windowed *s, const spryi_windowed_view *v, const SPRY_V *xs, VEC *sum)
{
    const SPRY_V *Ax = s->values ? (const SPRY_V *)s->values + v->values : NULL;
    uint16_t numbers_at[AT_ONCE][SPRYI_WINDOWED_LANES];
    numbers n = open_numbers(v);
    VEC s0 = ZERO(), s1 = ZERO(), s2 = ZERO(), s3 = ZERO();
    for (int t = 0; t < v->width; t += AT_ONCE) {
        for (int i = 0; i < AT_ONCE / 2; i++) spryi_prefetch(n.word, i * 128 + SPRYI_AHEAD_STEPPED / 4);
        if (v->bits == 16)
            next_numbers(&n, t, 16, numbers_at);
        else
            next_numbers(&n, t, SPRYI_WINDOWED_SHORT_BITS, numbers_at);
        __asm__("" : "+m"(numbers_at)); /* forces a store; else elements are extracted one by one from the register */
        if (t + AT_ONCE <= v->whole) {
            for (int u = 0; u < AT_ONCE; u++)
                for (int c = 0; c < v->run; c++) {
                    const uint16_t *at = numbers_at[u];
                    for (int i = 0; Ax && i < VECTORS; i++) spryi_prefetch(Ax, i * 64 + SPRYI_AHEAD_STEPPED);
                    EACH(ALL);
                    if (Ax) Ax += SPRYI_WINDOWED_LANES;
                }
            continue;
        }
        for (int u = 0; u < AT_ONCE && t + u < v->width; u++) {
            const uint32_t lanes = lanes_with(&n, t + u);
            for (int c = 0; c < v->run; c++) {
                const uint16_t *at = numbers_at[u];
                for (int i = 0; Ax && i < VECTORS; i++) spryi_prefetch(Ax, i * 64 + SPRYI_AHEAD_STEPPED);
                EACH(SOME);
                if (Ax) Ax += __builtin_popcount(lanes);
            }
        }
    }
    sum[0] = s0;
    sum[1] = s1;
    if (VECTORS > 2) {
        sum[2] = s2;
        sum[3] = s3;
    }
}

static void SPRY_FN(window)(const spryi_run_args *args, int64_t n, void *room)
{
    const spryi_windowed *s = args->storage;
    const spryi_windowed_window *w = &s->windows[n];
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V sums[SPRYI_WINDOWED_LANES], *y = args->y;
    VEC sum[VECTORS];
    SPRY_FN(stage)(s, w, args->x, room);
    for (int64_t k = w->slice; k < w[1].slice; k++) {
        const spryi_windowed_view v = spryi_windowed_view_of(s, w, k);
        SPRY_FN(slice)(s, &v, room, sum);
        for (int i = 0; i < VECTORS; i++) STORE(sums + i * LANES, MUL(SET1(alpha), sum[i]));
        for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) {
            if (v.rows[l] == SPRYI_WINDOWED_NO_ROW) continue;
            SPRY_V *to = y + v.rows[l];
            *to = beta == 0 ? sums[l] : sums[l] + beta * *to;
        }
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_windowed_drive(args, SPRY_FN(window));
}

#endif
