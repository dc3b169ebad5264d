/*
 * windowed_avx512_cpu: windows with AVX-512.
 *
 * Idea: x of a window's dictionary is copied into room that stays in a near cache. A row a lane: the 32 of a slice are
 *       four registers of f64 or two of f32. The numbers of all groups are decoded at once by shifts, and a permutation
 *       hands them to the lanes. x is put together by loads and inserts. Lanes that lack a slot are the last ones, and
 *       are masked. Values are fetched ahead by software.
 * Work: one thread a part of the windows; a piece of a long row (windowed_driver.c).
 * Cost: bytes of windowed, and the staged x twice in cache.
 * Source: x of a part of the rows staged: Chen, Explicit caching HYB, 2022; the rest: this library.
 * Good at: meshes, blocks. Bad at: rows of a few entries that share no column.
 */
#ifndef SPRY_FN
#include "core/simd_x86.h"
#include "formats/windowed/windowed_driver.h"

/* The numbers of a slice, decoded run by run. Of 16 bits each: */
typedef struct numbers {
    __m512i group;        /* of each lane */
    __m512i group_length; /* in runs; 0 past the last group */
    __m512i lane_length;
    __mmask32 groups;
    const uint32_t *word; /* word q of the first group */
    int q, here, next;    /* groups that have word q, and the next one */
    int bits, run;
} numbers;

static inline int groups_with(const numbers *n, int q)
{
    return __builtin_popcount(_mm512_cmpgt_epu16_mask(n->group_length, _mm512_set1_epi16((short)(32 * q / n->bits))));
}

static inline numbers open_numbers(const spryi_windowed_view *v)
{
    static const uint8_t in_order[SPRYI_WINDOWED_LANES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                           11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                           22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    numbers n = {.word = v->words, .bits = v->bits, .run = v->run};
    n.groups = _bzhi_u32(UINT32_MAX, (unsigned)v->groups);
    n.group = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(v->group ? v->group : in_order)));
    n.group_length = _mm512_maskz_loadu_epi16(n.groups, v->length);
    n.lane_length = _mm512_permutexvar_epi16(n.group, n.group_length);
    n.here = groups_with(&n, 0);
    n.next = groups_with(&n, 1);
    return n;
}

/* 16 of the words from `word` on, the first `count` of which may be read, from bit `shift` on. */
static inline __m512i shifted(const uint32_t *word, int count, int shift)
{
    const __mmask16 there = (__mmask16)_bzhi_u32(UINT32_MAX, (unsigned)(count > 0 ? count : 0));
    const __m512i words = _mm512_maskz_loadu_epi32(there, word);
    return shift >= 0 ? _mm512_srl_epi32(words, _mm_cvtsi32_si128(shift))
                      : _mm512_sll_epi32(words, _mm_cvtsi32_si128(-shift));
}

/* The numbers of run t of groups `from` to `from` + 15, 16 bits each. */
static inline __m256i some_numbers(const numbers *n, int from, int shift)
{
    __m512i some = shifted(n->word + from, n->here - from, shift);
    if (shift + n->bits > 32)
        some = _mm512_or_si512(some, shifted(n->word + n->here + from, n->next - from, shift - 32));
    return _mm512_cvtepi32_epi16(_mm512_and_si512(some, _mm512_set1_epi32((1 << n->bits) - 1)));
}

/* at[l] = where x of lane l begins in run t, 0 of lanes that lack it. Returns the lanes that have it. */
static inline uint32_t next_numbers(numbers *n, int t, uint16_t *at)
{
    const int bit = t * n->bits;
    for (; n->q < bit / 32; n->q++) {
        n->word += n->here;
        n->here = n->next;
        n->next = groups_with(n, n->q + 2);
    }
    __m512i all = _mm512_castsi256_si512(some_numbers(n, 0, bit % 32));
    if (n->here > 16) all = _mm512_inserti64x4(all, some_numbers(n, 16, bit % 32), 1);
    const __mmask32 lanes = _mm512_cmpgt_epu16_mask(n->lane_length, _mm512_set1_epi16((short)t));
    all = _mm512_maskz_permutexvar_epi16(lanes, n->group, all);
    if (n->run > 1) all = _mm512_mullo_epi16(all, _mm512_set1_epi16((short)n->run));
    _mm512_storeu_si512(at, all);
    return lanes;
}

#define INLINE static inline __attribute__((always_inline))
#define SPRYI_TEMPLATE "formats/windowed/windowed_avx512_cpu.c" /* its second half */
#include "core/instantiate_types.h"

static const spryi_run_table runs = SPRYI_TABLE_OF_TYPES(run);

const spryi_kernel spryi_windowed_avx512_cpu = {
    .name = "windowed_avx512_cpu",
    .format = "windowed",
    .device = "cpu",
    .idea = "x of a window in a near cache, a row a lane, 32 a step, numbers decoded by shifts; AVX-512",
    .source = "this library; x of parts of the rows staged: Chen 2022; slices: Monakov et al. 2010",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
};

#else /* for each type of vectors: core/instantiate_types.h */

#include "core/avx512_lanes.h"

#define EXPAND(mask, v) SPRYI_MM512(maskz_expand)(mask, v)
#define VECTORS (SPRYI_WINDOWED_LANES / LANES)

/* xs[d*run + c] = x of column c of number d of the dictionary. */
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

/* Adds a slot of these lanes, whose values lie side by side. */
INLINE void SPRY_FN(slot)(const SPRY_V *Ax, const SPRY_V *xs, const uint16_t *at, uint32_t lanes, VEC *sum)
{
    for (int v = 0; v < VECTORS; v++) {
        const MASK live = (MASK)(lanes >> v * LANES);
        const int count = __builtin_popcount(live);
        if (!live) continue;
        const VEC x = GATHER_AT(xs, at + v * LANES);
        if (!Ax) {
            sum[v] = MASK_ADD(sum[v], live, x);
        } else if (count == LANES) {
            sum[v] = FMA(LOAD(Ax), x, sum[v]);
        } else {
            const VEC values = MASKZ_LOAD((MASK)_bzhi_u32(UINT32_MAX, (unsigned)count), Ax);
            sum[v] = MASK_FMA(EXPAND(live, values), x, sum[v], live);
        }
        if (Ax) Ax += count;
    }
}

/* sum = of the rows of a slice. */
INLINE void SPRY_FN(slice)(const spryi_windowed *s, const spryi_windowed_view *v, const SPRY_V *xs, VEC *sum)
{
    const SPRY_V *Ax = s->values ? (const SPRY_V *)s->values + v->values : NULL;
    uint16_t at[SPRYI_WINDOWED_LANES];
    numbers n = open_numbers(v);
    for (int i = 0; i < VECTORS; i++) sum[i] = ZERO();
    for (int t = 0; t < v->width; t++) {
        const uint32_t lanes = next_numbers(&n, t, at);
        for (int c = 0; c < v->run; c++) {
            for (int i = 0; Ax && i < VECTORS; i++) spryi_prefetch(Ax, i * 64 + SPRYI_AHEAD_STEPPED);
            SPRY_FN(slot)(Ax, xs + c, at, lanes, sum);
            if (Ax) Ax += __builtin_popcount(lanes);
        }
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
