/* Reading packed slices one slot after the other, and whether a restored storage can be read so at all. */
#include "core/error.h"
#include "formats/csrk/packed.h"
#include "formats/ell/ell.h"

#include <string.h>

void spryi_packed_open(spryi_packed_cursor *c, const spryi_packed *s, int64_t slice)
{
    const spryi_packed_slice *t = &s->slices[slice];
    const int b = spryi_packed_b(t);
    *c = (spryi_packed_cursor){
        .s = s,
        .kind = spryi_packed_kind_of(t),
        .full = (t->info & SPRYI_PACKED_FULL) != 0,
        .b = b,
        .width = spryi_packed_width(t),
        .row = (int64_t)t->row * SPRYI_PACKED_LANES,
        .values = spryi_packed_values_at(t),
        .slot = -1,
    };
    const int64_t left = (s->a.rows - c->row) / b;
    c->lanes = left < SPRYI_PACKED_LANES ? (int)left : SPRYI_PACKED_LANES;
    c->dense = c->full || (t->info & SPRYI_PACKED_PADDED);
    const uint8_t *indices = s->indices + (int64_t)t->indices * SPRYI_PACKED_UNIT;
    if (c->kind == SPRYI_PACKED_STEPPED) {
        c->distances = (const int32_t *)(const void *)indices;
        if (!c->full) c->masks = s->indices + (int64_t)(uint32_t)s->extras[slice] * SPRYI_PACKED_UNIT;
        return;
    }
    c->first = s->extras[slice];
    if (!c->full) {
        c->lengths = indices;
        indices += SPRYI_PACKED_LANES;
    }
    if (t->info & SPRYI_PACKED_SORTED) {
        c->rows = (const uint16_t *)(const void *)indices;
        indices += SPRYI_PACKED_LANES * sizeof *c->rows;
    }
    c->columns = indices;
}

uint32_t spryi_packed_row_mask(const spryi_packed_cursor *c)
{
    uint32_t lanes = c->lanes == SPRYI_PACKED_LANES ? UINT32_MAX : (1u << c->lanes) - 1;
    for (int l = 0; c->lengths && l < c->lanes; l++)
        if (c->lengths[l] == SPRYI_PACKED_OUTSIDE) lanes &= ~(1u << l);
    return lanes;
}

uint32_t spryi_packed_slot_mask(const spryi_packed_cursor *c, int k)
{
    if (c->full) return UINT32_MAX;
    const int bytes = spryi_packed_mask_bytes(c->width);
    uint32_t mask = 0;
    for (int l = 0; c->masks && l < SPRYI_PACKED_LANES; l++)
        mask |= (uint32_t)(c->masks[l * bytes + k / 8] >> k % 8 & 1) << l;
    if (c->masks) return mask;
    for (int l = 0; l < SPRYI_PACKED_LANES; l++)
        mask |= (uint32_t)(c->lengths[l] > k && c->lengths[l] != SPRYI_PACKED_OUTSIDE) << l;
    return mask;
}

int spryi_packed_next(spryi_packed_cursor *c)
{
    c->before += c->count;
    if (++c->slot >= c->width) return 0;
    c->mask = spryi_packed_slot_mask(c, c->slot);
    c->at = c->values + (c->dense ? c->slot * (int64_t)SPRYI_PACKED_LANES : c->before) * c->b * c->b;
    c->count = 0;
    for (int l = 0; l < SPRYI_PACKED_LANES; l++) {
        if (!(c->mask >> l & 1)) continue;
        const int64_t k = c->dense ? c->slot * (int64_t)SPRYI_PACKED_LANES + l : c->before + c->count;
        c->count++;
        if (c->kind == SPRYI_PACKED_STEPPED)
            c->column[l] = c->row / c->b + l + c->distances[c->slot];
        else if (c->kind == SPRYI_PACKED_OFFSETS)
            c->column[l] = c->first + ((const uint16_t *)c->columns)[k];
        else
            c->column[l] = spryi_index_at(c->columns, c->s->a.index_type, k);
    }
    c->stride = c->dense ? SPRYI_PACKED_LANES : c->count;
    return 1;
}

/* ---- checking ------------------------------------------------------------------------------------------ */

static spry_status bad_slice(const char *what, int64_t slice, spry_error *err)
{
    return spryi_fail_value(err, SPRY_BAD_FILE, NULL, slice, 0, "packed: slice %lld: %s", (long long)slice, what);
}

/* `bytes` from unit `at` on lie within the indices. */
static int has_bytes(const spryi_packed *s, int64_t at, int64_t bytes)
{
    return at * SPRYI_PACKED_UNIT + bytes <= s->units * SPRYI_PACKED_UNIT;
}

/* Bytes of columns of the slice, whose lengths were seen to lie within the indices. */
static int64_t column_bytes(const spryi_packed_cursor *c)
{
    int64_t entries = 0;
    for (int k = 0; k < c->width; k++)
        entries += c->dense ? SPRYI_PACKED_LANES : __builtin_popcount(spryi_packed_slot_mask(c, k));
    return entries * (c->kind == SPRYI_PACKED_OFFSETS ? 2 : (int64_t)spry_index_type_bytes(c->s->a.index_type));
}

/* Bytes of lengths and rows before the columns. */
static int64_t head_bytes(const spryi_packed_slice *t)
{
    return (t->info & SPRYI_PACKED_FULL ? 0 : SPRYI_PACKED_LANES) +
           (t->info & SPRYI_PACKED_SORTED ? 2 * SPRYI_PACKED_LANES : 0) /* of a slice that is not stepped */;
}

/* Whether what the record of slice k says lies within the arrays. */
static const char *check_record(const spryi_packed *s, int64_t k)
{
    const spryi_packed_slice *t = &s->slices[k];
    const int b = spryi_packed_b(t), width = spryi_packed_width(t), kind = spryi_packed_kind_of(t);
    const int full = (t->info & SPRYI_PACKED_FULL) != 0;
    const int64_t row = (int64_t)t->row * SPRYI_PACKED_LANES, end = (int64_t)t[1].row * SPRYI_PACKED_LANES;
    if (b != 1 && b != s->block) return "blocks of another size";
    if (row >= s->a.rows || end - row > (int64_t)SPRYI_PACKED_LANES * b || end <= row ||
        (end < s->a.rows && end - row != (int64_t)SPRYI_PACKED_LANES * b) || (row % b != 0) ||
        (end > s->a.rows && (s->a.rows - row) % b != 0))
        return "rows are wrong";
    if (kind == SPRYI_PACKED_KIND || width > SPRYI_PACKED_MOST_WIDTH) return "no kind that there is";
    if (width > 0 && full && s->a.rows - row < (int64_t)SPRYI_PACKED_LANES * b) return "is not full";
    if (kind == SPRYI_PACKED_STEPPED) {
        if (width > SPRYI_PACKED_LANES || !has_bytes(s, t->indices, 4 * width) ||
            (!full && !has_bytes(s, (uint32_t)s->extras[k], SPRYI_PACKED_LANES * spryi_packed_mask_bytes(width))))
            return "distances are outside";
    } else if (s->extras[k] < 0 || !has_bytes(s, t->indices, head_bytes(t))) {
        return "lengths are outside";
    }
    if (kind != SPRYI_PACKED_STEPPED && t->info & SPRYI_PACKED_SORTED && s->block > 1) return "is sorted, with blocks";
    return NULL;
}

/* Whether the entries of slice k lie within the matrix; *nnz is raised. */
static const char *check_entries(const spryi_packed *s, int64_t k, int64_t *nnz, int64_t *next_long, int64_t *indexed)
{
    spryi_packed_cursor c;
    spryi_packed_open(&c, s, k);
    const uint32_t rows = spryi_packed_row_mask(&c);
    for (int l = 0; c.lengths && l < SPRYI_PACKED_LANES; l++) {
        if (c.lengths[l] == SPRYI_PACKED_OUTSIDE) {
            if (c.b > 1 || l >= c.lanes || *next_long >= s->long_count ||
                s->long_rows[*next_long] != spryi_packed_row(&c, l))
                return "a row that is said to be long";
            ++*next_long;
        } else if (c.lengths[l] > c.width) {
            return "a row is longer than the slice";
        }
    }
    if (c.kind != SPRYI_PACKED_STEPPED &&
        !has_bytes(s, s->slices[k].indices, head_bytes(&s->slices[k]) + column_bytes(&c)))
        return "columns are outside";
    for (int d = 1; c.distances && d < c.width; d++)
        if (c.distances[d] <= c.distances[d - 1]) return "distances do not rise";
    while (spryi_packed_next(&c)) {
        if (c.mask & ~rows) return "entries of no row";
        for (int l = 0; l < SPRYI_PACKED_LANES; l++)
            if (c.mask >> l & 1 && (c.column[l] < 0 || c.column[l] * c.b + c.b > s->a.cols))
                return "a column is not in the matrix";
    }
    if (c.dense && c.width > 0 && c.values % SPRYI_PACKED_LANES != 0) return "values are not where full slices begin";
    const int64_t slots = c.dense ? c.width * (int64_t)SPRYI_PACKED_LANES : c.before;
    *nnz += c.before * c.b * c.b;
    *indexed += c.kind != SPRYI_PACKED_STEPPED;
    return c.values + slots * c.b * c.b > spryi_packed_values_at(&s->slices[k + 1]) ? "values overlap" : NULL;
}

static int is_sorted(const spryi_packed_slice *t)
{
    return spryi_packed_kind_of(t) != SPRYI_PACKED_STEPPED && (t->info & SPRYI_PACKED_SORTED);
}

/* Where rows are sorted, each occurs once in its super-super-row; *seen: those of the slices before. */
static const char *check_order(const spryi_packed *s, int64_t k, uint32_t seen[SPRYI_PACKED_GROUP / 32])
{
    const int64_t row = (int64_t)s->slices[k].row * SPRYI_PACKED_LANES;
    const int begins = row % SPRYI_PACKED_GROUP == 0, sorted = is_sorted(&s->slices[k]);
    if (begins) memset(seen, 0, SPRYI_PACKED_GROUP / 8);
    if (!begins && sorted != is_sorted(&s->slices[k - 1])) return "is sorted, others are not";
    spryi_packed_cursor c;
    spryi_packed_open(&c, s, k);
    for (int l = 0; c.rows && l < c.lanes; l++) {
        const unsigned r = c.rows[l];
        if (r >= SPRYI_PACKED_GROUP || spryi_packed_row(&c, l) >= s->a.rows || seen[r / 32] >> r % 32 & 1)
            return "a row is outside or not there for the first time";
        seen[r / 32] |= 1u << r % 32;
    }
    return NULL;
}

static spry_status check_long_rows(const spryi_packed *s, spry_error *err)
{
    const int64_t *first = s->long_first;
    int good = first[0] == 0 && first[s->long_count] == s->piece_count && s->pieces[0] == 0 &&
               s->pieces[s->piece_count] == s->long_nnz;
    for (int64_t n = 0; good && n < s->long_count; n++)
        good = first[n] < first[n + 1] && first[n + 1] <= s->piece_count && s->long_rows[n] >= 0 &&
               s->long_rows[n] < s->a.rows && (n == 0 || s->long_rows[n] > s->long_rows[n - 1]);
    for (int64_t p = 0; good && p < s->piece_count; p++)
        good = s->pieces[p] < s->pieces[p + 1] && s->pieces[p + 1] <= s->long_nnz;
    if (good) return SPRY_OK;
    return spryi_fail(err, SPRY_BAD_FILE, NULL, "packed: pieces of the %lld long rows do not fit them",
                      (long long)s->long_count);
}

spry_status spryi_packed_check(const void *storage, spry_error *err)
{
    const spryi_packed *s = storage;
    int64_t nnz = 0, next_long = 0, indexed = 0;
    uint32_t seen[SPRYI_PACKED_GROUP / 32];
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_ell_check_shape(&s->a, "packed", err));
    const spryi_packed_slice *end = &s->slices[s->slice_count];
    if (s->block < 1 || s->block > SPRYI_PACKED_MOST_BLOCK ||
        end->row != s->a.rows / SPRYI_PACKED_LANES + (s->a.rows % SPRYI_PACKED_LANES != 0) ||
        spryi_packed_values_at(end) != s->slots || (s->slice_count > 0 ? s->slices[0].row != 0 : s->a.rows != 0))
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "packed: %lld slices, of blocks of %lld, do not fit %lld rows",
                          (long long)s->slice_count, (long long)s->block, (long long)s->a.rows);
    SPRYI_TRY(check_long_rows(s, err));
    SPRYI_TRY(spryi_ell_check_columns(&s->a, s->long_columns, s->long_nnz, "packed", err));
    for (int64_t k = 0; k < s->slice_count; k++) {
        const char *what = check_record(s, k);
        if (!what) what = check_order(s, k, seen);
        if (!what) what = check_entries(s, k, &nnz, &next_long, &indexed);
        if (what) return bad_slice(what, k, err);
    }
    if (next_long != s->long_count || indexed != s->indexed || nnz + s->long_nnz != s->a.nnz)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, nnz + s->long_nnz, s->a.nnz,
                                "packed: %lld entries, expected %lld", (long long)(nnz + s->long_nnz),
                                (long long)s->a.nnz);
done:
    return status;
}
