/*
 * From CSR to the slices of one group of rows (packed_group.h). What a slice becomes is decided in packed_layout.h;
 * here its lanes, distances and columns are found, and its arrays are filled.
 */
#ifndef SPRY_FN
#include "formats/packed/packed_group.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Stores a cache line; stream: past the caches, for arrays that would not stay there. */
static inline void put_line(void *to, const void *line, int stream)
{
#ifdef __SSE2__
    if (stream) {
        for (int q = 0; q < 4; q++) _mm_stream_si128((__m128i *)to + q, ((const __m128i *)line)[q]);
        return;
    }
#endif
    memcpy(to, line, 64);
}

/* Makes streamed lines visible to other threads. */
static inline void after_lines(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Fetches lines of b x b blocks, and the columns that go with them. */
static inline void fetch(spryi_packed_fetch *a, int b)
{
    for (int e = 0; a->values && e < b * b; e++, a->values += 64) __builtin_prefetch((const void *)a->values, 0, 2);
    if (a->columns) __builtin_prefetch((const void *)a->columns, 0, 2);
    if (a->columns) a->columns += a->column_bytes;
}

enum { FEW = 8 };

/* 1 if a distance is one of the first FEW. */
static inline int is_among(const int32_t *distances, int32_t distance)
{
#ifdef __SSE2__
    const __m128i *list = (const __m128i *)(const void *)distances, one = _mm_set1_epi32(distance);
    const __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128(list), one);
    return _mm_movemask_epi8(_mm_or_si128(low, _mm_cmpeq_epi32(_mm_loadu_si128(list + 1), one))) != 0;
#else
    int among = 0;
    for (int q = 0; q < FEW; q++) among |= distances[q] == distance;
    return among;
#endif
}

static inline uint32_t first_bits(int count)
{
    return count >= 32 ? UINT32_MAX : (1u << count) - 1;
}

/* Sets a bit of lane l's mask of 1, 2 or 4 bytes, little-endian as the processors are. */
static inline void set_bit(uint8_t *masks, int bytes, int l, int bit)
{
    masks[l * bytes + bit / 8] = (uint8_t)(masks[l * bytes + bit / 8] | 1u << bit % 8);
}

/* Zeros for numbers begin .. end - 1. */
static inline void clear_values(const spryi_packed *s, int64_t begin, int64_t end)
{
    const size_t size = spry_type_bytes(s->a.value_type);
    if (s->values) memset((char *)s->values + (size_t)begin * size, 0, (size_t)(end - begin) * size);
}

/* Lanes of a slice of rows from i on, of rows before end. */
static inline int lanes_left(int64_t i, int64_t end)
{
    return (int)(end - i < SPRYI_PACKED_LANES ? end - i : SPRYI_PACKED_LANES);
}

#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/packed/packed_group.c" /* its second half */
#include "base/instantiate.h"

typedef void (*make_fn)(spryi_packed_group *g);
static const make_fn make_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(make_slices);

spryi_packed_group spryi_packed_group_of(const spry_arrays *csr, int64_t block, spryi_packed_plan *plan, int64_t n)
{
    const int64_t rows = spryi_packed_group_rows(block), end = (n + 1) * rows;
    return (spryi_packed_group){.csr = csr,
                                .b = (int)block,
                                .begin = n * rows,
                                .end = end < csr->rows ? end : csr->rows,
                                .plan = plan};
}

void spryi_packed_make_slices(spryi_packed_group *g)
{
    SPRYI_INSTANCE(make_table, g->csr)(g);
}

#else /* once for each value type and pair of index types */

/* The draft's lanes: `count` rows, or block rows, from `row` on. */
static void SPRY_FN(draft_lanes)(const spryi_packed_group *g, spryi_packed_draft *n, int64_t row, int b, int count)
{
    const SPRY_P *Ap = g->csr->offsets;
    SPRY_P length[SPRYI_PACKED_LANES], longest = 0, differs = 0;
    n->row = row;
    n->b = b;
    n->count = count;
    n->long_lanes = 0;
    n->entries = 0;
    n->longest = 0;
    n->sorted = g->sorted;
    if (b == 1 && !g->sorted) {
        for (int l = 0; l < count; l++) n->begin[l] = Ap[row + l];
        for (int l = 0; l < count; l++) length[l] = Ap[row + l + 1] - Ap[row + l];
    } else {
        for (int l = 0; l < count; l++) {
            const int64_t i = g->sorted ? g->begin + g->order[row - g->begin + l] : row + (int64_t)l * b;
            n->begin[l] = Ap[i];
            length[l] = Ap[i + 1] - Ap[i];
        }
    }
    for (int l = 0; l < count; l++) longest = length[l] > longest ? length[l] : longest;
    for (int l = 0; l < count && longest > g->long_over; l++) {
        const int is_long = length[l] > g->long_over;
        n->long_lanes |= (uint32_t)is_long << l;
        if (is_long) length[l] = 0;
    }
    if (b > 1)
        for (int l = 0; l < count; l++) length[l] /= (SPRY_P)b;
    for (int l = 0; l < count; l++) {
        n->length[l] = (int32_t)length[l];
        n->entries += length[l];
        n->longest = n->length[l] > n->longest ? n->length[l] : n->longest;
        differs |= length[l] ^ length[0];
    }
    for (int l = count; l < SPRYI_PACKED_LANES; l++) n->begin[l] = n->length[l] = 0;
    n->even = count == SPRYI_PACKED_LANES && !differs && !n->long_lanes;
}

static inline int64_t SPRY_FN(column)(const spryi_packed_group *g, const spryi_packed_draft *n, int l, int64_t k)
{
    const SPRY_J *Aj = g->csr->indices;
    return n->b == 1 ? Aj[n->begin[l] + k] : Aj[n->begin[l] + k * n->b] / n->b;
}

/* 1 if all lanes, of one length, have the columns of the one before plus one. */
static int SPRY_FN(all_continue)(const spryi_packed_group *g, const spryi_packed_draft *n)
{
    const int b = n->b;
    const SPRY_J *Aj = (const SPRY_J *)g->csr->indices + n->begin[0];
    const int64_t length = n->length[0];
    SPRY_J other = 0;
    if (b == 1 && !n->sorted) {
        for (int64_t k = length; k < SPRYI_PACKED_LANES * length; k++) other |= (Aj[k] - Aj[k - length]) ^ 1;
        return other == 0;
    }
    for (int l = 1; l < SPRYI_PACKED_LANES && other == 0; l++) {
        const SPRY_J *before = (const SPRY_J *)g->csr->indices + n->begin[l - 1];
        const SPRY_J *own = (const SPRY_J *)g->csr->indices + n->begin[l];
        for (int64_t k = 0; k < length * b; k += b) other |= (own[k] - before[k]) ^ (SPRY_J)b;
    }
    return other == 0;
}

/* 1 if lane l has the columns of the lane before plus one. */
static inline int SPRY_FN(continues)(const spryi_packed_group *g, const spryi_packed_draft *n, int l)
{
    const SPRY_J *before = (const SPRY_J *)g->csr->indices + n->begin[l - 1];
    const SPRY_J *own = (const SPRY_J *)g->csr->indices + n->begin[l];
    const int64_t end = (int64_t)n->length[l] * n->b;
    if (n->length[l] != n->length[l - 1]) return 0;
    for (int64_t k = 0; k < end; k += n->b)
        if (own[k] - before[k] != n->b) return 0;
    return 1;
}

/*
 * The distances of all lanes, rising; -1 where they are more than `most` or those of a lane do not rise. The first
 * FEW are compared at once, as where in the list one is cannot be predicted; a short list repeats its first one there.
 */
static int SPRY_FN(find_distances)(const spryi_packed_group *g, spryi_packed_draft *n, int most)
{
    int found = 0, same = 0;
    const int lanes = n->even && SPRY_FN(all_continue)(g, n) ? 1 : n->count;
    for (int l = 0; l < lanes; l++) {
        const int64_t own = n->row / n->b + l;
        int64_t before = INT64_MIN;
        same = l > 0 && (same || l % 4 == 0) && SPRY_FN(continues)(g, n, l); /* as its neighbours do, mostly */
        if (same) continue;
        for (int32_t k = 0, d = 0; k < n->length[l]; k++, d++) {
            const int64_t distance = SPRY_FN(column)(g, n, l, k) - own;
            const int32_t short_one = (int32_t)distance;
            if (distance <= before || distance != short_one) return -1;
            before = distance;
            if (found > 0 && is_among(n->distances, short_one)) continue;
            while (d < found && n->distances[d] < distance) d++;
            if (d < found && n->distances[d] == distance) continue;
            if (found == most) return -1;
            for (int q = 0; q < FEW && found == 0; q++) n->distances[q] = short_one;
            for (int q = found++; q > d; q--) n->distances[q] = n->distances[q - 1];
            n->distances[d] = short_one;
        }
    }
    return found;
}

/* 1 if DIAGONALS take the fewest bytes; the draft is complete then. */
static int SPRY_FN(choose_diagonals)(const spryi_packed_group *g, spryi_packed_draft *n)
{
    const int most = spryi_packed_most_diagonals(n), count = most >= 0 ? SPRY_FN(find_distances)(g, n, most) : -1;
    const int listed = count == g->list && memcmp(n->distances, g->distances, (size_t)count * 4) == 0;
    if (!spryi_packed_diagonals_pay(n, count, listed)) return 0;
    spryi_packed_choose_diagonals(n, count, listed);
    return 1;
}

/* Completes the draft with the kind of the fewest bytes. */
static void SPRY_FN(choose_kind)(const spryi_packed_group *g, spryi_packed_draft *n)
{
    if (SPRY_FN(choose_diagonals)(g, n)) return;
    int64_t low = INT64_MAX, high = -1;
    const int rising = g->csr->sorted == SPRY_KNOWN_YES;
    for (int l = 0; l < n->count; l++) {
        const SPRY_J *Aj = (const SPRY_J *)g->csr->indices + n->begin[l];
        const int64_t last = ((int64_t)n->length[l] - 1) * n->b;
        for (int64_t k = 0; k <= last; k += rising && k < last ? last : n->b) {
            low = Aj[k] < low ? Aj[k] : low;
            high = Aj[k] > high ? Aj[k] : high;
        }
    }
    spryi_packed_choose_indices(n, low / n->b, high < 0 ? high : high / n->b);
}

/* Completes the draft as the measuring pass chose. */
static void SPRY_FN(recall_choice)(const spryi_packed_group *g, spryi_packed_draft *n, const spryi_packed_choice *c)
{
    n->kind = c->kind;
    n->full = c->full;
    n->width = c->width;
    n->shared = c->shared;
    n->padded = c->padded;
    n->low = c->low;
    if (n->kind != SPRYI_PACKED_DIAGONALS) return;
    if (n->shared)
        memcpy(n->distances, g->distances, (size_t)n->width * sizeof *n->distances);
    else
        SPRY_FN(find_distances)(g, n, spryi_packed_most_diagonals(n));
}

/* The lanes that have slot k, in order, and how many they are; next[l]: entries of lane l that were taken. */
static int SPRY_FN(lanes_of_slot)(const spryi_packed_group *g, const spryi_packed_draft *n, int k, const int32_t *next,
                                  int *lane)
{
    int count = 0;
    for (int l = 0; l < n->count; l++) {
        if (next[l] == n->length[l]) continue;
        if (n->kind == SPRYI_PACKED_DIAGONALS && !n->full &&
            SPRY_FN(column)(g, n, l, next[l]) - (n->row / n->b + l) != n->distances[k])
            continue;
        lane[count++] = l;
    }
    return count;
}

/* Values and indices of a slice that is neither FULL nor PADDED: the lanes of each slot lie side by side. */
static void SPRY_FN(fill_packed)(const spryi_packed_group *g, const spryi_packed_draft *n, SPRY_B *Vx, uint8_t *masks,
                                 void *indices)
{
    const SPRY_B *Ax = g->csr->values;
    const int b = n->b;
    int32_t next[SPRYI_PACKED_LANES] = {0};
    int lane[SPRYI_PACKED_LANES];
    int64_t before = 0;
    for (int k = 0; k < n->width; k++) {
        const int count = SPRY_FN(lanes_of_slot)(g, n, k, next, lane);
        for (int r = 0; Ax && r < b; r++)
            for (int c = 0; c < b; c++)
                for (int q = 0; q < count; q++) {
                    const int l = lane[q];
                    Vx[((int64_t)r * b + c) * count + q] =
                        Ax[n->begin[l] + ((int64_t)r * n->length[l] + next[l]) * b + c];
                }
        if (Ax) Vx += (int64_t)b * b * count;
        for (int q = 0; q < count; q++) {
            const int64_t j = SPRY_FN(column)(g, n, lane[q], next[lane[q]]);
            if (n->kind == SPRYI_PACKED_OFFSETS)
                ((uint16_t *)indices)[before + q] = (uint16_t)(j - n->low);
            else if (n->kind == SPRYI_PACKED_COLUMNS)
                ((SPRY_J *)indices)[before + q] = (SPRY_J)j;
            else if (masks)
                set_bit(masks, spryi_packed_mask_bytes(n->width), lane[q], k);
            next[lane[q]]++;
        }
        before += count;
    }
}

/* Slot d of as many lanes, from `first` on, as make a cache line. */
SPRYI_INLINE void SPRY_FN(put_lines)(const spryi_packed_group *g, SPRY_B *Vx, const SPRY_B *line, int d, int first,
                                     const int b)
{
    enum { LINE = 64 / sizeof(SPRY_B) };
    for (int e = 0; Vx && e < b * b; e++)
        put_line(Vx + ((int64_t)d * b * b + e) * SPRYI_PACKED_LANES + first, line + e * LINE, g->stream);
}

/*
 * Values of a FULL or PADDED slice: number e of the block in slot d of lane l is value 32*(d*b*b + e) + l. As many
 * lanes at a time as make a cache line, which is written whole, while later slices' entries are fetched line by line.
 * Where slices may share values, a hole takes the value before it in its slot, so that holes make no difference.
 * b is a constant; masks: of the lanes, NULL where none are stored.
 */
SPRYI_INLINE void SPRY_FN(fill_dense)(spryi_packed_group *g, const spryi_packed_draft *n, SPRY_B *Vx, uint32_t *masks,
                                      const int b)
{
    enum { LANES = SPRYI_PACKED_LANES, LINE = 64 / sizeof(SPRY_B), MOST = SPRYI_PACKED_MOST_BLOCK };
    const SPRY_J *Aj = g->csr->indices;
    const SPRY_B *Ax = g->csr->values;
    _Alignas(64) SPRY_B line[MOST * MOST * LINE];
    spryi_packed_fetch ahead = g->ahead;
    for (int first = 0; first < LANES; first += LINE) {
        int64_t next[LINE] = {0}; /* entry of each lane */
        int32_t least = n->width; /* slots that all of these lanes have, the first ones */
        for (int q = 0; q < LINE; q++) least = n->length[first + q] < least ? n->length[first + q] : least;
        if (masks && least < n->width) least = 0;
        for (int d = 0; d < least; d++) {
            fetch(&ahead, b);
            for (int r = 0; Vx && r < b; r++)
                for (int c = 0; c < b; c++)
                    for (int q = 0; q < LINE; q++)
                        line[(r * b + c) * LINE + q] =
                            Ax[n->begin[first + q] + ((int64_t)r * n->length[first + q] + d) * b + c];
            SPRY_FN(put_lines)(g, Vx, line, d, first, b);
            if (b == 1 && Vx) memcpy(&g->holes[d], &line[LINE - 1], sizeof *line);
        }
        for (int q = 0; q < LINE; q++) {
            next[q] = least;
            if (masks) masks[first + q] = first_bits(least);
        }
        for (int d = least; d < n->width; d++) {
            SPRY_B hole = 0;
            if (g->share && b == 1) memcpy(&hole, &g->holes[d], sizeof hole);
            fetch(&ahead, b);
            for (int q = 0; q < LINE; q++) {
                const int l = first + q;
                const int64_t k = next[q], length = n->length[l], at = n->begin[l] + k * b;
                const int has = k < length && (!masks || Aj[at] / b - (n->row / b + l) == n->distances[d]);
                if (masks) masks[l] |= (uint32_t)has << d;
                next[q] += has;
                for (int r = 0; Vx && r < b; r++)
                    for (int c = 0; c < b; c++) line[(r * b + c) * LINE + q] = has ? Ax[at + r * length * b + c] : hole;
                if (Vx && g->share && b == 1) hole = line[q];
            }
            if (b == 1 && Vx) memcpy(&g->holes[d], &line[LINE - 1], sizeof *line);
            SPRY_FN(put_lines)(g, Vx, line, d, first, b);
        }
    }
}

/* Indices of a FULL or PADDED slice. kind is a constant. */
SPRYI_INLINE void SPRY_FN(fill_dense_indices)(const spryi_packed_group *g, const spryi_packed_draft *n, void *indices,
                                              const int kind)
{
    const int b = n->b;
    const SPRY_J low = (SPRY_J)n->low;
    for (int l = 0; l < n->count; l++) {
        const SPRY_J *Aj = (const SPRY_J *)g->csr->indices + n->begin[l];
        uint16_t *offsets = (uint16_t *)indices + l;
        SPRY_J *columns = (SPRY_J *)indices + l;
        for (int32_t k = 0; k < n->length[l]; k++)
            if (kind == SPRYI_PACKED_OFFSETS)
                offsets[SPRYI_PACKED_LANES * k] = (uint16_t)((b == 1 ? Aj[k] : Aj[k * b] / b) - low);
            else
                columns[SPRYI_PACKED_LANES * k] = b == 1 ? Aj[k] : Aj[k * b] / b;
    }
}

static void SPRY_FN(fill_entries)(spryi_packed_group *g, const spryi_packed_draft *n, SPRY_B *Vx, uint8_t *masks,
                                  void *indices)
{
    if (!n->full && !n->padded) {
        SPRY_FN(fill_packed)(g, n, Vx, masks, indices);
        return;
    }
    uint32_t mask[SPRYI_PACKED_LANES] = {0}, *holes = masks ? mask : NULL;
    switch (n->b) {
    case 1:
        if (holes)
            SPRY_FN(fill_dense)(g, n, Vx, holes, 1);
        else
            SPRY_FN(fill_dense)(g, n, Vx, NULL, 1);
        break;
#if SPRY_J_IS_64 || SPRY_IS_MIXED
    default: SPRY_FN(fill_dense)(g, n, Vx, holes, n->b); break; /* seldom used: once for all blocks */
#else
    case 2: SPRY_FN(fill_dense)(g, n, Vx, holes, 2); break;
    case 3: SPRY_FN(fill_dense)(g, n, Vx, holes, 3); break;
    case 4: SPRY_FN(fill_dense)(g, n, Vx, holes, 4); break;
    default: SPRY_FN(fill_dense)(g, n, Vx, holes, 5); break;
#endif
    }
    const int bytes = spryi_packed_mask_bytes(n->width);
    for (int l = 0; holes && l < n->count; l++) memcpy(masks + l * bytes, &mask[l], (size_t)bytes);
    if (n->kind == SPRYI_PACKED_OFFSETS)
        SPRY_FN(fill_dense_indices)(g, n, indices, SPRYI_PACKED_OFFSETS);
    else if (n->kind == SPRYI_PACKED_COLUMNS)
        SPRY_FN(fill_dense_indices)(g, n, indices, SPRYI_PACKED_COLUMNS);
}

/* Writes slice k to where it belongs; 1: its values are those of one before. */
static int SPRY_FN(store_slice)(spryi_packed_group *g, const spryi_packed_draft *n, int64_t k,
                                spryi_packed_location *at)
{
    spryi_packed *s = g->s;
    uint8_t *indices = s->indices + at->indices * SPRYI_PACKED_INDEX_UNIT;
    const int diagonals = n->kind == SPRYI_PACKED_DIAGONALS;
    s->extras[k] = spryi_packed_extra(n, at);
    if (diagonals && !n->shared) memcpy(indices, n->distances, (size_t)n->width * sizeof *n->distances);
    if (!diagonals && !n->full) {
        for (int l = 0; l < SPRYI_PACKED_LANES; l++)
            indices[l] = (uint8_t)(n->long_lanes >> l & 1 ? SPRYI_PACKED_LONG_ROW : n->length[l]);
        indices += SPRYI_PACKED_LANES;
    }
    if (n->sorted) {
        memcpy(indices, g->order + (n->row - g->begin), (size_t)n->count * sizeof *g->order);
        indices += SPRYI_PACKED_LANES * sizeof *g->order;
    }
    uint8_t *masks = diagonals && !n->full ? s->indices + at->masks * SPRYI_PACKED_INDEX_UNIT : NULL;
    const int stream = g->stream, may_share = s->values && spryi_packed_may_share(g, n, at);
    g->stream = stream && !may_share; /* the next slice may be stored in the same place */
    SPRY_FN(fill_entries)(g, n, s->values ? (SPRY_B *)s->values + at->values : NULL, masks, indices);
    g->stream = stream;
    const int shares = may_share && spryi_packed_share_values(g, n, at);
    s->slices[k] = spryi_packed_record(n, at);
    return shares;
}

/*
 * Fetches the columns of the slice after this one, or of a group later where rows are sorted; or, where slices are
 * stored, tells fill_dense where its values and columns begin.
 */
static inline void SPRY_FN(fetch_next)(spryi_packed_group *g, const spryi_packed_draft *n)
{
    enum { MOST = 1 << 14 };
    const SPRY_P *Ap = g->csr->offsets;
    const int64_t rows = (int64_t)SPRYI_PACKED_LANES * n->b;
    const int64_t row = n->row + (n->sorted || !g->s ? SPRYI_PACKED_GROUP : rows);
    g->ahead = (spryi_packed_fetch){0};
    if (row + rows > g->csr->rows) return;
    const uintptr_t columns = (uintptr_t)((const SPRY_J *)g->csr->indices + Ap[row]);
    if (g->s) {
        if (g->s->values) g->ahead.values = (uintptr_t)((const SPRY_B *)g->csr->values + Ap[row]);
        if (n->b == 1 && !(n->kind == SPRYI_PACKED_DIAGONALS && n->full)) g->ahead.columns = columns;
        g->ahead.column_bytes = 64 / sizeof(SPRY_B) * sizeof(SPRY_J);
        return;
    }
    const size_t bytes = (size_t)(Ap[row + rows] - Ap[row]) * sizeof(SPRY_J);
    for (size_t q = 0; q < bytes && q < MOST; q += 64) __builtin_prefetch((const void *)(columns + q), 0, 2);
}

/* Counts the slice, whose list, if it has one of its own, becomes the last, and stores it in the second pass. */
static void SPRY_FN(add_slice)(spryi_packed_group *g, int64_t row, int b, int count)
{
    spryi_packed *s = g->s;
    spryi_packed_draft n;
    spryi_packed_choice *choice = &g->plan->choice[g->taken++];
    SPRY_FN(draft_lanes)(g, &n, row, b, count);
    if (s) {
        SPRY_FN(recall_choice)(g, &n, choice);
    } else {
        SPRY_FN(choose_kind)(g, &n);
        *choice = (spryi_packed_choice){n.low,
                                        (uint8_t)n.kind,
                                        (uint8_t)n.full,
                                        (uint8_t)n.width,
                                        (uint8_t)n.shared,
                                        (uint8_t)n.padded,
                                        (uint8_t)n.b};
    }
    SPRY_FN(fetch_next)(g, &n);
    const spryi_packed_counts before = g->at;
    spryi_packed_location at = spryi_packed_locate(&g->at, &g->list_at, &n, (int64_t)sizeof(SPRY_J));
    if (n.kind == SPRYI_PACKED_DIAGONALS && !n.shared) {
        g->list = n.width;
        memcpy(g->distances, n.distances, (size_t)n.width * sizeof *n.distances);
    }
    if (!s) return;
    clear_values(s, before.slots, at.values);
    memset(s->indices + before.units * SPRYI_PACKED_INDEX_UNIT, 0,
           (size_t)(g->at.units - before.units) * SPRYI_PACKED_INDEX_UNIT);
    if (SPRY_FN(store_slice)(g, &n, g->at.slices - 1, &at)) g->at.slots = before.slots;
}

static __attribute__((noinline, cold)) void SPRY_FN(add_long_row)(spryi_packed_group *g, int64_t row, int64_t from,
                                                                  int64_t length)
{
    spryi_packed *s = g->s;
    const int64_t pieces = (length + SPRYI_PACKED_PIECE - 1) / SPRYI_PACKED_PIECE, to = g->at.long_nnz;
    if (s) {
        s->long_rows[g->at.long_rows] = row;
        s->long_first[g->at.long_rows] = g->at.pieces;
        for (int64_t p = 0; p < pieces; p++) s->pieces[g->at.pieces + p] = to + p * SPRYI_PACKED_PIECE;
        memcpy((SPRY_J *)s->long_columns + to, (const SPRY_J *)g->csr->indices + from, (size_t)length * sizeof(SPRY_J));
        if (s->long_values)
            memcpy((SPRY_B *)s->long_values + to, (const SPRY_B *)g->csr->values + from,
                   (size_t)length * sizeof(SPRY_B));
    }
    g->at.long_rows++;
    g->at.pieces += pieces;
    g->at.long_nnz += length;
}

/* 1 if at least half of the slices, rows in their order, are of DIAGONALS. */
static int SPRY_FN(mostly_diagonals)(const spryi_packed_group *g)
{
    spryi_packed_draft n;
    const int64_t slices = (g->end - g->begin + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES;
    int64_t found = 0, left = slices;
    for (int64_t i = g->begin; i < g->end && 2 * found < slices; i += SPRYI_PACKED_LANES) {
        if (2 * (found + left--) < slices) return 0;
        SPRY_FN(draft_lanes)(g, &n, i, 1, lanes_left(i, g->end));
        found += SPRY_FN(choose_diagonals)(g, &n);
    }
    return 2 * found >= slices;
}

/* order = rows by falling length, stably; returns the slots of the slices that they make. */
static int64_t SPRY_FN(order_rows)(const uint8_t *length, uint16_t *order, int rows)
{
    int32_t at[SPRYI_PACKED_MOST_WIDTH + 2] = {0}; /* where rows of length MOST_WIDTH - n begin */
    int64_t slots = 0;
    for (int i = 0; i < rows; i++) at[SPRYI_PACKED_MOST_WIDTH - length[i] + 1]++;
    for (int n = 0; n <= SPRYI_PACKED_MOST_WIDTH; n++) at[n + 1] += at[n];
    for (int i = 0; i < rows; i++) order[at[SPRYI_PACKED_MOST_WIDTH - length[i]]++] = (uint16_t)i;
    for (int i = 0; i < rows; i += SPRYI_PACKED_LANES) slots += length[order[i]];
    return slots;
}

/* Sorts the rows where that pays; mostly the lengths alone tell that it cannot. */
static void SPRY_FN(sort_rows)(spryi_packed_group *g)
{
    enum { LANES = SPRYI_PACKED_LANES };
    const SPRY_P *Ap = (const SPRY_P *)g->csr->offsets + g->begin;
    const int rows = (int)(g->end - g->begin);
    const int64_t slices = (rows + LANES - 1) / LANES;
    uint8_t length[SPRYI_PACKED_GROUP];
    int64_t unsorted = 0, entries = 0;
    if (g->s && !g->plan->sorted) return;
    for (int i = 0; i < rows; i += LANES) {
        SPRY_P longest = 0;
        for (int l = i; l < rows && l < i + LANES; l++) {
            const SPRY_P own = Ap[l + 1] - Ap[l], counted = own > g->long_over ? 0 : own;
            length[l] = (uint8_t)counted;
            entries += counted;
            longest = longest > counted ? longest : counted;
        }
        unsorted += longest;
    }
    if (!g->s && !spryi_packed_sort_pays(unsorted, (entries + LANES - 1) / LANES, slices)) {
        g->plan->sorted = 0;
        return;
    }
    const int64_t sorted = SPRY_FN(order_rows)(length, g->order, rows);
    if (g->s)
        g->sorted = 1;
    else
        g->plan->sorted = g->sorted = spryi_packed_sort_pays(unsorted, sorted, slices) && !SPRY_FN(mostly_diagonals)(g);
}

/* All slices and long rows of the group. */
static void SPRY_FN(make_slices)(spryi_packed_group *g)
{
    const SPRY_P *Ap = g->csr->offsets;
    const int64_t unit = (int64_t)SPRYI_PACKED_LANES * g->b;
    const int64_t over = spryi_packed_blocks_over(Ap[g->end] - Ap[g->begin], g->end - g->begin);
    const int64_t row_over = spryi_packed_rows_over(over);
    g->list = 0;
    g->list_at = g->at.units;
    g->long_over = row_over;
    if (g->b == 1) SPRY_FN(sort_rows)(g);
    for (int64_t row = g->begin; row < g->end; row += unit) {
        const int64_t end = row + unit < g->end ? row + unit : g->end;
        if (g->b > 1 &&
            (g->s ? g->plan->choice[g->taken].b > 1
                  : (end - row) % g->b == 0 && spryi_packed_has_blocks(g->csr, row, end - row, g->b, over * g->b))) {
            g->long_over = over * g->b;
            SPRY_FN(add_slice)(g, row, g->b, (int)((end - row) / g->b));
            g->long_over = row_over;
            continue;
        }
        for (int64_t i = row; i < end; i++)
            if (Ap[i + 1] - Ap[i] > g->long_over) SPRY_FN(add_long_row)(g, i, Ap[i], Ap[i + 1] - Ap[i]);
        for (int64_t i = row; i < end; i += SPRYI_PACKED_LANES) SPRY_FN(add_slice)(g, i, 1, lanes_left(i, end));
    }
    const int64_t slots = g->at.slots;
    g->at.slots = spryi_packed_align_values(slots);
    if (g->s) clear_values(g->s, slots, g->at.slots);
    if (g->stream) after_lines();
}

#endif
