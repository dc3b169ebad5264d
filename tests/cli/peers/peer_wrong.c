/* A peer that is wrong in one entry of y: the benchmark must say so. Its twin `lost` fails in the product. */
#include "bench/peer.h"

#include <stdlib.h>

typedef struct wrong {
    spry_peer_matrix a;
    int transpose;
} wrong;

static int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, char *error, size_t error_size)
{
    (void)error, (void)error_size;
    wrong *w = malloc(sizeof *w);
    if (!w) return SPRY_PEER_FAILED;
    *w = (wrong){request->matrix, request->transpose};
    cost->threads = 1;
    *state = w;
    return SPRY_PEER_OK;
}

static double value_at(const spry_peer_matrix *a, const void *array, int64_t k)
{
    return a->value_bytes == 4 ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

static int64_t index_at(int bytes, const void *array, int64_t k)
{
    return bytes == 4 ? ((const int32_t *)array)[k] : ((const int64_t *)array)[k];
}

/* Right but for the entry in the middle, which is off by one part in a thousand. */
static int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const spry_peer_matrix *a = &((const wrong *)state)->a;
    for (int64_t i = 0; i < a->rows; i++) {
        double sum = 0;
        for (int64_t k = index_at(a->offset_bytes, a->offsets, i); k < index_at(a->offset_bytes, a->offsets, i + 1);
             k++)
            sum += value_at(a, a->values, k) * value_at(a, x, index_at(a->index_bytes, a->columns, k));
        if (i == a->rows / 2) sum = sum * 1.001 + 1e-3;
        double before = beta == 0 ? 0 : beta * value_at(a, y, i);
        if (a->value_bytes == 4)
            ((float *)y)[i] = (float)(alpha * sum + before);
        else
            ((double *)y)[i] = alpha * sum + before;
    }
    return SPRY_PEER_OK;
}

static int fail(void *state, double alpha, const void *x, double beta, void *y)
{
    (void)state, (void)alpha, (void)x, (void)beta, (void)y;
    return SPRY_PEER_FAILED;
}

static const spry_peer_kernel kernels[] = {{"csr_wrong", "csr", "cpu", "wrong on purpose", 1, prepare, run, free},
                                           {"csr_lost", "csr", "cpu", "fails on purpose", 1, prepare, fail, free}};
static const spry_peer_module module = {SPRY_PEER_ABI, "wrong", "1", 2, kernels};

const spry_peer_module *spry_peer_get(char *error, size_t error_size)
{
    (void)error, (void)error_size;
    return &module;
}
