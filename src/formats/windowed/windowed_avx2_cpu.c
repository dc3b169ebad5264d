/*
 * windowed_avx2_cpu: windows with AVX2.
 *
 * Idea: copies the elements of x that a window's dictionary lists into a buffer that remains in the first- or
 *       second-level cache. Each lane computes a row; the 32 lanes of a slice are eight registers of f64 or four of
 *       f32. A permutation distributes the words of the groups to the lanes; shifts then extract the dictionary indices
 *       of eight runs. x is gathered by loads and inserts. In runs of multiple columns, one load reads two elements of
 *       x of a lane. Lanes without a slot are the last lanes and are masked. Software prefetches values and indices. It
 *       also prefetches y before the sums of a slice are computed.
 * Work: a task is a part of the windows, or a group of pieces of long rows (windowed_driver.c).
 * Cost: bytes of windowed, plus one write and reads of the staged x in cache.
 * Source: x of a part of the rows staged: Chen, Explicit caching HYB, 2022; the rest: this library.
 * Good at: meshes, blocks. Bad at: rows with few entries and without common columns.
 */
#ifndef SPRY_FN
#include "base/simd_x86.h"
#include "formats/windowed/windowed_driver.h"

#include <string.h>

enum {
    AT_ONCE = 8,    /* runs decoded at a time; their indices fill whole words */
    DECODED = 32,   /* runs decoded in advance, so that stores complete before the indices are read back */
    MOST_WORDS = 4, /* largest number of words of AT_ONCE indices */
    EIGHTS = SPRYI_WINDOWED_LANES / 8,
    SIXTEENS = SPRYI_WINDOWED_LANES / 16,
};

/*
 * Decodes the dictionary indices of a slice, AT_ONCE runs at a time. Groups are consecutive, so eight adjacent lanes
 * belong to at most eight groups. A register of 16-bit elements holds sixteen lanes in the order of the pack
 * instruction: 0-3, 8-11, 4-7, 12-15.
 */
typedef struct numbers {
    __m256i group_length[SIXTEENS]; /* length of each group in runs; 0 after the last group */
    __m256i lane_length[SIXTEENS];
    __m256i group[EIGHTS];    /* group of each of eight lanes, minus the group of the first lane */
    __m256i possible[EIGHTS]; /* eight consecutive groups, starting with the group of the first lane */
    int first[EIGHTS];        /* group of the first lane */
    int groups, run;
    const uint32_t *word; /* word q of group 0; q: next word to read */
    int q;
} numbers;

/* 0 1 2 ... */
static const uint8_t rising[SPRYI_WINDOWED_LANES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                     16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

SPRYI_INLINE __m256i eight_bytes(const uint8_t *bytes)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)bytes));
}

/* Returns register n (0 or 1) of the groups' lengths. Does not read past the last group. */
SPRYI_INLINE __m256i sixteen_lengths(const spryi_windowed_view *v, int n)
{
    const __m256i in_head = _mm256_cmpgt_epi32(_mm256_set1_epi32((v->groups + 1) / 2), eight_bytes(rising + 8 * n));
    const __m256i groups = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(rising + 16 * n)));
    return _mm256_and_si256(_mm256_maskload_epi32((const int *)(const void *)(v->length + 16 * n), in_head),
                            _mm256_cmpgt_epi16(_mm256_set1_epi16((short)v->groups), groups));
}

/* Sets the members individually: an initializer would first clear all of them, which is slow. */
static void open_numbers(numbers *n, const spryi_windowed_view *v)
{
    const uint8_t *group = v->group ? v->group : rising;
    uint16_t length[SPRYI_WINDOWED_LANES + 8]; /* eight elements are read, starting at any group */
    __m256i of_lanes[EIGHTS];
    n->groups = v->groups;
    n->run = v->run;
    n->word = v->words;
    n->q = 0;
    for (int i = 0; i < SIXTEENS; i++) {
        n->group_length[i] = sixteen_lengths(v, i);
        _mm256_storeu_si256((void *)(length + 16 * i), n->group_length[i]);
    }
    _mm_storeu_si128((void *)(length + SPRYI_WINDOWED_LANES), _mm_setzero_si128());
    for (int i = 0; i < EIGHTS; i++) {
        n->first[i] = group[8 * i];
        const __m256i first = _mm256_set1_epi32(n->first[i]);
        n->group[i] = _mm256_sub_epi32(eight_bytes(group + 8 * i), first);
        n->possible[i] = _mm256_add_epi32(eight_bytes(rising), first);
        of_lanes[i] = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(length + n->first[i])));
        of_lanes[i] = _mm256_permutevar8x32_epi32(of_lanes[i], n->group[i]);
    }
    for (int i = 0; i < SIXTEENS; i++) n->lane_length[i] = _mm256_packus_epi32(of_lanes[2 * i], of_lanes[2 * i + 1]);
}

/* Returns the number of groups, or lanes, with more than `runs` runs. These groups or lanes come first. */
SPRYI_INLINE int longer(const __m256i *length, int runs)
{
    const __m256i least = _mm256_set1_epi16((short)runs);
    const __m256i low = _mm256_cmpgt_epi16(length[0], least), high = _mm256_cmpgt_epi16(length[1], least);
    return __builtin_popcount((unsigned)_mm256_movemask_epi8(_mm256_packs_epi16(low, high)));
}

/*
 * Returns the words of lanes 8*eight .. 8*eight + 7. word: one word of each of the first `groups` groups. The other
 * groups lack this word.
 */
SPRYI_INLINE __m256i words_of(const numbers *n, int eight, const uint32_t *word, int groups)
{
    const __m256i present = _mm256_cmpgt_epi32(_mm256_set1_epi32(groups), n->possible[eight]);
    const __m256i some = _mm256_maskload_epi32((const int *)(const void *)(word + n->first[eight]), present);
    return _mm256_permutevar8x32_epi32(some, n->group[eight]);
}

/* Extracts `bits` bits, starting at bit `from`, from the words of eight lanes. */
SPRYI_INLINE __m256i part_of_words(const __m256i *words, int from, int bits)
{
    __m256i some = _mm256_srli_epi32(words[from / 32], from % 32);
    if (from % 32 + bits > 32) some = _mm256_or_si256(some, _mm256_slli_epi32(words[from / 32 + 1], 32 - from % 32));
    return _mm256_and_si256(some, _mm256_set1_epi32((1 << bits) - 1));
}

/*
 * Sets at[u] to the position in the staged x of run t + u for each lane, or to 0 if the lane lacks the run. t is the
 * next run, a multiple of AT_ONCE. whole: all lanes have these runs.
 */
SPRYI_INLINE void next_numbers(numbers *n, int t, int bits, bool whole, uint16_t (*at)[SPRYI_WINDOWED_LANES])
{
    const int count = AT_ONCE * bits / 32;
    const uint32_t *word[MOST_WORDS];
    int groups[MOST_WORDS];
#pragma GCC unroll 4
    for (int w = 0; w < count; w++, n->q++) {
        groups[w] = whole ? n->groups : longer(n->group_length, 32 * n->q / bits);
        word[w] = n->word;
        n->word += groups[w];
    }
#pragma GCC unroll 2
    for (int i = 0; i < SIXTEENS; i++) {
        __m256i low[MOST_WORDS], high[MOST_WORDS];
#pragma GCC unroll 4
        for (int w = 0; w < count; w++) {
            low[w] = words_of(n, 2 * i, word[w], groups[w]);
            high[w] = words_of(n, 2 * i + 1, word[w], groups[w]);
        }
#pragma GCC unroll 8
        for (int u = 0; u < AT_ONCE; u++) {
            __m256i all = _mm256_packus_epi32(part_of_words(low, u * bits, bits), part_of_words(high, u * bits, bits));
            if (bits == 16) all = _mm256_mullo_epi16(all, _mm256_set1_epi16((short)n->run)); /* 12 bits: run is 1 */
            if (!whole)
                all = _mm256_and_si256(all, _mm256_cmpgt_epi16(n->lane_length[i], _mm256_set1_epi16((short)(t + u))));
            _mm256_storeu_si256((void *)(at[u] + 16 * i), all);
        }
    }
}

/* Decodes runs t .. t + DECODED - 1, up to the slice's width. */
static void decode(numbers *n, const spryi_windowed_view *v, int t, uint16_t (*at)[SPRYI_WINDOWED_LANES])
{
    const int end = t + DECODED < v->width ? t + DECODED : v->width;
    for (; t < end; t += AT_ONCE, at += AT_ONCE) {
        const bool whole = t + AT_ONCE <= v->whole;
        for (int b = 0; b < AT_ONCE * SPRYI_WINDOWED_LANES * 2; b += 64)
            spryi_prefetch(n->word, b + SPRYI_AHEAD_STEPPED / 4);
        if (v->bits == 16 && whole)
            next_numbers(n, t, 16, true, at);
        else if (v->bits == 16)
            next_numbers(n, t, 16, false, at);
        else if (whole)
            next_numbers(n, t, SPRYI_WINDOWED_SHORT_BITS, true, at);
        else
            next_numbers(n, t, SPRYI_WINDOWED_SHORT_BITS, false, at);
    }
}

/* Position of lanes 4*q .. 4*q + 3 in the order of the pack instruction. */
#define QUAD(q) (4 * (((q) & ~3) | ((q)&1) << 1 | ((q)&2) >> 1))

/* Four indices. One load of all four is at least as fast as four loads. */
typedef struct four {
    uint64_t i0, i1, i2, i3;
} four;

SPRYI_INLINE four four_at(const uint16_t *at)
{
    uint64_t all;
    memcpy(&all, at, sizeof all);
    return (four){all & 0xffff, all >> 16 & 0xffff, all >> 32 & 0xffff, all >> 48};
}

SPRYI_INLINE __m256d x_of_f64(const double *x, const uint16_t *at)
{
    const four i = four_at(at);
    return spryi_four_pd(x + i.i0, x + i.i1, x + i.i2, x + i.i3);
}

SPRYI_INLINE __m128 x_of_f32(const float *x, const uint16_t *at)
{
    const four i = four_at(at);
    return spryi_four_ps(x + i.i0, x + i.i1, x + i.i2, x + i.i3);
}

SPRYI_INLINE void store_four_f64(double *to, __m256d v)
{
    _mm256_storeu_pd(to, v);
}

SPRYI_INLINE void store_four_f32(float *to, __m128 v)
{
    _mm_storeu_ps(to, v);
}

/*
 * The functions column and two_columns return x for the lanes of register v of a slot. two_columns also sets *second to
 * x of the adjacent column.
 */
SPRYI_INLINE __m256d column_f64(const double *x, const uint16_t *at, int v)
{
    return x_of_f64(x, at + QUAD(v));
}

SPRYI_INLINE __m256 column_f32(const float *x, const uint16_t *at, int v)
{
    return _mm256_set_m128(x_of_f32(x, at + QUAD(2 * v + 1)), x_of_f32(x, at + QUAD(2 * v)));
}

SPRYI_INLINE __m256d two_columns_f64(const double *x, const uint16_t *at, int v, __m256d *second)
{
    const four i = four_at(at + QUAD(v));
    const __m256d even = _mm256_set_m128d(_mm_loadu_pd(x + i.i2), _mm_loadu_pd(x + i.i0));
    const __m256d odd = _mm256_set_m128d(_mm_loadu_pd(x + i.i3), _mm_loadu_pd(x + i.i1));
    *second = _mm256_unpackhi_pd(even, odd);
    return _mm256_unpacklo_pd(even, odd);
}

/* Loads two adjacent columns of each of two lanes. */
SPRYI_INLINE __m128 two_by_two(const float *a, const float *b)
{
    return _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64((const void *)a)), (const void *)b);
}

SPRYI_INLINE __m256 two_columns_f32(const float *x, const uint16_t *at, int v, __m256 *second)
{
    const four i = four_at(at + QUAD(2 * v)), j = four_at(at + QUAD(2 * v + 1));
    const __m256 low = _mm256_set_m128(two_by_two(x + j.i0, x + j.i1), two_by_two(x + i.i0, x + i.i1));
    const __m256 high = _mm256_set_m128(two_by_two(x + j.i2, x + j.i3), two_by_two(x + i.i2, x + i.i3));
    *second = _mm256_shuffle_ps(low, high, 0xdd);
    return _mm256_shuffle_ps(low, high, 0x88);
}

/*
 * The functions first_lanes return the mask of register v for the first `count` lanes. It is a part of the array
 * `ones`, which has 32 elements of -1, then zeros.
 */
static const int8_t ones[2 * SPRYI_WINDOWED_LANES + 8] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                          -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                          -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

SPRYI_INLINE __m256i first_lanes_f64(int count, int v)
{
    return _mm256_cvtepi8_epi64(_mm_loadl_epi64((const void *)(ones + SPRYI_WINDOWED_LANES - count + 4 * v)));
}

SPRYI_INLINE __m256i first_lanes_f32(int count, int v)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(ones + SPRYI_WINDOWED_LANES - count + 8 * v)));
}

SPRYI_INLINE bool all_are_rows(const uint32_t *rows)
{
    const __m256i none = _mm256_set1_epi32((int)SPRYI_WINDOWED_NO_ROW);
    __m256i found = _mm256_setzero_si256();
    for (int l = 0; l < SPRYI_WINDOWED_LANES; l += 8)
        found = _mm256_or_si256(found, _mm256_cmpeq_epi32(none, _mm256_loadu_si256((const void *)(rows + l))));
    return _mm256_testz_si256(found, found);
}

/* Names for code that is instantiated by type. LANES: elements of a register, 4 of f64 or 8 of f32. */
typedef __m256d vec_f64;
typedef __m256 vec_f32;
#define LANES ((int)(32 / sizeof(SPRY_V)))
#define VECTORS (SPRYI_WINDOWED_LANES / LANES)
#define VEC SPRYI_TYPED(vec)
#define LOAD(p) SPRYI_MM256(loadu)(p)
#define MASK_LOAD(p, mask) SPRYI_MM256(maskload)(p, mask)
#define STORE(p, v) SPRYI_MM256(storeu)(p, v)
#define FMA(a, b, c) SPRYI_MM256(fmadd)(a, b, c)
#define MUL(a, b) SPRYI_MM256(mul)(a, b)
#define ADD(a, b) SPRYI_MM256(add)(a, b)
#define MASKED(v, mask) SPRYI_MM256 (and)(v, SPRYI_MM256(castsi256)(mask))
#define SET1(s) SPRYI_MM256(set1)(s)
#define ZERO() SPRYI_MM256(setzero)()

#define SPRYI_TEMPLATE "formats/windowed/windowed_avx2_cpu.c" /* the second half of this file */
#include "base/instantiate_types.h"

static const spryi_run_table runs = SPRYI_TABLE_OF_TYPES(run);

const spryi_kernel spryi_windowed_avx2_cpu = {
    SPRYI_KERNEL_OF("windowed", "avx2", "cpu"),
    .idea = "x of a window in a near cache, a row a lane, numbers of eight runs decoded at once by shifts; AVX2",
    .source = "this library; x of parts of the rows staged: Chen 2022; slices: Monakov et al. 2010",
    .pattern = 1,
    .simd = SPRYI_AVX2,
    .spmv = &runs,
};

#else /* for each type of vectors: base/instantiate_types.h */

/* Sets xs[d*run + c] = x of column c of the run at index d, for indices d .. end - 1. */
SPRYI_INLINE void SPRY_FN(stage_runs)(SPRY_V *xs, const SPRY_V *x, const uint16_t *low, int64_t d, int64_t end,
                                      int64_t run, int64_t stride)
{
    for (; d < end; d++)
        for (int64_t c = 0; c < run; c++) xs[d * run + c] = x[low[d] + c * stride];
}

static void SPRY_FN(stage)(const spryi_windowed *s, const spryi_windowed_window *w, const SPRY_V *x, SPRY_V *xs)
{
    enum { FOUR = 4 };
    const uint16_t *low = s->dictionary + (int64_t)w->dictionary * SPRYI_WINDOWED_DICTIONARY;
    for (int64_t p = w->page; p < w[1].page; p++) {
        const SPRY_V *of_page = x + ((int64_t)s->pages[p].high << SPRYI_WINDOWED_PAGE_BITS);
        const int64_t end = p + 1 < w[1].page ? s->pages[p + 1].first : w->columns;
        int64_t d = s->pages[p].first;
        switch (w->run) {
        case 1:
            for (; d + FOUR <= end; d += FOUR) SPRYI_TYPED(store_four)(xs + d, SPRYI_TYPED(x_of)(of_page, low + d));
            SPRY_FN(stage_runs)(xs, of_page, low, d, end, 1, 1);
            break;
        case 2: SPRY_FN(stage_runs)(xs, of_page, low, d, end, 2, s->stride); break;
        case 3: SPRY_FN(stage_runs)(xs, of_page, low, d, end, 3, s->stride); break;
        default: SPRY_FN(stage_runs)(xs, of_page, low, d, end, w->run, s->stride);
        }
    }
}

/* Returns sum plus one register of a slot's products. */
SPRYI_INLINE VEC SPRY_FN(add_all)(const SPRY_V *Ax, VEC x, VEC sum)
{
    return FMA(LOAD(Ax), x, sum);
}

/*
 * Does the same as add_all, but only for the lanes of a mask. Values of other lanes are not read. Other lanes add 0
 * even if x is infinite.
 */
SPRYI_INLINE VEC SPRY_FN(add_some)(const SPRY_V *Ax, VEC x, __m256i mask, VEC sum)
{
    return FMA(MASK_LOAD(Ax, mask), MASKED(x, mask), sum);
}

/*
 * Functions `one` and `two` return sum plus the products of register v with one column of a run, or with two columns,
 * for the first `count` lanes. Values of the two columns are `count` elements apart.
 */
SPRYI_INLINE VEC SPRY_FN(one)(const SPRY_V *Ax, const SPRY_V *xs, const uint16_t *at, int v, int count, VEC sum)
{
    const VEC x = SPRYI_TYPED(column)(xs, at, v);
    Ax += v * LANES;
    if (count == SPRYI_WINDOWED_LANES) return SPRY_FN(add_all)(Ax, x, sum);
    return SPRY_FN(add_some)(Ax, x, SPRYI_TYPED(first_lanes)(count, v), sum);
}

SPRYI_INLINE VEC SPRY_FN(two)(const SPRY_V *Ax, const SPRY_V *xs, const uint16_t *at, int v, int count, VEC sum)
{
    VEC second;
    const VEC x = SPRYI_TYPED(two_columns)(xs, at, v, &second);
    const SPRY_V *next = Ax + v * LANES + count;
    Ax += v * LANES;
    if (count == SPRYI_WINDOWED_LANES) return SPRY_FN(add_all)(next, second, SPRY_FN(add_all)(Ax, x, sum));
    const __m256i mask = SPRYI_TYPED(first_lanes)(count, v);
    return SPRY_FN(add_some)(next, second, mask, SPRY_FN(add_some)(Ax, x, mask, sum));
}

/* Registers are named, because an array of sums would not be kept in registers. */
#define ALL_ONE(v) s##v = SPRY_FN(one)(Ax, xs + c, at, v, SPRYI_WINDOWED_LANES, s##v)
#define ALL_TWO(v) s##v = SPRY_FN(two)(Ax, xs + c, at, v, SPRYI_WINDOWED_LANES, s##v)
#define SOME_ONE(v)                                                                                                    \
    if (count > (v)*LANES) s##v = SPRY_FN(one)(Ax, xs + c, at, v, count, s##v)
#define SOME_TWO(v)                                                                                                    \
    if (count > (v)*LANES) s##v = SPRY_FN(two)(Ax, xs + c, at, v, count, s##v)

#define EACH(DO)                                                                                                       \
    DO(0);                                                                                                             \
    DO(1);                                                                                                             \
    DO(2);                                                                                                             \
    DO(3);                                                                                                             \
    if (VECTORS > 4) {                                                                                                 \
        DO(4);                                                                                                         \
        DO(5);                                                                                                         \
        DO(6);                                                                                                         \
        DO(7);                                                                                                         \
    }

/* Adds `columns` columns of a run. Prefetches values as if all lanes had the run. */
#define SLOTS(DO, columns, count)                                                                                      \
    do {                                                                                                               \
        __asm__("" : "+r"(at)); /* prevents the compiler from keeping indices in registers */                          \
        for (size_t b = 0; b < (columns)*SPRYI_WINDOWED_LANES * sizeof(SPRY_V); b += 64)                               \
            spryi_prefetch(Ax, (int64_t)b + SPRYI_AHEAD_STEPPED);                                                      \
        EACH(DO);                                                                                                      \
        Ax += (columns) * (count)*step;                                                                                \
    } while (0)

/*
 * Sets sums to alpha times the sums of a slice's rows. If step is 1, Ax points to the slice's values. If step is 0, Ax
 * points to ones, which are used for every slot.
 */
SPRYI_INLINE void SPRY_FN(slice)(const SPRY_V *Ax, int64_t step, const spryi_windowed_view *v, const SPRY_V *xs,
                                 SPRY_V alpha, SPRY_V *sums)
{
    uint16_t numbers_at[DECODED][SPRYI_WINDOWED_LANES];
    numbers n;
    VEC s0 = ZERO(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    open_numbers(&n, v);
    for (int t = 0; t < v->width; t += DECODED) {
        int u = 0;
        decode(&n, v, t, numbers_at);
        __asm__("" : "+m"(numbers_at)); /* forces a store; else elements are extracted one by one from the register */
        for (; u < DECODED && t + u < v->whole; u++) {
            const uint16_t *at = numbers_at[u];
            int c = 0;
            for (; c + 2 <= v->run; c += 2) SLOTS(ALL_TWO, 2, SPRYI_WINDOWED_LANES);
            if (c < v->run) SLOTS(ALL_ONE, 1, SPRYI_WINDOWED_LANES);
        }
        for (; u < DECODED && t + u < v->width; u++) {
            const uint16_t *at = numbers_at[u];
            const int count = longer(n.lane_length, t + u);
            int c = 0;
            for (; c + 2 <= v->run; c += 2) SLOTS(SOME_TWO, 2, count);
            if (c < v->run) SLOTS(SOME_ONE, 1, count);
        }
    }
#define PUT(v) STORE(sums + (v)*LANES, MUL(SET1(alpha), s##v))
    EACH(PUT);
#undef PUT
}

static void SPRY_FN(window)(const spryi_run_args *args, int64_t n, void *room)
{
    const spryi_windowed *s = args->storage;
    const spryi_windowed_window *w = &s->windows[n];
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const SPRY_V *Ax = s->values;
    SPRY_V sums[SPRYI_WINDOWED_LANES], unit[2 * SPRYI_WINDOWED_LANES], *y = args->y; /* unit: values of a pattern */
    for (int l = 0; l < 2 * SPRYI_WINDOWED_LANES && !Ax; l++) unit[l] = 1;
    SPRY_FN(stage)(s, w, args->x, room);
    for (int64_t k = w->slice; k < w[1].slice; k++) {
        const spryi_windowed_view v = spryi_windowed_view_of(s, w, k);
        for (int l = 0; l < SPRYI_WINDOWED_LANES; l++)
            spryi_prefetch_near(y, (int64_t)v.rows[l] * (int64_t)sizeof(SPRY_V));
        SPRY_FN(slice)(Ax ? Ax + v.values : unit, Ax != NULL, &v, room, alpha, sums);
        if (beta == 0 && all_are_rows(v.rows)) {
#pragma GCC unroll 4
            for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) y[v.rows[l]] = sums[l];
            continue;
        }
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
