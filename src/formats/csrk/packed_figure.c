/* How large the storage of format packed is. The CUDA plug-in compiles this file too. */
#include "core/error.h"
#include "formats/csrk/packed_part.h"

int64_t spryi_packed_groups(const spry_arrays *a, int64_t b)
{
    return (a->rows + spryi_packed_group(b) - 1) / spryi_packed_group(b);
}

void spryi_packed_set_sizes(spryi_packed *s, const spryi_packed_part *sum)
{
    s->slice_count = sum->slices;
    s->indexed = sum->indexed;
    s->slots = sum->slots;
    s->units = sum->units;
    s->long_count = sum->long_rows;
    s->piece_count = sum->pieces;
    s->long_nnz = sum->long_nnz;
}

spry_status spryi_packed_check_sizes(const spryi_packed *s, spry_error *err)
{
    const int64_t lanes = s->a.rows / SPRYI_PACKED_LANES;
    if (lanes < UINT32_MAX && s->units <= UINT32_MAX && s->slots < (int64_t)1 << 47) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "format", s->units, UINT32_MAX,
                            "packed: %lld rows with %lld pieces of indices are more than it counts",
                            (long long)s->a.rows, (long long)s->units);
}

int64_t spryi_packed_array_bytes(const spryi_packed *s)
{
    const int64_t value_bytes = (int64_t)spry_type_bytes(s->a.value_type);
    return (s->slice_count + 1) * (int64_t)sizeof *s->slices + s->slice_count * (int64_t)sizeof *s->extras +
           s->units * SPRYI_PACKED_UNIT + (s->slots + s->long_nnz) * value_bytes +
           s->long_nnz * (int64_t)spry_index_type_bytes(s->a.index_type) +
           (2 * s->long_count + s->piece_count + 2) * (int64_t)sizeof(int64_t);
}

/* Words: a slice is five, a piece of the indices four. */
void spryi_packed_figure(spryi_figure *figure, const spryi_packed *s)
{
    const int values = s->a.value_type != SPRY_PATTERN;
    *figure = (spryi_figure){
        .bytes = spryi_packed_array_bytes(s),
        .words = 5 * s->slice_count + 4 * s->units + values * s->slots + (1 + values) * s->long_nnz +
                 2 * s->long_count + s->piece_count,
        .padding = s->slots + s->long_nnz - s->a.nnz,
    };
}
