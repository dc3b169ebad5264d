/*
 * csr5: CSR5 (W. Liu and B. Vinter, CSR5: An efficient storage format for cross-platform sparse matrix-vector
 * multiplication, ICS 2015), with which the CSR-k study compares its formats on CPUs. This code was written for this
 * benchmark from the paper. It is not the authors' program.
 *
 * Idea: entries are divided into tiles of omega * sigma consecutive entries, independent of rows. A tile has omega
 * lanes, the elements of a vector register. Lane l has sigma consecutive entries of the tile, stored so that step k
 * reads entry k of every lane from omega contiguous elements:
 *
 *     entries 0 1 2 3 | 4 5 6 7 | 8 9 ...    omega 2, sigma 4     stored 0 4  1 5  2 6  3 7 | 8 ...
 *
 * A tile's descriptor has a bit, the flag, for each entry that begins a row, and for each lane the number of rows that
 * begin in earlier lanes. A lane adds products until the next flag. Sums of rows that begin and end in one lane are
 * written to y. Sums of other rows are combined by a segmented sum over the lanes. The sum of a row that continues in
 * the next tile is carried to that tile. The sum of a row that begins in another thread's tiles is added at the end
 * (the paper's calibrator). The rows that begin in a tile are numbered consecutively from the first of them, except in
 * tiles with empty rows, which list their rows. omega is the number of values in a 512-bit register. sigma is 16, the
 * paper's value for x86.
 */
#include "bench/peer.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGMA = 16, REGISTER = 64, MOST_THREADS = 1024, MOST_LANES = 16 };

typedef struct tile {
    int32_t first_row; /* row of the first entry */
    int32_t next_row;  /* first row that begins in the tile */
    int64_t list;      /* index in rows_begun of the list of rows that begin in the tile; -1: they are consecutive */
    uint16_t flags[SIGMA];
    uint8_t before[MOST_LANES]; /* number of rows that begin in earlier lanes */
} tile;

typedef struct csr5 {
    spry_peer_matrix a;
    int lanes, threads;
    int64_t tiles; /* number of full tiles; the entries after them are the tail, in the order of CSR */
    tile *descriptors;
    int32_t *rows_begun, *empty_rows;
    int64_t begun_count, empty_count;
    int32_t *columns;
    void *values;
    int32_t *row_of_tail; /* row of each entry of the tail */
} csr5;

/* The partial sum of a row that begins in another thread's tiles. */
typedef struct carry {
    int64_t row;
    double sum;
} carry;

#define V float
#define LANES 16
#define NAME(verb) verb##_f32
#include "csr5.tmpl.c"
#define V double
#define LANES 8
#define NAME(verb) verb##_f64
#include "csr5.tmpl.c"

static int64_t tile_entries(const csr5 *s)
{
    return (int64_t)s->lanes * SIGMA;
}

/* ---- conversion --------------------------------------------------------------------------------- */

static void destroy(void *state)
{
    csr5 *s = state;
    free(s->descriptors);
    free(s->rows_begun);
    free(s->empty_rows);
    free(s->columns);
    free(s->values);
    free(s->row_of_tail);
    free(s);
}

static int allocate(csr5 *s)
{
    const spry_peer_matrix *a = &s->a;
    const size_t stored = (size_t)(s->tiles * tile_entries(s)), tail = (size_t)a->nnz - stored;
    s->descriptors = calloc((size_t)s->tiles + 1, sizeof *s->descriptors);
    s->rows_begun = malloc(((size_t)a->rows + 1) * sizeof *s->rows_begun);
    s->empty_rows = malloc(((size_t)a->rows + 1) * sizeof *s->empty_rows);
    s->columns = aligned_alloc(REGISTER, ((size_t)a->nnz * sizeof *s->columns / REGISTER + 1) * REGISTER);
    s->values = aligned_alloc(REGISTER, ((size_t)a->nnz * (size_t)a->value_bytes / REGISTER + 1) * REGISTER);
    s->row_of_tail = malloc((tail + 1) * sizeof *s->row_of_tail);
    return s->descriptors && s->rows_begun && s->empty_rows && s->columns && s->values && s->row_of_tail;
}

/* Returns the row of entry k: the last row that begins at or before entry k. */
static int64_t row_of(const spry_peer_matrix *a, int64_t k)
{
    int64_t low = 0, high = a->rows;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (spry_peer_offset(a, middle) <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/*
 * Fills in the descriptor of tile t. listed: used length of rows_begun. Returns the number of rows that it adds to
 * rows_begun.
 */
static int64_t describe(csr5 *s, int64_t t, int64_t listed)
{
    const spry_peer_matrix *a = &s->a;
    const int64_t first = t * tile_entries(s), end = first + tile_entries(s);
    tile *d = &s->descriptors[t];
    int64_t row = row_of(a, first), begun = 0, expected = -1;
    uint8_t by_lane[MOST_LANES] = {0};
    d->first_row = (int32_t)row;
    d->next_row = (int32_t)row;
    d->list = -1;
    if (spry_peer_offset(a, row) != first) row++;
    for (; row < a->rows && spry_peer_offset(a, row) < end; row++) {
        const int64_t k = spry_peer_offset(a, row) - first;
        if (spry_peer_offset(a, row + 1) == k + first) continue;
        if (begun == 0) d->next_row = (int32_t)row;
        if (begun > 0 && row != expected) d->list = listed;
        expected = row + 1;
        s->rows_begun[listed + begun++] = (int32_t)row;
        d->flags[k % SIGMA] |= (uint16_t)(1u << (k / SIGMA));
        by_lane[k / SIGMA]++;
    }
    for (int l = 1; l < s->lanes; l++) d->before[l] = (uint8_t)(d->before[l - 1] + by_lane[l - 1]);
    return d->list >= 0 ? begun : 0;
}

static void transpose_tiles(csr5 *s)
{
    const int64_t size = tile_entries(s);
    const int32_t *columns = s->a.columns;
    const char *values = s->a.values;
    const size_t width = (size_t)s->a.value_bytes;
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (int64_t t = 0; t < s->tiles; t++)
        for (int64_t e = 0; e < size; e++) {
            const int64_t from = t * size + e, to = t * size + e % SIGMA * s->lanes + e / SIGMA;
            s->columns[to] = columns[from];
            memcpy((char *)s->values + (size_t)to * width, values + (size_t)from * width, width);
        }
    const size_t done = (size_t)(s->tiles * size), tail = (size_t)s->a.nnz - done;
    if (tail == 0) return;
    memcpy(s->columns + done, columns + done, tail * sizeof *columns);
    memcpy((char *)s->values + done * width, values + done * width, tail * width);
}

static void describe_all(csr5 *s)
{
    const spry_peer_matrix *a = &s->a;
    const int64_t done = s->tiles * tile_entries(s);
    for (int64_t t = 0; t < s->tiles; t++) s->begun_count += describe(s, t, s->begun_count);
    for (int64_t i = 0; i < a->rows; i++)
        if (spry_peer_offset(a, i) == spry_peer_offset(a, i + 1)) s->empty_rows[s->empty_count++] = (int32_t)i;
    for (int64_t k = done, i = k < a->nnz ? row_of(a, k) : 0; k < a->nnz; k++) {
        while (spry_peer_offset(a, i + 1) <= k) i++;
        s->row_of_tail[k - done] = (int32_t)i;
    }
}

static int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    if (request->transpose || a->index_bytes != 4 || a->rows >= INT32_MAX)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "this CSR5 has 32-bit columns and no transposed product");
    csr5 *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    s->a = *a;
    s->lanes = REGISTER / a->value_bytes;
    s->threads = request->threads < MOST_THREADS ? request->threads : MOST_THREADS;
    s->tiles = a->nnz / tile_entries(s);
    if (!allocate(s)) return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory");
    describe_all(s);
    transpose_tiles(s);
    cost->threads = s->threads;
    cost->bytes = a->nnz * (a->value_bytes + a->index_bytes) + s->tiles * (int64_t)sizeof(tile) +
                  (s->begun_count + s->empty_count) * (int64_t)sizeof(int32_t);
    return SPRY_PEER_OK;
}

static int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const csr5 *s = state;
    (s->a.value_bytes == 8 ? multiply_f64 : multiply_f32)(s, alpha, x, beta, y);
    return SPRY_PEER_OK;
}

static const spry_peer_kernel kernels[] = {
    {"csr5", "csr", "cpu", "CSR5 reimplemented from its paper, not its authors' code", 1, prepare, run, destroy, 0}};
static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                        .name = "csr5",
                                        .version = "1 (of this benchmark)",
                                        .kernel_count = 1,
                                        .kernels = kernels};

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    (void)error;
    return &module;
}
