/* The format packed: its descriptor, its arrays for containers and devices, and the check of slices from a file. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/packed/packed_driver.h"
#include "formats/packed/packed_layout.h"
#include "formats/packed/packed_reader.h"
#include "formats/shared/long_rows.h"
#include "formats/shared/owned_arrays.h"

#include <string.h>

/* `bytes` from unit `at` on lie within the indices. */
static int has_bytes(const spryi_packed *s, int64_t at, int64_t bytes)
{
    return at * SPRYI_PACKED_INDEX_UNIT + bytes <= s->units * SPRYI_PACKED_INDEX_UNIT;
}

/* Bytes of columns of the slice, whose lengths were seen to lie within the indices. */
static int64_t column_bytes(const spryi_packed *s, const spryi_packed_view *v)
{
    int64_t entries = 0;
    for (int k = 0; k < v->width; k++)
        entries += v->dense ? SPRYI_PACKED_LANES : __builtin_popcount(spryi_packed_slot_mask(v, k));
    return entries * (v->kind == SPRYI_PACKED_OFFSETS ? 2 : (int64_t)spry_index_type_bytes(s->a.index_type));
}

/* Bytes of lengths and rows before the columns. */
static int64_t head_bytes(const spryi_packed_slice *t)
{
    return (t->info & SPRYI_PACKED_FULL ? 0 : SPRYI_PACKED_LANES) +
           (t->info & SPRYI_PACKED_SORTED ? 2 * SPRYI_PACKED_LANES : 0) /* DIAGONALS have neither */;
}

/* NULL, or what is wrong with the record of slice k, which has to point into the arrays. */
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
    if (kind == SPRYI_PACKED_KIND_BITS || width > SPRYI_PACKED_MOST_WIDTH) return "no kind that there is";
    if (width > 0 && full && s->a.rows - row < (int64_t)SPRYI_PACKED_LANES * b) return "is not full";
    if (kind == SPRYI_PACKED_DIAGONALS) {
        if (width > SPRYI_PACKED_LANES || !has_bytes(s, t->indices, 4 * width) ||
            (!full && !has_bytes(s, (uint32_t)s->extras[k], SPRYI_PACKED_LANES * spryi_packed_mask_bytes(width))))
            return "distances are outside";
    } else if (s->extras[k] < 0 || !has_bytes(s, t->indices, head_bytes(t))) {
        return "lengths are outside";
    }
    if (kind != SPRYI_PACKED_DIAGONALS && t->info & SPRYI_PACKED_SORTED && s->block > 1)
        return "is sorted, with blocks";
    return NULL;
}

/* Lengths of slice k; *next_long is raised by its long rows. */
static const char *check_lengths(const spryi_packed *s, const spryi_packed_view *v, int64_t *next_long)
{
    for (int l = 0; v->lengths && l < SPRYI_PACKED_LANES; l++) {
        if (v->lengths[l] == SPRYI_PACKED_LONG_ROW) {
            if (v->b > 1 || l >= v->lanes || *next_long >= s->long_count ||
                s->long_rows[*next_long] != spryi_packed_row(v, l))
                return "a row that is said to be long";
            ++*next_long;
        } else if (v->lengths[l] > v->width) {
            return "a row is longer than the slice";
        }
    }
    return NULL;
}

/* NULL, or what is wrong with the entries of slice k; *nnz, *next_long and *indexed are raised by its own. */
static const char *check_entries(const spryi_packed *s, int64_t k, int64_t *nnz, int64_t *next_long, int64_t *indexed)
{
    spryi_packed_reader r;
    spryi_packed_open(&r, s, k);
    const spryi_packed_view *v = &r.v;
    const uint32_t rows = spryi_packed_row_mask(v);
    const char *wrong = check_lengths(s, v, next_long);
    if (wrong) return wrong;
    if (v->columns && !has_bytes(s, s->slices[k].indices, head_bytes(&s->slices[k]) + column_bytes(s, v)))
        return "columns are outside";
    for (int d = 1; v->distances && d < v->width; d++)
        if (v->distances[d] <= v->distances[d - 1]) return "distances do not rise";
    while (spryi_packed_next(&r)) {
        if (r.mask & ~rows) return "entries of no row";
        for (int l = 0; l < SPRYI_PACKED_LANES; l++)
            if (r.mask >> l & 1 && (r.column[l] < 0 || r.column[l] * v->b + v->b > s->a.cols))
                return "a column is not in the matrix";
    }
    if (v->dense && v->width > 0 && v->values % SPRYI_PACKED_LANES != 0)
        return "values are not where full slices begin";
    const int64_t slots = v->dense ? v->width * (int64_t)SPRYI_PACKED_LANES : r.before;
    *nnz += r.before * v->b * v->b;
    *indexed += v->columns != NULL;
    return v->values + slots * v->b * v->b > spryi_packed_values_at(&s->slices[k + 1]) ? "values overlap" : NULL;
}

static int is_sorted(const spryi_packed_slice *t)
{
    return spryi_packed_kind_of(t) != SPRYI_PACKED_DIAGONALS && (t->info & SPRYI_PACKED_SORTED);
}

/* Where rows are sorted, each occurs once in its group; *seen: those of the slices before. */
static const char *check_order(const spryi_packed *s, int64_t k, uint32_t seen[SPRYI_PACKED_GROUP / 32])
{
    const int64_t row = (int64_t)s->slices[k].row * SPRYI_PACKED_LANES;
    const int begins = row % SPRYI_PACKED_GROUP == 0, sorted = is_sorted(&s->slices[k]);
    if (begins) memset(seen, 0, SPRYI_PACKED_GROUP / 8);
    if (!begins && sorted != is_sorted(&s->slices[k - 1])) return "is sorted, others are not";
    const spryi_packed_view v = spryi_packed_view_of(s, k);
    for (int l = 0; v.rows && l < v.lanes; l++) {
        const unsigned r = v.rows[l];
        if (r >= SPRYI_PACKED_GROUP || spryi_packed_row(&v, l) >= s->a.rows || seen[r / 32] >> r % 32 & 1)
            return "a row is outside or not there for the first time";
        seen[r / 32] |= 1u << r % 32;
    }
    return NULL;
}

/*
 * Checks slices that come from a file before anything else reads them: all addresses lie within the arrays, each row is
 * there once, columns are in the matrix, and there are as many entries as the matrix has.
 */
static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    (void)context;
    const spryi_packed *s = storage;
    int64_t nnz = 0, next_long = 0, indexed = 0;
    uint32_t seen[SPRYI_PACKED_GROUP / 32];
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_check_shape(&s->a, "packed", err));
    const spryi_packed_slice *end = &s->slices[s->slice_count];
    if (s->block < 1 || s->block > SPRYI_PACKED_MOST_BLOCK ||
        end->row != s->a.rows / SPRYI_PACKED_LANES + (s->a.rows % SPRYI_PACKED_LANES != 0) ||
        spryi_packed_values_at(end) != s->slots || (s->slice_count > 0 ? s->slices[0].row != 0 : s->a.rows != 0))
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "packed: %lld slices, of blocks of %lld, do not fit %lld rows",
                          (long long)s->slice_count, (long long)s->block, (long long)s->a.rows);
    SPRYI_TRY(spryi_check_long_rows(&SPRYI_LONG_ROWS_OF(s), &s->a, "packed", err));
    SPRYI_TRY(spryi_check_columns(&s->a, s->long_columns, s->long_nnz, "packed", err));
    for (int64_t k = 0; k < s->slice_count; k++) {
        const char *wrong = check_record(s, k);
        if (!wrong) wrong = check_order(s, k, seen);
        if (!wrong) wrong = check_entries(s, k, &nnz, &next_long, &indexed);
        if (wrong)
            return spryi_fail_value(err, SPRY_BAD_FILE, NULL, k, 0, "packed: slice %lld: %s", (long long)k, wrong);
    }
    if (next_long != s->long_count || indexed != s->indexed || nnz + s->long_nnz != s->a.nnz)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, nnz + s->long_nnz, s->a.nnz,
                                "packed: %lld entries, expected %lld", (long long)(nnz + s->long_nnz),
                                (long long)s->a.nnz);
done:
    return status;
}

/* ---- descriptor ---------------------------------------------------------------------------------- */

/* Other values may differ from slice to slice, and are not shared then. */
static int64_t growth_bytes(const void *storage)
{
    const spryi_packed *s = storage;
    return s->most_slots > s->slots ? (s->most_slots - s->slots) * (int64_t)spry_type_bytes(s->a.value_type) : 0;
}

static int sections(void *storage, spryi_section *list)
{
    spryi_packed *s = storage;
    int count = 0;
    spryi_list_shape(&s->a, list, &count);
    list[count++] = (spryi_section){"packed", NULL, &s->block, 8, sizeof s->block}; /* block to long_nnz */
    return count + spryi_packed_arrays(s, list + count);
}

/* The arrays that are there: a pattern has no values. */
static int device_sections(void *storage, spryi_section *list)
{
    spryi_section all[SPRYI_PACKED_ARRAYS];
    int count = 0, there = spryi_packed_arrays(storage, all);
    for (int n = 0; n < there; n++)
        if (*all[n].array) list[count++] = all[n];
    return count;
}

const spryi_format spryi_format_packed = {
    .name = "packed",
    .title = "packed CSR-k: slices of 32 rows whose indices vanish",
    .storage = "nnz values + 20 bytes of 32 rows + what indices are left: none on grids, to 2 bytes an entry",
    .best_for = "meshes and grids, matrices of dense blocks, columns that are near each other",
    .predict = spryi_packed_predict,
    .build = spryi_packed_build,
    .growth_bytes = growth_bytes,
    .workspace_bytes = spryi_packed_workspace,
    .to_csr = spryi_packed_to_csr,
    .storage_size = sizeof(spryi_packed),
    .windows_at = offsetof(spryi_packed, windows),
    .device_sections = device_sections,
    .transposed_apart = 1,
    .sections = sections,
    .check = check,
    .estimator = &spryi_packed_estimator,
};
