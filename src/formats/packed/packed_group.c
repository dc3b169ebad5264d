/*
 * Converts one group of CSR rows to slices: measures the group, then writes it (packed_group.h). packed_layout.h
 * decides the encoding of a slice. This file finds lanes, distances and columns, and fills the arrays.
 *
 * Slices of a group may share values (packed.h). The values of each written slice are compared with the last KEPT
 * slices' values. If an earlier slice has equal values, the next slice overwrites the values just written. Only slices
 * with the same first entry are compared, so values that do not repeat are not read twice.
 */
#ifndef SPRYI_TEMPLATE
#include "formats/packed/packed_group.h"
#include "base/error.h"
#include "matrix/columns.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* State of a pass over the slices of a group. */
typedef struct walk {
    const spry_arrays *csr;
    int b;
    int64_t begin, end;        /* rows */
    int64_t blocks_over, over; /* lengths above which block rows (in blocks) and rows are long */
    spryi_packed_counts at;    /* counts of the slices so far */
    bool sorted;               /* rows are assigned to lanes in the order `order` */
    uint16_t order[SPRYI_PACKED_GROUP];
    int list;        /* number of distances of the last stored list; 0: no list */
    int64_t list_at; /* position of the last list, in index units */
    int32_t distances[SPRYI_PACKED_LANES];
} walk;

/* Addresses of the next slice's entries, for prefetches; 0: none. */
typedef struct next_entries {
    uintptr_t values, columns;
    size_t column_bytes; /* bytes of columns that belong to one cache line of values */
} next_entries;

/* Values that later slices may share: position, count, and bits of the slice's first entry. */
typedef struct kept_values {
    int64_t at, count;
    uint64_t first;
} kept_values;
enum { KEPT = 8 };

typedef struct writer {
    walk w;
    spryi_packed *s;
    bool stream; /* use non-temporal stores for values */
    next_entries ahead;
    bool share;                              /* slices may share values */
    kept_values kept[KEPT];                  /* values of the last KEPT slices, a ring buffer */
    int kept_count;                          /* number of slices recorded in `kept` since the group began */
    int found, missed;                       /* comparisons with and without success */
    uint64_t holes[SPRYI_PACKED_MOST_WIDTH]; /* bits of each slot's last value, repeated for missing entries */
} writer;

/* ---- blocks -------------------------------------------------------------------------------------------- */

#define SPRYI_TEMPLATE "formats/packed/packed_group.c" /* the second part of this file */
#include "base/instantiate_indices.h"

/* samples_of returns the number of sampled block rows, sampled_row the first row of sample n. */
static int64_t samples_of(const spry_arrays *csr, int b)
{
    const int64_t rows = csr->rows / b;
    return rows < SPRYI_PACKED_SAMPLES ? rows : SPRYI_PACKED_SAMPLES;
}

static int64_t sampled_row(const spry_arrays *csr, int b, int64_t n)
{
    return csr->rows / b * n / samples_of(csr, b) * b;
}

/* Returns true if the lengths of b rows permit blocks, so that the columns must be compared. */
static bool may_be_blocks(const spry_arrays *csr, int64_t row, int b)
{
    const int64_t length = spryi_row_length(csr, row);
    for (int r = 1; r < b; r++)
        if (spryi_row_length(csr, row + r) != length) return false;
    return length > 0 && length % b == 0 && length <= (int64_t)SPRYI_PACKED_MOST_WIDTH * b;
}

static void want_samples(spryi_column_reader *reader, int b)
{
    for (int64_t n = 0; n < samples_of(reader->csr, b); n++) {
        const int64_t row = sampled_row(reader->csr, b, n);
        if (may_be_blocks(reader->csr, row, b)) (void)spryi_want_rows(reader, row, row + b);
    }
}

/*
 * Returns true if most sampled block rows consist of b x b blocks. The reader has fetched the columns of each sample
 * that may consist of blocks as one range. *range: index of the first sample's range. Advances *range past all of them.
 */
static bool is_mostly_blocks(const spryi_column_reader *reader, int b, int64_t *range)
{
    const spry_arrays *csr = reader->csr;
    int64_t seen = 0, blocks = 0;
    for (int64_t n = 0; n < samples_of(csr, b); n++) {
        const int64_t row = sampled_row(csr, b, n);
        if (spryi_offset_of(csr, row + b) == spryi_offset_of(csr, row)) continue;
        seen++;
        if (!may_be_blocks(csr, row, b)) continue;
        const spry_arrays view = spryi_range_at(reader, (*range)++);
        blocks += SPRYI_BY_PAIR(&view, has_blocks, &view, row, b, b, INT64_MAX);
    }
    return spryi_packed_mostly_blocks(seen, blocks);
}

spry_status spryi_packed_find_block(spryi_column_reader *reader, int64_t *block, spry_error *err)
{
    const int most = reader->csr->value_type == SPRY_PATTERN ? 1 : SPRYI_PACKED_MOST_BLOCK;
    int64_t range = reader->count;
    *block = most;
    for (int b = most; b > 1; b--) want_samples(reader, b);
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    while (*block > 1 && !is_mostly_blocks(reader, (int)*block, &range)) --*block;
    return SPRY_OK;
}

/* ---- cache lines, masks, lanes ------------------------------------------------------------------------- */

/* Stores one cache line. stream: use non-temporal stores, for arrays larger than the cache. */
static inline void put_line(void *to, const void *line, bool stream)
{
#ifdef __SSE2__
    if (stream) {
        for (int q = 0; q < 4; q++) _mm_stream_si128((__m128i *)to + q, ((const __m128i *)line)[q]);
        return;
    }
#endif
    memcpy(to, line, 64);
}

/* Makes cache lines stored with non-temporal stores visible to other threads. */
static inline void after_lines(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Prefetches b*b cache lines of values and one line of columns. Advances the addresses past them. */
static inline void fetch(next_entries *a, int b)
{
    for (int e = 0; a->values && e < b * b; e++, a->values += 64) __builtin_prefetch((const void *)a->values, 0, 2);
    if (a->columns) __builtin_prefetch((const void *)a->columns, 0, 2);
    if (a->columns) a->columns += a->column_bytes;
}

enum { FEW = 8 };

/* Returns true if the distance is among the first FEW of the list. */
static inline bool is_among(const int32_t *distances, int32_t distance)
{
#ifdef __SSE2__
    const __m128i *list = (const __m128i *)(const void *)distances, one = _mm_set1_epi32(distance);
    const __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128(list), one);
    return _mm_movemask_epi8(_mm_or_si128(low, _mm_cmpeq_epi32(_mm_loadu_si128(list + 1), one))) != 0;
#else
    bool among = false;
    for (int q = 0; q < FEW; q++) among |= distances[q] == distance;
    return among;
#endif
}

static inline uint32_t first_bits(int count)
{
    return count >= 32 ? UINT32_MAX : (1u << count) - 1;
}

/* Sets a bit of lane l's mask of 1, 2 or 4 bytes. Assumes a little-endian processor, as the kernels do. */
static inline void set_bit(uint8_t *masks, int bytes, int l, int bit)
{
    masks[l * bytes + bit / 8] = (uint8_t)(masks[l * bytes + bit / 8] | 1u << bit % 8);
}

/* Returns the number of pieces of a long row. */
static inline int64_t pieces_of(int64_t length)
{
    return (length + SPRYI_PACKED_PIECE - 1) / SPRYI_PACKED_PIECE;
}

/* Sets values begin .. end - 1 to zero. */
static inline void clear_values(const spryi_packed *s, int64_t begin, int64_t end)
{
    const size_t size = spry_type_bytes(s->a.value_type);
    if (s->values) memset((char *)s->values + (size_t)begin * size, 0, (size_t)(end - begin) * size);
}

/* Returns the number of lanes of a slice that begins with row i, if rows end at `end`. */
static inline int lanes_left(int64_t i, int64_t end)
{
    return (int)(end - i < SPRYI_PACKED_LANES ? end - i : SPRYI_PACKED_LANES);
}

/* ---- shared values ------------------------------------------------------------------------------------- */

/*
 * Records the position and first entry of the slice's values. Returns true if a comparison is worthwhile: a recorded
 * slice has the same first entry, and earlier comparisons succeeded often enough.
 */
static bool may_share(writer *g, const spryi_packed_draft *n, const spryi_packed_location *at)
{
    const size_t size = spry_type_bytes(g->s->a.value_type);
    kept_values *now = &g->kept[g->kept_count % KEPT];
    bool may = false;
    int l = 0;
    if (!g->share || !g->s->values || n->entries == 0) return false;
    while (n->length[l] == 0) l++;
    *now = (kept_values){at->values, spryi_packed_room(n) * n->b * n->b, 0};
    memcpy(&now->first, (const char *)g->w.csr->values + (size_t)n->begin[l] * size, size);
    for (int q = 0; q < g->kept_count && q < KEPT; q++) may |= &g->kept[q] != now && g->kept[q].first == now->first;
    g->kept_count++;
    return may && g->missed <= g->found + KEPT;
}

/*
 * Compares the slice's stored values with recorded values. If they are equal, sets at->values to the earlier values and
 * returns true.
 */
static bool share_values(writer *g, const spryi_packed_draft *n, spryi_packed_location *at)
{
    const size_t size = spry_type_bytes(g->s->a.value_type);
    const int unaligned = n->full || n->padded ? SPRYI_PACKED_LANES - 1 : 0;
    const kept_values now = g->kept[(g->kept_count - 1) % KEPT];
    const char *values = g->s->values;
    for (int q = 0; q < g->kept_count - 1 && q < KEPT; q++) {
        const kept_values old = g->kept[q];
        if (old.at == now.at || old.first != now.first || old.count < now.count || old.at & unaligned ||
            memcmp(values + (size_t)old.at * size, values + (size_t)now.at * size, (size_t)now.count * size) != 0)
            continue;
        at->values = old.at;
        g->found++;
        g->kept_count--;
        return true;
    }
    g->missed++;
    return false;
}

#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/packed/packed_group.c" /* the third part of this file */
#include "base/instantiate.h"

/* ---- the two passes ------------------------------------------------------------------------------------ */

typedef void (*measure_fn)(walk *w, spryi_packed_choices *choices);
typedef void (*write_fn)(writer *g, const spryi_packed_choices *choices);
static const measure_fn measure_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(measure);
static const write_fn write_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(write);

spryi_packed_group spryi_packed_group_of(const spry_arrays *csr, int64_t block, int64_t n)
{
    const int64_t rows = spryi_packed_group_rows(block), end = (n + 1) * rows;
    return (spryi_packed_group){csr, (int)block, n * rows, end < csr->rows ? end : csr->rows};
}

/* Sets all members except order and distances, which are written before they are read. */
static void start(walk *w, const spryi_packed_group *g, const spryi_packed_counts *at)
{
    const int64_t entries = spryi_offset_of(g->csr, g->end) - spryi_offset_of(g->csr, g->begin);
    w->csr = g->csr;
    w->b = g->b;
    w->begin = g->begin;
    w->end = g->end;
    w->blocks_over = spryi_packed_blocks_over(entries, g->end - g->begin);
    w->over = spryi_packed_rows_over(w->blocks_over);
    w->at = *at;
    w->sorted = false;
    w->list = 0;
    w->list_at = at->units;
}

spryi_packed_counts spryi_packed_measure(const spryi_packed_group *g, spryi_packed_choices *choices)
{
    walk w;
    start(&w, g, &(spryi_packed_counts){0});
    SPRYI_INSTANCE(measure_table, g->csr)(&w, choices);
    return w.at;
}

int64_t spryi_packed_write(const spryi_packed_group *g, const spryi_packed_choices *choices, spryi_packed *s,
                           const spryi_packed_counts *at, bool stream, bool share)
{
    writer to;
    start(&to.w, g, at);
    to.s = s;
    to.stream = stream;
    to.share = share;
    to.kept_count = to.found = to.missed = 0;
    memset(to.holes, 0, sizeof to.holes);
    SPRYI_INSTANCE(write_table, g->csr)(&to, choices);
    return to.w.at.slots - at->slots;
}

#elif !defined SPRYI_ROW /* for each pair of index types: base/instantiate_indices.h */

/*
 * Returns true if rows row .. row + rows - 1 consist of dense b x b blocks whose columns begin at multiples of b, and
 * no row has more than long_over entries. `row` must be a multiple of b.
 */
static bool SPRY_FN(has_blocks)(const spry_arrays *csr, int64_t row, int64_t rows, int b, int64_t long_over)
{
    const SPRY_P *Ap = csr->offsets;
    for (int64_t i = row; i < row + rows; i += b) {
        const SPRY_J *Aj = (const SPRY_J *)csr->indices + Ap[i];
        const int64_t length = Ap[i + 1] - Ap[i];
        if (length % b != 0 || length > (int64_t)SPRYI_PACKED_MOST_WIDTH * b || length > long_over) return false;
        for (int r = 1; r < b; r++)
            if (Ap[i + r + 1] - Ap[i + r] != length || memcmp(Aj, Aj + r * length, (size_t)length * sizeof *Aj) != 0)
                return false;
        for (int64_t k = 0; k < length; k += b) {
            if (Aj[k] % b != 0) return false;
            for (int c = 1; c < b; c++)
                if (Aj[k + c] != Aj[k] + c) return false;
        }
    }
    return true;
}

#else /* for each stored type and pair of index types: base/instantiate.h */

/* ---- drafts -------------------------------------------------------------------------------------------- */

/* Sets lanes and lengths of a draft of `count` rows, or block rows, from `row` on. */
static void SPRY_FN(draft_lanes)(const walk *g, spryi_packed_draft *n, int64_t row, int b, int count)
{
    const SPRY_P *Ap = g->csr->offsets;
    const int64_t over = b > 1 ? g->blocks_over * b : g->over;
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
    for (int l = 0; l < count && longest > over; l++) {
        const bool is_long = length[l] > over;
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

static inline int64_t SPRY_FN(column)(const walk *g, const spryi_packed_draft *n, int l, int64_t k)
{
    const SPRY_J *Aj = g->csr->indices;
    return n->b == 1 ? Aj[n->begin[l] + k] : Aj[n->begin[l] + k * n->b] / n->b;
}

/* Returns true if each lane has the columns of the previous lane plus one. All lanes must have equal length. */
static bool SPRY_FN(all_continue)(const walk *g, const spryi_packed_draft *n)
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

/* Returns true if lane l has the columns of the previous lane plus one. */
static inline bool SPRY_FN(continues)(const walk *g, const spryi_packed_draft *n, int l)
{
    const SPRY_J *before = (const SPRY_J *)g->csr->indices + n->begin[l - 1];
    const SPRY_J *own = (const SPRY_J *)g->csr->indices + n->begin[l];
    const int64_t end = (int64_t)n->length[l] * n->b;
    if (n->length[l] != n->length[l - 1]) return false;
    for (int64_t k = 0; k < end; k += n->b)
        if (own[k] - before[k] != n->b) return false;
    return true;
}

/*
 * Lists the distances of all lanes in rising order. Returns the number of distances, or -1 if there are more than
 * `most` or if the distances of a lane do not rise. The first FEW are compared together, to avoid branch
 * mispredictions. A list with fewer distances is filled up with its first distance.
 */
static int SPRY_FN(find_distances)(const walk *g, spryi_packed_draft *n, int most)
{
    bool same = false;
    int found = 0;
    const int lanes = n->even && SPRY_FN(all_continue)(g, n) ? 1 : n->count;
    for (int l = 0; l < lanes; l++) {
        const int64_t own = n->row / n->b + l;
        int64_t before = INT64_MIN;
        same = l > 0 && (same || l % 4 == 0) && SPRY_FN(continues)(g, n, l); /* true for most lanes */
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

/* Completes the draft and returns true if DIAGONALS take the fewest bytes. */
static bool SPRY_FN(choose_diagonals)(const walk *g, spryi_packed_draft *n)
{
    const int most = spryi_packed_most_diagonals(n), count = most >= 0 ? SPRY_FN(find_distances)(g, n, most) : -1;
    const bool listed = count == g->list && memcmp(n->distances, g->distances, (size_t)count * 4) == 0;
    if (!spryi_packed_diagonals_pay(n, count, listed)) return false;
    spryi_packed_choose_diagonals(n, count, listed);
    return true;
}

/* Completes the draft with the kind of the fewest bytes. */
static void SPRY_FN(choose_kind)(const walk *g, spryi_packed_draft *n)
{
    if (SPRY_FN(choose_diagonals)(g, n)) return;
    int64_t low = INT64_MAX, high = -1;
    const bool rising = g->csr->sorted == SPRY_KNOWN_YES;
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

/*
 * Adds the slice to the counts. Returns its location. If the slice has its own list of distances, the list becomes the
 * last list.
 */
static spryi_packed_location SPRY_FN(locate)(walk *w, const spryi_packed_draft *n)
{
    const spryi_packed_location at = spryi_packed_locate(&w->at, &w->list_at, n, (int64_t)sizeof(SPRY_J));
    if (n->kind == SPRYI_PACKED_DIAGONALS && !n->shared) {
        w->list = n->width;
        memcpy(w->distances, n->distances, (size_t)n->width * sizeof *n->distances);
    }
    return at;
}

/* ---- order of rows ------------------------------------------------------------------------------------- */

/* Sets the lengths of the group's rows, 0 for long rows, and *entries. Returns the number of slots in natural order. */
static inline int64_t SPRY_FN(read_lengths)(const walk *w, uint8_t *length, int64_t *entries)
{
    const SPRY_P *Ap = (const SPRY_P *)w->csr->offsets + w->begin;
    const int64_t over = w->over;
    const int rows = (int)(w->end - w->begin);
    int64_t slots = 0, sum = 0;
    for (int i = 0; i < rows; i += SPRYI_PACKED_LANES) {
        SPRY_P longest = 0;
        for (int l = i; l < rows && l < i + SPRYI_PACKED_LANES; l++) {
            const SPRY_P own = Ap[l + 1] - Ap[l], counted = own > over ? 0 : own;
            length[l] = (uint8_t)counted;
            sum += counted;
            longest = longest > counted ? longest : counted;
        }
        slots += longest;
    }
    *entries = sum;
    return slots;
}

/* Sorts rows by falling length, stably. Returns the number of slots of the sorted slices. */
static int64_t SPRY_FN(order_rows)(const uint8_t *length, uint16_t *order, int rows)
{
    int32_t at[SPRYI_PACKED_MOST_WIDTH + 2] = {0}; /* first position of rows of length MOST_WIDTH - n */
    int64_t slots = 0;
    for (int i = 0; i < rows; i++) at[SPRYI_PACKED_MOST_WIDTH - length[i] + 1]++;
    for (int n = 0; n <= SPRYI_PACKED_MOST_WIDTH; n++) at[n + 1] += at[n];
    for (int i = 0; i < rows; i++) order[at[SPRYI_PACKED_MOST_WIDTH - length[i]]++] = (uint16_t)i;
    for (int i = 0; i < rows; i += SPRYI_PACKED_LANES) slots += length[order[i]];
    return slots;
}

/* ---- measure ------------------------------------------------------------------------------------------- */

/* Returns true if at least half of the slices in natural order have DIAGONALS. */
static bool SPRY_FN(mostly_diagonals)(const walk *g)
{
    spryi_packed_draft n;
    const int64_t slices = (g->end - g->begin + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES;
    int64_t found = 0, left = slices;
    for (int64_t i = g->begin; i < g->end && 2 * found < slices; i += SPRYI_PACKED_LANES) {
        if (2 * (found + left--) < slices) return false;
        SPRY_FN(draft_lanes)(g, &n, i, 1, lanes_left(i, g->end));
        found += SPRY_FN(choose_diagonals)(g, &n);
    }
    return 2 * found >= slices;
}

/* Sorts the rows if sorting pays. For most matrices, the lengths of the rows already show that sorting does not pay. */
static void SPRY_FN(sort_rows)(walk *w)
{
    const int rows = (int)(w->end - w->begin);
    const int64_t slices = (rows + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES;
    uint8_t length[SPRYI_PACKED_GROUP];
    int64_t entries;
    const int64_t slots = SPRY_FN(read_lengths)(w, length, &entries);
    if (!spryi_packed_sort_pays(slots, (entries + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES, slices)) return;
    const int64_t sorted = SPRY_FN(order_rows)(length, w->order, rows);
    w->sorted = spryi_packed_sort_pays(slots, sorted, slices) && !SPRY_FN(mostly_diagonals)(w);
}

static void SPRY_FN(measure_slice)(walk *w, int64_t row, int b, int count, spryi_packed_choice *choice)
{
    enum { MOST_BYTES = 1 << 14 };
    const SPRY_P *Ap = w->csr->offsets;
    const int64_t ahead = row + SPRYI_PACKED_GROUP, end = ahead + (int64_t)SPRYI_PACKED_LANES * b;
    spryi_packed_draft n;
    SPRY_FN(draft_lanes)(w, &n, row, b, count);
    SPRY_FN(choose_kind)(w, &n);
    *choice = (spryi_packed_choice){n.low,
                                    (uint8_t)n.kind,
                                    (uint8_t)n.full,
                                    (uint8_t)n.width,
                                    (uint8_t)n.shared,
                                    (uint8_t)n.padded,
                                    (uint8_t)n.b};
    SPRY_FN(locate)(w, &n);
    if (end > w->csr->rows) return;
    /*
     * Prefetches columns of the next group. The loop is inline, since gcc removes calls of a function that only
     * prefetches.
     */
    const uintptr_t columns = (uintptr_t)((const SPRY_J *)w->csr->indices + Ap[ahead]);
    const size_t bytes = (size_t)(Ap[end] - Ap[ahead]) * sizeof(SPRY_J);
    for (size_t q = 0; q < bytes && q < MOST_BYTES; q += 64) __builtin_prefetch((const void *)(columns + q), 0, 2);
}

static void SPRY_FN(measure)(walk *w, spryi_packed_choices *choices)
{
    const SPRY_P *Ap = w->csr->offsets;
    const int64_t unit = (int64_t)SPRYI_PACKED_LANES * w->b;
    spryi_packed_choice *choice = choices->slice;
    if (w->b == 1) SPRY_FN(sort_rows)(w);
    choices->sorted = w->sorted;
    for (int64_t row = w->begin; row < w->end; row += unit) {
        const int64_t end = row + unit < w->end ? row + unit : w->end;
        if (w->b > 1 && (end - row) % w->b == 0 &&
            SPRYI_BY_PAIR(w->csr, has_blocks, w->csr, row, end - row, w->b, w->blocks_over * w->b)) {
            SPRY_FN(measure_slice)(w, row, w->b, (int)((end - row) / w->b), choice++);
            continue;
        }
        for (int64_t i = row; i < end; i++) {
            const int64_t length = Ap[i + 1] - Ap[i];
            if (length <= w->over) continue;
            w->at.long_rows++;
            w->at.pieces += pieces_of(length);
            w->at.long_nnz += length;
        }
        for (int64_t i = row; i < end; i += SPRYI_PACKED_LANES)
            SPRY_FN(measure_slice)(w, i, 1, lanes_left(i, end), choice++);
    }
    w->at.slots = spryi_packed_align_values(w->at.slots);
}

/* ---- write --------------------------------------------------------------------------------------------- */

/* Completes the draft with the measured choice. */
static void SPRY_FN(recall_choice)(const walk *g, spryi_packed_draft *n, const spryi_packed_choice *c)
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

/* Lists the lanes that have slot k, in order. Returns the number of lanes. next[l]: entries of lane l used so far. */
static int SPRY_FN(lanes_of_slot)(const walk *g, const spryi_packed_draft *n, int k, const int32_t *next, int *lane)
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

/* Fills values and indices of a slice that is neither FULL nor PADDED. Each slot has only the lanes with an entry. */
static void SPRY_FN(fill_packed)(const walk *g, const spryi_packed_draft *n, SPRY_B *Vx, uint8_t *masks, void *indices)
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

/* Stores b*b cache lines of slot d: for each element of a block, the values of the lanes from `first` on. */
SPRYI_INLINE void SPRY_FN(put_lines)(const writer *g, SPRY_B *Vx, const SPRY_B *line, int d, int first, const int b)
{
    enum { LINE = 64 / sizeof(SPRY_B) };
    for (int e = 0; Vx && e < b * b; e++)
        put_line(Vx + ((int64_t)d * b * b + e) * SPRYI_PACKED_LANES + first, line + e * LINE, g->stream);
}

/*
 * Fills the values of a FULL or PADDED slice. Element e of the block in slot d of lane l is value 32*(d*b*b + e) + l.
 * Processes the lanes of one cache line at a time, stores whole lines, and prefetches entries of the next slice. If
 * slices may share values, a hole (a missing entry) repeats the previous value of its slot, so that holes do not
 * prevent sharing. b is a compile-time constant. masks: masks of the lanes, or NULL if none are stored.
 */
SPRYI_INLINE void SPRY_FN(fill_dense)(writer *g, const spryi_packed_draft *n, SPRY_B *Vx, uint32_t *masks, const int b)
{
    enum { LANES = SPRYI_PACKED_LANES, LINE = 64 / sizeof(SPRY_B), MOST = SPRYI_PACKED_MOST_BLOCK };
    const SPRY_J *Aj = g->w.csr->indices;
    const SPRY_B *Ax = g->w.csr->values;
    _Alignas(64) SPRY_B line[MOST * MOST * LINE];
    next_entries ahead = g->ahead;
    for (int first = 0; first < LANES; first += LINE) {
        int64_t next[LINE] = {0}; /* next entry of each lane */
        int32_t least = n->width; /* leading slots that all of these lanes have */
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
                const bool has = k < length && (!masks || Aj[at] / b - (n->row / b + l) == n->distances[d]);
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

/* Fills the indices of a FULL or PADDED slice. kind is a compile-time constant. */
SPRYI_INLINE void SPRY_FN(fill_dense_indices)(const walk *g, const spryi_packed_draft *n, void *indices, const int kind)
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

static void SPRY_FN(fill_entries)(writer *g, const spryi_packed_draft *n, SPRY_B *Vx, uint8_t *masks, void *indices)
{
    if (!n->full && !n->padded) {
        SPRY_FN(fill_packed)(&g->w, n, Vx, masks, indices);
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
    default: SPRY_FN(fill_dense)(g, n, Vx, holes, n->b); break; /* rarely used: one instance for all blocks */
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
        SPRY_FN(fill_dense_indices)(&g->w, n, indices, SPRYI_PACKED_OFFSETS);
    else if (n->kind == SPRYI_PACKED_COLUMNS)
        SPRY_FN(fill_dense_indices)(&g->w, n, indices, SPRYI_PACKED_COLUMNS);
}

/* Stores the arrays of the slice, except its record. */
static void SPRY_FN(store_entries)(writer *g, const spryi_packed_draft *n, const spryi_packed_location *at)
{
    spryi_packed *s = g->s;
    uint8_t *indices = s->indices + at->indices * SPRYI_PACKED_INDEX_UNIT;
    const bool diagonals = n->kind == SPRYI_PACKED_DIAGONALS;
    if (diagonals && !n->shared) memcpy(indices, n->distances, (size_t)n->width * sizeof *n->distances);
    if (!diagonals && !n->full) {
        for (int l = 0; l < SPRYI_PACKED_LANES; l++)
            indices[l] = (uint8_t)(n->long_lanes >> l & 1 ? SPRYI_PACKED_LONG_ROW : n->length[l]);
        indices += SPRYI_PACKED_LANES;
    }
    if (n->sorted) {
        memcpy(indices, g->w.order + (n->row - g->w.begin), (size_t)n->count * sizeof *g->w.order);
        indices += SPRYI_PACKED_LANES * sizeof *g->w.order;
    }
    uint8_t *masks = diagonals && !n->full ? s->indices + at->masks * SPRYI_PACKED_INDEX_UNIT : NULL;
    SPRY_FN(fill_entries)(g, n, s->values ? (SPRY_B *)s->values + at->values : NULL, masks, indices);
}

/* Sets the addresses that fill_dense prefetches: entries of the next slice, or of the next group if rows are sorted. */
static inline void SPRY_FN(set_ahead)(writer *g, const spryi_packed_draft *n)
{
    const spry_arrays *csr = g->w.csr;
    const int64_t rows = (int64_t)SPRYI_PACKED_LANES * n->b, row = n->row + (n->sorted ? SPRYI_PACKED_GROUP : rows);
    g->ahead = (next_entries){.column_bytes = 64 / sizeof(SPRY_B) * sizeof(SPRY_J)};
    if (row + rows > csr->rows) return;
    const SPRY_P at = ((const SPRY_P *)csr->offsets)[row];
    if (g->s->values) g->ahead.values = (uintptr_t)((const SPRY_B *)csr->values + at);
    if (n->b == 1 && !(n->kind == SPRYI_PACKED_DIAGONALS && n->full))
        g->ahead.columns = (uintptr_t)((const SPRY_J *)csr->indices + at);
}

/* Writes one slice. If an earlier slice has equal values, the next slice overwrites the values written here. */
static void SPRY_FN(write_slice)(writer *g, int64_t row, int count, const spryi_packed_choice *choice)
{
    spryi_packed *s = g->s;
    spryi_packed_draft n;
    SPRY_FN(draft_lanes)(&g->w, &n, row, choice->b, count);
    SPRY_FN(recall_choice)(&g->w, &n, choice);
    SPRY_FN(set_ahead)(g, &n);
    const spryi_packed_counts before = g->w.at;
    spryi_packed_location at = SPRY_FN(locate)(&g->w, &n);
    const int64_t k = before.slices;
    clear_values(s, before.slots, at.values);
    memset(s->indices + before.units * SPRYI_PACKED_INDEX_UNIT, 0,
           (size_t)(g->w.at.units - before.units) * SPRYI_PACKED_INDEX_UNIT);
    s->extras[k] = spryi_packed_extra(&n, &at);
    const bool stream = g->stream, compare = may_share(g, &n, &at);
    g->stream = stream && !compare; /* the next slice may overwrite the values: use normal stores */
    SPRY_FN(store_entries)(g, &n, &at);
    g->stream = stream;
    if (compare && share_values(g, &n, &at)) g->w.at.slots = before.slots;
    s->slices[k] = spryi_packed_record(&n, &at);
}

static __attribute__((noinline, cold)) void SPRY_FN(write_long_row)(writer *g, int64_t row, int64_t from,
                                                                    int64_t length)
{
    spryi_packed *s = g->s;
    spryi_packed_counts *at = &g->w.at;
    const spry_arrays *csr = g->w.csr;
    const int64_t to = at->long_nnz;
    s->long_rows.rows[at->long_rows] = row;
    s->long_rows.first[at->long_rows++] = at->pieces;
    for (int64_t p = 0; p < pieces_of(length); p++) s->long_rows.pieces[at->pieces++] = to + p * SPRYI_PACKED_PIECE;
    memcpy((SPRY_J *)s->long_rows.columns + to, (const SPRY_J *)csr->indices + from, (size_t)length * sizeof(SPRY_J));
    if (s->long_rows.values)
        memcpy((SPRY_B *)s->long_rows.values + to, (const SPRY_B *)csr->values + from, (size_t)length * sizeof(SPRY_B));
    at->long_nnz += length;
}

static void SPRY_FN(write)(writer *g, const spryi_packed_choices *choices)
{
    walk *w = &g->w;
    const SPRY_P *Ap = w->csr->offsets;
    const spryi_packed_choice *choice = choices->slice;
    if (choices->sorted) {
        uint8_t length[SPRYI_PACKED_GROUP];
        int64_t entries;
        SPRY_FN(read_lengths)(w, length, &entries);
        SPRY_FN(order_rows)(length, w->order, (int)(w->end - w->begin));
        w->sorted = true;
    }
    for (int64_t row = w->begin, next; row < w->end; row = next, choice++) {
        const int b = choice->b, count = lanes_left(0, b == 1 ? w->end - row : (w->end - row) / b);
        next = row + (int64_t)count * b;
        for (int64_t i = row; b == 1 && i < next; i++)
            if (Ap[i + 1] - Ap[i] > w->over) SPRY_FN(write_long_row)(g, i, Ap[i], Ap[i + 1] - Ap[i]);
        SPRY_FN(write_slice)(g, row, count, choice);
    }
    const int64_t slots = w->at.slots;
    w->at.slots = spryi_packed_align_values(slots);
    clear_values(g->s, slots, w->at.slots);
    if (g->stream) after_lines();
}

#endif
