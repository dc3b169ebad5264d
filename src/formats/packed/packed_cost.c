/* Arrays of packed and their sizes. The CUDA plug-in compiles this file too. */
#include "base/error.h"
#include "base/types.h"
#include "formats/packed/packed_layout.h"
#include "formats/shared/owned_arrays.h"

int64_t spryi_packed_group_count(const spry_arrays *a, int64_t b)
{
    return (a->rows + spryi_packed_group_rows(b) - 1) / spryi_packed_group_rows(b);
}

spry_status spryi_packed_set_sizes(spryi_packed *s, const spryi_packed_counts *sum, spry_error *err)
{
    s->slice_count = sum->slices;
    s->indexed = sum->indexed;
    s->slots = sum->slots;
    s->units = sum->units;
    s->long_rows.count = sum->long_rows;
    s->long_rows.piece_count = sum->pieces;
    s->long_rows.nnz = sum->long_nnz;
    const int64_t lanes = s->a.rows / SPRYI_PACKED_LANES;
    if (lanes < UINT32_MAX && s->units <= UINT32_MAX && s->slots < (int64_t)1 << 47) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "format", s->units, UINT32_MAX,
                            "packed: %lld rows with %lld units of indices exceed its 32-bit counters",
                            (long long)s->a.rows, (long long)s->units);
}

int spryi_packed_arrays(void *storage, spryi_section *list)
{
    spryi_packed *s = storage;
    const int64_t index_bytes = (int64_t)spryi_index_type_bytes(s->a.index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(s->a.value_type);
    const int table = spryi_table_values(s->a.value_type), values = value_bytes > 0,
              pattern = s->a.value_type == SPRY_PATTERN;
    const spryi_section arrays[] = {
        {"slices", (void **)&s->slices, NULL, spryi_size_plus_one(s->slice_count), sizeof *s->slices},
        {"extras", (void **)&s->extras, NULL, s->slice_count, sizeof *s->extras},
        {"indices", (void **)&s->indices, NULL, spryi_size_product(s->units, SPRYI_PACKED_INDEX_UNIT), 1},
        {"values", pattern ? NULL : &s->values, s, values ? s->slots : 0, values ? value_bytes : 1},
        {"long_rows", (void **)&s->long_rows.rows, NULL, s->long_rows.count, sizeof *s->long_rows.rows},
        {"long_first", (void **)&s->long_rows.first, NULL, spryi_size_plus_one(s->long_rows.count),
         sizeof *s->long_rows.first},
        {"pieces", (void **)&s->long_rows.pieces, NULL, spryi_size_plus_one(s->long_rows.piece_count),
         sizeof *s->long_rows.pieces},
        {"long_columns", &s->long_rows.columns, NULL, s->long_rows.nnz, index_bytes},
        {"long_values", pattern ? NULL : &s->long_rows.values, s, values ? s->long_rows.nnz : 0,
         values ? value_bytes : 1},
        {SPRYI_TABLE_SECTION, &s->table, NULL, table, sizeof(double)},
    };
    const int count = SPRYI_PACKED_ARRAYS - (table == 0);
    for (int n = 0; n < count; n++) list[n] = arrays[n];
    return count;
}

/* In cost->words, a slice counts as five words and a unit of the indices as four. */
void spryi_packed_cost(spryi_cost *cost, const spryi_packed *s)
{
    spryi_packed sizes = *s;
    spryi_section list[SPRYI_PACKED_ARRAYS];
    const int values = s->a.value_type != SPRY_PATTERN;
    *cost = (spryi_cost){
        .bytes = spryi_listed_bytes(list, spryi_packed_arrays(&sizes, list)),
        .words = 5 * s->slice_count + 4 * s->units + values * s->slots + (1 + values) * s->long_rows.nnz +
                 2 * s->long_rows.count + s->long_rows.piece_count,
        .padding = s->slots + s->long_rows.nnz - s->a.nnz,
    };
}
