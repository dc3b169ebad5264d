/*
 * Kernels of librsb, the library of recursive sparse blocks. The kernel librsb uses the default partition, and
 * librsb_tuned uses the partition that the library's tuner finds. Indices have 32 bits. The library copies the matrix.
 * The module is built only with gcc, because the library uses gcc's OpenMP run-time, and a second run-time would
 * compete for processors.
 *
 * Linux distributions build librsb for every x86-64 processor, so without AVX. The benchmark measures that build,
 * because users have it.
 */
#include "bench/peer.h"

#include <limits.h>
#include <rsb.h>
#include <stdio.h>
#include <stdlib.h>

enum { AS_BUILT, TUNED }; /* the kernels' variants */
/* Limits of the tuner's rounds and seconds. They bound the set-up time, because every round sorts the matrix. */
enum { TUNING_ROUNDS = 3 };
static const rsb_time_t tuning_seconds = 10;

typedef struct rsb_state {
    struct rsb_mtx_t *A;
    rsb_trans_t operation;
    int f64;
} rsb_state;

/* A scalar of the matrix's type. */
typedef union scalar {
    float f32;
    double f64;
} scalar;

static scalar scalar_of(const rsb_state *s, double value)
{
    scalar result = {0};
    if (s->f64)
        result.f64 = value;
    else
        result.f32 = (float)value;
    return result;
}

static int answer(rsb_err_t status, const char *call, spry_peer_error *error)
{
    char text[160] = "no reason given";
    if (status == RSB_ERR_NO_ERROR) return SPRY_PEER_OK;
    rsb_strerror_r(status, text, sizeof text);
    return spry_peer_fail(error, SPRY_PEER_FAILED, "%s: %s", call, text);
}

static void destroy(void *state)
{
    rsb_state *s = state;
    rsb_mtx_free(s->A); /* accepts NULL */
    free(s);
}

/* Lets the tuner try partitions of the matrix. The number of threads does not change. */
static int tune(rsb_state *s, spry_peer_error *error)
{
    scalar one = scalar_of(s, 1), zero = scalar_of(s, 0);
    return answer(rsb_tune_spmm(&s->A, NULL, NULL, TUNING_ROUNDS, tuning_seconds, s->operation, &one, NULL, 1,
                                RSB_FLAG_WANT_COLUMN_MAJOR_ORDER, NULL, 0, &zero, NULL, 0),
                  "rsb_tune_spmm", error);
}

static int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    if (a->offset_bytes != 4 || a->index_bytes != 4)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "librsb is built for 32-bit indices here and takes indices 32/32 alone");
    rsb_state *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    rsb_int_t threads = request->threads;
    s->f64 = a->value_bytes == 8;
    s->operation = request->transpose ? RSB_TRANSPOSITION_T : RSB_TRANSPOSITION_N;
    SPRY_PEER_TRY(answer(rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &threads), "rsb_lib_set_opt", error));
    rsb_err_t status = RSB_ERR_NO_ERROR;
    rsb_type_t type = s->f64 ? RSB_NUMERICAL_TYPE_DOUBLE : RSB_NUMERICAL_TYPE_FLOAT;
    s->A = rsb_mtx_alloc_from_csr_const(a->values, a->offsets, a->columns, (rsb_nnz_idx_t)a->nnz, type,
                                        (rsb_coo_idx_t)a->rows, (rsb_coo_idx_t)a->cols, RSB_DEFAULT_ROW_BLOCKING,
                                        RSB_DEFAULT_COL_BLOCKING, RSB_FLAG_NOFLAGS, &status);
    if (!s->A && status == RSB_ERR_NO_ERROR) status = RSB_ERR_GENERIC_ERROR;
    SPRY_PEER_TRY(answer(status, "rsb_mtx_alloc_from_csr_const", error));
    if (request->variant == TUNED) SPRY_PEER_TRY(tune(s, error));
    size_t index_bytes = 0;
    if (rsb_mtx_get_info(s->A, RSB_MIF_INDEX_STORAGE_IN_BYTES__TO__SIZE_T, &index_bytes) == RSB_ERR_NO_ERROR)
        cost->bytes = (int64_t)index_bytes + a->nnz * a->value_bytes;
    return SPRY_PEER_OK;
}

static int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const rsb_state *s = state;
    scalar a = scalar_of(s, alpha), b = scalar_of(s, beta);
    return rsb_spmv(s->operation, &a, s->A, x, 1, &b, y, 1) == RSB_ERR_NO_ERROR ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

static const spry_peer_kernel kernels[] = {{"librsb", "csr", "cpu", "librsb rsb_spmv, recursive blocks", -1, prepare,
                                            run, destroy, AS_BUILT},
                                           {"librsb_tuned", "csr", "cpu", "librsb rsb_spmv after rsb_tune_spmm", -1,
                                            prepare, run, destroy, TUNED}};

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static char version[64];
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                            .name = "rsb",
                                            .version = version,
                                            .kernel_count = 2,
                                            .kernels = kernels};
    if (answer(rsb_lib_init(RSB_NULL_INIT_OPTIONS), "rsb_lib_init", error) != SPRY_PEER_OK) return NULL;
    snprintf(version, sizeof version, "%s", RSB_LIBRSB_VER_STRING);
    return &module;
}
