/* The CPU's passes over vectors of type SPRY_V, included by cpu_device.c. Callers pass the flags as constants. */

SPRYI_INLINE void SPRY_FN(map_entries)(const spryi_vector_map *m, const bool permuted, const bool scaled,
                                       const bool adds, const bool strided, int64_t begin, int64_t end)
{
    const SPRY_V *from = m->from, *scaling = m->scaling, beta = adds ? *(const SPRY_V *)m->beta : 0;
    const int32_t *permutation = m->permutation;
    const bool scaling_of_to = m->scaling_of_to;
    SPRY_V *to = m->to;
    const int64_t from_stride = strided && m->from_stride > 0 ? m->from_stride : 1;
    const int64_t to_stride = strided && m->to_stride > 0 ? m->to_stride : 1;
    for (int64_t i = begin; i < end; i++) {
        const int64_t p = permuted ? permutation[i] : i;
        const SPRY_V value = scaled ? scaling[scaling_of_to ? i : p] * from[p * from_stride] : from[p * from_stride];
        to[i * to_stride] = adds ? value + beta * to[i * to_stride] : value;
    }
}

/*
 * Maps multiple columns. Processes PIECE rows of all columns at a time, so that their cache lines remain cached. The
 * vectors do not overlap, and adds is a constant, so that the loop takes 0.6 of the time.
 */
SPRYI_INLINE void SPRY_FN(map_columns)(const spryi_vector_map *m, const bool adds, int64_t begin, int64_t end)
{
    enum { PIECE = 64 };
    const SPRY_V *from = m->from, beta = adds ? *(const SPRY_V *)m->beta : 0;
    SPRY_V *to = m->to;
    const int64_t from_stride = m->from_stride > 0 ? m->from_stride : 1,
                  to_stride = m->to_stride > 0 ? m->to_stride : 1;
    for (int64_t at = begin; at < end; at += PIECE)
        for (int64_t c = 0; c < m->columns; c++) {
            const SPRY_V *restrict x = from + c * m->from_column_stride;
            SPRY_V *restrict y = to + c * m->to_column_stride;
            for (int64_t i = at; i < end && i < at + PIECE; i++)
                y[i * to_stride] = adds ? x[i * from_stride] + beta * y[i * to_stride] : x[i * from_stride];
        }
}

static void SPRY_FN(map_blocks)(const void *argument, int64_t first, int64_t last)
{
    const spryi_vector_map *m = argument;
    const int64_t begin = first * MAP_BLOCK, end = last * MAP_BLOCK < m->length ? last * MAP_BLOCK : m->length;
    const bool adds = m->beta && *(const SPRY_V *)m->beta != 0;
    if (m->columns > 1) {
        adds ? SPRY_FN(map_columns)(m, true, begin, end) : SPRY_FN(map_columns)(m, false, begin, end);
        return;
    }
    const bool strided = m->from_stride > 1 || m->to_stride > 1;
#define MAP(permuted, scaled)                                                                                          \
    (strided ? SPRY_FN(map_entries)(m, permuted, scaled, adds, 1, begin, end)                                          \
     : adds  ? SPRY_FN(map_entries)(m, permuted, scaled, 1, 0, begin, end)                                             \
             : SPRY_FN(map_entries)(m, permuted, scaled, 0, 0, begin, end))
    if (m->permutation)
        m->scaling ? MAP(1, 1) : MAP(1, 0);
    else
        m->scaling ? MAP(0, 1) : MAP(0, 0);
#undef MAP
}

static void SPRY_FN(map)(const spryi_vector_map *m)
{
    const int64_t entries = m->length * (m->columns > 1 ? m->columns : 1);
    const int threads = entries > PARALLEL_FROM ? m->threads : 1;
    spryi_parallel_blocks(m->pool, threads, (m->length + MAP_BLOCK - 1) / MAP_BLOCK, SPRY_FN(map_blocks), m);
}
