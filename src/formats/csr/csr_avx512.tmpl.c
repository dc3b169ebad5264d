/* The inner functions with AVX-512: rows of csr_avx512_rows.tmpl.c, and stepped and shared runs; see csr.h for each. */
#include "formats/csr/csr_avx512_rows.tmpl.c"

#include "formats/csr/csr_avx512_spans.tmpl.c"

/*
 * Four columns of LANES rows of `length` entries, of which the first `rows` exist, turned into one register a
 * column. Ax is where the first row's are; of rows that are not whole, only the columns in `live` are read.
 */
static inline __attribute__((always_inline)) void SPRY_FN(turn)(const SPRY_V *Ax, int64_t length, __mmask8 live,
                                                                int rows, int whole, VEC v[4])
{
    for (int r = 0; r < 4; r++) {
        BLOCK block[LANES / 4];
        for (int b = 0; b < LANES / 4; b++) {
            const uintptr_t at = (uintptr_t)Ax + (uintptr_t)(BLOCK_ROW(r, b) * length) * sizeof(SPRY_V);
            block[b] = whole ? LOAD_BLOCK((const SPRY_V *)at)
                             : MASKZ_LOAD_BLOCK(BLOCK_ROW(r, b) < rows ? live : 0, (const void *)at);
        }
        v[r] = JOIN_BLOCKS(block);
    }
    TRANSPOSE(v);
}

/* LANES rows (or the last `rows` of a run), one a lane: the x of a column are neighbours. */
static inline __attribute__((always_inline)) void SPRY_FN(stepped_group)(const spryi_csr_job *job, int64_t i,
                                                                         const SPRY_V *Ax, const SPRY_J *Aj,
                                                                         const SPRY_V *x, int64_t length, int rows)
{
    const MASK live = (MASK)first_lanes(rows);
    const int64_t column_bytes = LANES * (int64_t)sizeof(SPRY_V);
    VEC sum = ZERO(), other = ZERO(), v[4];
    int64_t j = 0;
    for (; j + 4 <= length; j += 4) {
        /* four columns are read here: fetch as many bytes, in the order of the whole stream */
        for (int64_t c = j; c < j + 4; c++) spryi_prefetch(Ax, c * column_bytes + SPRYI_AHEAD_STEPPED);
        SPRY_FN(turn)(Ax + j, length, 0xf, rows, rows == LANES, v);
        sum = FMA(v[0], MASKZ_LOAD(live, x + Aj[j]), sum);
        other = FMA(v[1], MASKZ_LOAD(live, x + Aj[j + 1]), other);
        sum = FMA(v[2], MASKZ_LOAD(live, x + Aj[j + 2]), sum);
        other = FMA(v[3], MASKZ_LOAD(live, x + Aj[j + 3]), other);
    }
    if (j < length) {
        for (int64_t c = j; c < length; c++) spryi_prefetch(Ax, c * column_bytes + SPRYI_AHEAD_STEPPED);
        /* the last columns lie in v[past] to v[3]: rows of four and more are read whole, from before j */
        const int past = (int)(j + 4 - length);
        const SPRY_V *from = (const SPRY_V *)((uintptr_t)Ax + (uintptr_t)(length - 4) * sizeof(SPRY_V));
        if (rows == LANES && length >= 4)
            SPRY_FN(turn)(from, length, 0xf, rows, 1, v);
        else
            SPRY_FN(turn)(from, length, (__mmask8)(0xf & (0xf << past)), rows, 0, v);
        if (past <= 1) other = FMA(v[1], MASKZ_LOAD(live, x + Aj[length - 3]), other);
        if (past <= 2) other = FMA(v[2], MASKZ_LOAD(live, x + Aj[length - 2]), other);
        sum = FMA(v[3], MASKZ_LOAD(live, x + Aj[length - 1]), sum);
    }
    SPRY_FN(put)(job, i, rows, ADD(sum, other));
}

/* Of the columns only those of the run's first row are read. */
static void SPRY_FN(stepped)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    const int64_t first = Ap[begin], length = Ap[begin + 1] - first;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    const SPRY_V *Ax = (const SPRY_V *)job->values + first, *x = job->x;
    int64_t i = SPRY_FN(head)(job, begin, end);
    if (i > begin) SPRY_FN(stepped_group)(job, begin, Ax, Aj, x, length, (int)(i - begin));
    for (Ax += (i - begin) * length, x += i - begin; i + LANES <= end; i += LANES, Ax += LANES * length, x += LANES)
        SPRY_FN(stepped_group)(job, i, Ax, Aj, x, length, LANES);
    if (i < end) SPRY_FN(stepped_group)(job, i, Ax, Aj, x, length, (int)(end - i));
    if (job->stream_y) _mm_sfence();
}

/* A group's columns are read and its x gathered once, for each of its rows. `group` is a constant where inlined. */
static inline __attribute__((always_inline)) void SPRY_FN(shared_groups)(const spryi_csr_job *job, int64_t begin,
                                                                         int64_t end, const int group)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_V *x = job->x;
    const int64_t limit = Ap[end];
    for (int64_t i = begin; i < end; i += group) {
        const int64_t first = Ap[i], length = Ap[i + 1] - first;
        const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
        const SPRY_V *Ax = (const SPRY_V *)job->values + first;
        VEC sum[8] = {ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO()};
        int64_t j = 0;
        for (; j + LANES <= length; j += LANES) {
            spryi_prefetch(Aj, (j + 2 * group * length) * (int64_t)sizeof(SPRY_J));
            VEC xs = GATHER_AT(x, Aj + j);
            for (int r = 0; r < group; r++) {
                spryi_prefetch(Ax, (r * length + j) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD);
                sum[r] = FMA(LOAD(Ax + r * length + j), xs, sum[r]);
            }
        }
        if (j < length) {
            MASK mask = (MASK)first_lanes((int)(length - j));
            VEC xs = first + j + LANES <= limit ? GATHER_AT(x, Aj + j) : SPRY_FN(gather_some)(x, Aj + j, length - j);
            spryi_prefetch(Aj, (j + 2 * group * length) * (int64_t)sizeof(SPRY_J));
            for (int r = 0; r < group; r++) {
                spryi_prefetch(Ax, (r * length + j) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD);
                sum[r] = MASK_FMA(MASKZ_LOAD(mask, Ax + r * length + j), xs, sum[r], mask);
            }
        }
        SPRY_FN(put)(job, i, group, SUM_GROUP(sum));
    }
}

static void SPRY_FN(shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group)
{
    switch (group) {
    case 2: SPRY_FN(shared_groups)(job, begin, end, 2); break;
    case 3: SPRY_FN(shared_groups)(job, begin, end, 3); break;
    case 4: SPRY_FN(shared_groups)(job, begin, end, 4); break;
    case 5: SPRY_FN(shared_groups)(job, begin, end, 5); break;
    case 6: SPRY_FN(shared_groups)(job, begin, end, 6); break;
    case 7: SPRY_FN(shared_groups)(job, begin, end, 7); break;
    default: SPRY_FN(shared_groups)(job, begin, end, 8); break;
    }
    if (job->stream_y) _mm_sfence();
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_csr_leaves leaves = {SPRY_FN(rows),  SPRY_FN(stepped),   SPRY_FN(shared),
                                            SPRY_FN(piece), SPRY_FN(span_rows), SPRY_FN(span_groups)};
    return spryi_csr_drive(args, &leaves);
}
