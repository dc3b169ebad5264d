/* Lists the arrays of windowed and their sizes. The CUDA plug-in also compiles this file. */
#include "base/error.h"
#include "formats/shared/owned_arrays.h"
#include "formats/windowed/windowed_layout.h"

#include <stdio.h>

spry_status spryi_windowed_check_sizes(const spryi_windowed *s, spry_error *err)
{
    const int64_t most = UINT32_MAX;
    if (s->a.rows < most && s->slice_count < most && s->page_count < most &&
        s->numbers / SPRYI_WINDOWED_DICTIONARY < most && s->units < most && s->slots / SPRYI_WINDOWED_ALIGN < most &&
        s->a.columns < most << SPRYI_WINDOWED_PAGE_BITS)
        return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "format", s->slots, most * SPRYI_WINDOWED_ALIGN,
                            "windowed: %lld rows, %lld columns and %lld values exceed the format's 32-bit counts",
                            (long long)s->a.rows, (long long)s->a.columns, (long long)s->slots);
}

int spryi_windowed_arrays(void *storage, spryi_section *list)
{
    spryi_windowed *s = storage;
    const int64_t index_bytes = (int64_t)spryi_index_type_bytes(s->a.index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(s->a.value_type);
    const int values = value_bytes > 0, pattern = s->a.value_type == SPRY_PATTERN;
    const spryi_section arrays[] = {
        {"windows", (void **)&s->windows, NULL, spryi_size_plus_one(s->window_count), sizeof *s->windows},
        {"slices", (void **)&s->slices, NULL, spryi_size_plus_one(s->slice_count), sizeof *s->slices},
        {"pages", (void **)&s->pages, NULL, s->page_count, sizeof *s->pages},
        {"dictionary", (void **)&s->dictionary, NULL, s->numbers, sizeof *s->dictionary},
        {"rows", (void **)&s->rows, NULL, spryi_size_product(s->slice_count, SPRYI_WINDOWED_LANES), sizeof *s->rows},
        {"indices", (void **)&s->indices, NULL, spryi_size_product(s->units, SPRYI_WINDOWED_UNIT), 1},
        {"values", pattern ? NULL : &s->values, s, values ? s->slots : 0, values ? value_bytes : 1},
        {"long_rows", (void **)&s->long_rows.rows, NULL, s->long_rows.count, sizeof *s->long_rows.rows},
        {"long_first", (void **)&s->long_rows.first, NULL, spryi_size_plus_one(s->long_rows.count),
         sizeof *s->long_rows.first},
        {"pieces", (void **)&s->long_rows.pieces, NULL, spryi_size_plus_one(s->long_rows.piece_count),
         sizeof *s->long_rows.pieces},
        {"long_columns", &s->long_rows.columns, NULL, s->long_rows.nnz, index_bytes},
        {"long_values", pattern ? NULL : &s->long_rows.values, s, values ? s->long_rows.nnz : 0,
         values ? value_bytes : 1},
    };
    for (int n = 0; n < SPRYI_WINDOWED_ARRAYS; n++) list[n] = arrays[n];
    return SPRYI_WINDOWED_ARRAYS;
}

/*
 * In cost->words, a window, a slice or a unit of the indices counts as four words, a page as two. Two elements of the
 * dictionary count as one word.
 */
void spryi_windowed_cost(spryi_cost *cost, const spryi_windowed *s)
{
    spryi_windowed sizes = *s;
    spryi_section list[SPRYI_WINDOWED_ARRAYS];
    const int values = s->a.value_type != SPRY_PATTERN;
    *cost = (spryi_cost){
        .bytes = spryi_listed_bytes(list, spryi_windowed_arrays(&sizes, list)),
        .words = 4 * s->window_count + (4 + SPRYI_WINDOWED_LANES) * s->slice_count + 2 * s->page_count +
                 s->numbers / 2 + 4 * s->units + values * s->slots + (1 + values) * s->long_rows.nnz +
                 2 * s->long_rows.count + s->long_rows.piece_count,
        .padding = s->slots + s->long_rows.nnz - s->a.nnz,
    };
    snprintf(cost->parameters, sizeof cost->parameters, "window=%lld:order=%s", (long long)s->window,
             s->cells ? "cells" : "natural");
}

void spryi_windowed_resolve(spryi_windowed *s, const spryi_build_request *request)
{
    const int64_t asked = request->parameters[SPRYI_WINDOWED_ASKED_WINDOW], lanes = SPRYI_WINDOWED_LANES;
    s->window = asked > 0 ? (asked + lanes - 1) / lanes * lanes : spryi_windowed_default_rows(s->a.rows);
}
