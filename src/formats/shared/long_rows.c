#include "formats/shared/long_rows.h"

#include "base/error.h"

#include <stdbool.h>
#include <string.h>

spry_status spryi_check_long_rows(const spryi_long_rows *r, const spry_arrays *a, const char *format, spry_error *err)
{
    const int64_t *first = r->first;
    bool good = first[0] == 0 && first[r->count] == r->piece_count && r->pieces[0] == 0 &&
                r->pieces[r->piece_count] == r->nnz;
    for (int64_t n = 0; good && n < r->count; n++)
        good = first[n] < first[n + 1] && first[n + 1] <= r->piece_count && r->rows[n] >= 0 && r->rows[n] < a->rows &&
               (n == 0 || r->rows[n] > r->rows[n - 1]);
    for (int64_t p = 0; good && p < r->piece_count; p++)
        good = r->pieces[p] < r->pieces[p + 1] && r->pieces[p + 1] <= r->nnz;
    if (good) return SPRY_OK;
    return spryi_fail(err, SPRY_BAD_FILE, NULL, "%s: the pieces of the %lld long rows do not match the rows", format,
                      (long long)r->count);
}

void spryi_copy_long_rows(const spryi_long_rows *r, const spry_arrays *a, const spryi_compressed *to)
{
    const size_t index_bytes = spryi_index_type_bytes(a->index_type), value_bytes = spry_type_bytes(a->value_type);
    for (int64_t n = 0; n < r->count; n++) {
        const int64_t from = r->pieces[r->first[n]], at = to->offsets[r->rows[n]];
        const size_t length = (size_t)(r->pieces[r->first[n + 1]] - from);
        memcpy((char *)to->indices + (size_t)at * index_bytes, (const char *)r->columns + (size_t)from * index_bytes,
               length * index_bytes);
        if (to->values)
            memcpy((char *)to->values + (size_t)at * value_bytes, (const char *)r->values + (size_t)from * value_bytes,
                   length * value_bytes);
    }
}
