/*
 * spry_matrix_extract: a first pass counts the entries of each new row, a second pass writes them with their new
 * columns. Column j of A may be selected multiple times: place[j] is the first new column that copies it, and next[n]
 * is the next such column after new column n.
 */
#include "base/element.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/device_operation.h"
#include "matrix/operation.h"

#include <string.h>

/* ---- selections ------------------------------------------------------------------------------------- */

/* Checks a selection among `lines` rows or columns and copies it: a list, or first and count of a range. */
static spry_status take_selection(spry_selection *taken, const spry_selection *given, const char *name, int64_t lines,
                                  spry_error *err)
{
    *taken = (spry_selection){.count = lines};
    if (!given) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_take_struct(taken, sizeof *taken, given, name, err));
    const bool listed = taken->list != NULL;
    const int64_t first = taken->first, count = taken->count, last = listed ? 0 : lines;
    if (first < 0 || first > last)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, first, last,
                                "extract: %s.first is %lld, expected %s%lld", name, (long long)first,
                                listed ? "with a list " : "0 to ", (long long)last);
    const int64_t most = listed ? INT64_MAX / 64 : lines - first;
    if (count < 0 || count > most)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, count, most,
                                "extract: %s.count is %lld, expected 0 to %lld", name, (long long)count,
                                (long long)most);
    for (int64_t n = 0; listed && n < count; n++)
        if (taken->list[n] < 0 || taken->list[n] >= lines)
            return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, taken->list[n], lines - 1,
                                    "extract: %s.list[%lld] is %lld, expected 0 to %lld", name, (long long)n,
                                    (long long)taken->list[n], (long long)(lines - 1));
    if (!listed && count == 0) taken->count = most;
    return SPRY_OK;
}

static bool selects_all(const spry_selection *s, int64_t lines)
{
    return !s->list && s->first == 0 && s->count == lines;
}

static bool are_equal(const spry_selection *s, const spry_selection *t)
{
    if (s->count != t->count || !s->list != !t->list) return false;
    if (!s->list) return s->first == t->first;
    return s->list == t->list || memcmp(s->list, t->list, (size_t)s->count * sizeof *s->list) == 0;
}

/* ---- columns ---------------------------------------------------------------------------------------- */

/* New columns of the columns of A. */
typedef struct column_map {
    int64_t first, count; /* first column and length of a range, if place is NULL */
    int64_t *place;       /* place[j]: first new column that copies A's column j, or -1; NULL: a range */
    int64_t *next;        /* next[n]: next new column that copies the same column as n, or -1; NULL: none */
    bool complete;        /* each column is selected once */
} column_map;

static spry_status map_columns(spry_context *context, column_map *map, const spry_selection *s, int64_t columns,
                               spry_error *err)
{
    *map = (column_map){.first = s->first, .count = s->count, .complete = selects_all(s, columns)};
    if (!s->list) return SPRY_OK;
    bool repeats = false;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &map->place, columns, "places of columns", err));
    memset(map->place, 0xff, (size_t)columns * sizeof *map->place);
    for (int64_t n = 0; n < s->count; n++) {
        int64_t *place = &map->place[s->list[n]];
        repeats |= *place >= 0;
        *place = n;
    }
    map->complete = !repeats && s->count == columns;
    if (!repeats) return SPRY_OK;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &map->next, s->count, "places of columns", err));
    memset(map->place, 0xff, (size_t)columns * sizeof *map->place);
    for (int64_t n = s->count - 1; n >= 0; n--) {
        map->next[n] = map->place[s->list[n]];
        map->place[s->list[n]] = n;
    }
    return SPRY_OK;
}

static void release_map(spry_context *context, column_map *map)
{
    spryi_release(context, map->place);
    spryi_release(context, map->next);
}

/* Returns the first new column of A's column j, or -1. */
static inline int64_t place_of(const column_map *map, int64_t j)
{
    if (map->place) return map->place[j];
    return j >= map->first && j - map->first < map->count ? j - map->first : -1;
}

/* ---- on the host -------------------------------------------------------------------------------------- */

typedef struct pick_job {
    spry_arrays rows;
    spry_selection selected;
    column_map map;
    spryi_compressed to;
} pick_job;

static inline int64_t old_row(const spry_selection *s, int64_t i)
{
    return s->list ? s->list[i] : s->first + i;
}

static void count_picked(void *job, int64_t begin, int64_t end)
{
    const pick_job j = *(const pick_job *)job; /* a local copy, so that writes to arrays force no reload */
    for (int64_t i = begin; i < end; i++) {
        const int64_t old = old_row(&j.selected, i), last = spryi_offset_of(&j.rows, old + 1);
        int64_t k = spryi_offset_of(&j.rows, old), entries = j.map.complete ? last - k : 0;
        for (; k < last && !j.map.complete; k++) {
            int64_t n = place_of(&j.map, spryi_minor_of(&j.rows, k));
            for (; n >= 0; n = j.map.next ? j.map.next[n] : -1) entries++;
        }
        j.to.offsets[i + 1] = entries;
    }
}

/* Copies rows begin .. end - 1. The types and the width of values are constants where the function is inlined. */
SPRYI_INLINE void pick_rows(const pick_job *job, int64_t begin, int64_t end, const spry_index_type from,
                            const spry_index_type type, const size_t width)
{
    const pick_job j = *job; /* a local copy, so that writes to arrays force no reload */
    for (int64_t i = begin; i < end; i++) {
        const int64_t old = old_row(&j.selected, i), last = spryi_offset_of(&j.rows, old + 1);
        int64_t at = j.to.offsets[i];
        for (int64_t k = spryi_offset_of(&j.rows, old); k < last; k++) {
            int64_t n = place_of(&j.map, spryi_index_at(j.rows.indices, from, k));
            for (; n >= 0; n = j.map.next ? j.map.next[n] : -1, at++) {
                spryi_set_index(j.to.indices, type, at, n);
                if (width > 0)
                    memcpy((char *)j.to.values + (size_t)at * width, (const char *)j.rows.values + (size_t)k * width,
                           width);
            }
        }
    }
}

static void fill_picked(void *job, int64_t begin, int64_t end)
{
    const pick_job *j = job;
    const size_t width = spry_type_bytes(j->rows.value_type);
    const bool narrow = j->rows.index_type == SPRY_I32 && j->to.index_type == SPRY_I32;
    if (narrow && width == 8)
        pick_rows(j, begin, end, SPRY_I32, SPRY_I32, 8);
    else if (narrow && width == 4)
        pick_rows(j, begin, end, SPRY_I32, SPRY_I32, 4);
    else if (width == 0)
        pick_rows(j, begin, end, j->rows.index_type, j->to.index_type, 0);
    else
        pick_rows(j, begin, end, j->rows.index_type, j->to.index_type, width);
}

/* Converts counts to offsets. */
static spry_status sum_counts(spryi_compressed *to, spry_error *err)
{
    const int64_t most = INT64_MAX / 64;
    to->offsets[0] = 0;
    for (int64_t i = 0; i < to->majors; i++) {
        if (to->offsets[i + 1] > most - to->offsets[i])
            return spryi_fail_value(err, SPRY_TOO_LARGE, "rows", to->majors, most,
                                    "extract: the selection has over %lld entries", (long long)most);
        to->offsets[i + 1] += to->offsets[i];
    }
    to->nnz = to->offsets[to->majors];
    return SPRY_OK;
}

/* Builds j->to. Entries of a row are in the order of A's entries. */
static spry_status pick(spry_context *context, pick_job *j, spry_error *err)
{
    enum { ROWS = 512 };
    spryi_compressed *to = &j->to;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &to->offsets, to->majors + 1, "offsets", err));
    spryi_loop(context, spryi_threads(context, to->majors + j->rows.nnz), to->majors, ROWS, count_picked, j);
    SPRYI_OK_OR_RETURN(sum_counts(to, err));
    SPRYI_OK_OR_RETURN(spryi_compressed_allocate(context, to, err));
    spryi_loop(context, spryi_threads(context, to->majors + to->nnz), to->majors, ROWS, fill_picked, j);
    return SPRY_OK;
}

static spry_status extract_on_host(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                   const spry_selection *rows, const spry_selection *columns, spry_matrix_options *o,
                                   spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *entries = NULL;
    spryi_compressed copy = {0};
    pick_job j = {.selected = *rows};
    SPRYI_TRY(spryi_check_result(o, rows->count, columns->count, 0, err));
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    SPRYI_TRY(map_columns(context, &j.map, columns, A->a.columns, err));
    SPRYI_TRY(spryi_show_rows(context, &j.rows, &copy, entries, false, err));
    j.to = (spryi_compressed){.majors = rows->count,
                              .minors = columns->count,
                              .index_type = o->index_type,
                              .value_type = j.rows.value_type};
    SPRYI_TRY(pick(context, &j, err));
    spryi_compressed_clear(context, &copy);
    const spry_symmetry symmetry = are_equal(rows, columns) ? entries->a.symmetry : SPRY_GENERAL;
    SPRYI_TRY(spryi_deliver_rows(context, B, &j.to, o, entries, symmetry, err));
done:
    release_map(context, &j.map);
    spryi_matrix_release(entries);
    spryi_compressed_clear(context, &copy);
    spryi_compressed_clear(context, &j.to);
    return status;
}

/* ---- on a device -------------------------------------------------------------------------------------- */

static spry_status extract_on_device(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                     const spry_selection *rows, const spry_selection *columns,
                                     const spry_matrix_options *o, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_device_result result;
    column_map map = {0};
    spry_index_type wide = SPRY_I64, narrow = SPRY_I32;
    SPRYI_OK_OR_RETURN(spryi_begin_on_device(&result, context, "extract", A, o, A->a.value_type, err));
    SPRYI_TRY(spryi_pick_index_types(&wide, &narrow, rows->count, columns->count, 0, err));
    SPRYI_TRY(map_columns(context, &map, columns, A->a.columns, err));
    result.made.rows = rows->count;
    result.made.columns = columns->count;
    spryi_device_selection s = {.first_row = rows->first,
                                .first_column = columns->first,
                                .all_columns = map.complete && !map.place};
    SPRYI_TRY(spryi_upload_list(&result, &s.rows, rows->list, rows->count, err));
    SPRYI_TRY(spryi_upload_list(&result, &s.place, map.place, A->a.columns, err));
    SPRYI_TRY(spryi_upload_list(&result, &s.next, map.next, columns->count, err));
    if (are_equal(rows, columns)) result.symmetry = A->a.symmetry;
    SPRYI_TRY(result.functions->extract(result.device, &result.made, &result.entries[0]->a, &s, err));
    SPRYI_TRY(spryi_deliver_from_device(&result, B, A, o, err));
done:
    release_map(context, &map);
    spryi_end_on_device(&result);
    return status;
}

spry_status spry_matrix_extract(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                const spry_selection *rows, const spry_selection *columns,
                                const spry_matrix_options *options, spry_error *err)
{
    SPRYI_NEEDS(context, err);
    SPRYI_NEEDS(B, err);
    SPRYI_NEEDS(A, err);
    spry_matrix_options o;
    spry_selection r, c;
    SPRYI_OK_OR_RETURN(spryi_take_matrix_options(&o, options, "extract", A, err));
    if (o.value_type == SPRY_TYPE_DEFAULT) o.value_type = A->a.value_type;
    SPRYI_OK_OR_RETURN(take_selection(&r, rows, "rows", A->a.rows, err));
    SPRYI_OK_OR_RETURN(take_selection(&c, columns, "columns", A->a.columns, err));
    return A->a.device > 0 ? extract_on_device(context, B, A, &r, &c, &o, err)
                           : extract_on_host(context, B, A, &r, &c, &o, err);
}
