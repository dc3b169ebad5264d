/* csr_plain: the textbook loop on one thread without intrinsics, the reference of the studies. */
#include "bench/peer.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct plain {
    spry_peer_matrix a;
    int slot, transpose;
} plain;

#define V float
#define P int32_t
#define I int32_t
#define NAME(verb) verb##_f32_32_32
#include "plain.tmpl.c"
#define V float
#define P int64_t
#define I int32_t
#define NAME(verb) verb##_f32_64_32
#include "plain.tmpl.c"
#define V float
#define P int64_t
#define I int64_t
#define NAME(verb) verb##_f32_64_64
#include "plain.tmpl.c"
#define V double
#define P int32_t
#define I int32_t
#define NAME(verb) verb##_f64_32_32
#include "plain.tmpl.c"
#define V double
#define P int64_t
#define I int32_t
#define NAME(verb) verb##_f64_64_32
#include "plain.tmpl.c"
#define V double
#define P int64_t
#define I int64_t
#define NAME(verb) verb##_f64_64_64
#include "plain.tmpl.c"

typedef void (*product)(const spry_peer_matrix *a, double alpha, const void *x, double beta, void *y);
static const product products[2][6] = {{multiply_f32_32_32, multiply_f32_64_32, multiply_f32_64_64, multiply_f64_32_32,
                                        multiply_f64_64_32, multiply_f64_64_64},
                                       {transposed_f32_32_32, transposed_f32_64_32, transposed_f32_64_64,
                                        transposed_f64_32_32, transposed_f64_64_32, transposed_f64_64_64}};

static int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    plain *p = spry_peer_new(state, sizeof *p, error);
    if (!p) return SPRY_PEER_FAILED;
    *p =
        (plain){*a, (a->value_bytes == 8 ? 3 : 0) + (a->offset_bytes == 8) + (a->index_bytes == 8), request->transpose};
    cost->threads = 1;
    cost->bytes = a->nnz * (a->value_bytes + a->index_bytes) + (a->rows + 1) * a->offset_bytes;
    return SPRY_PEER_OK;
}

static int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const plain *p = state;
    products[p->transpose][p->slot](&p->a, alpha, x, beta, y);
    return SPRY_PEER_OK;
}

static const spry_peer_kernel kernels[] = {
    {"csr_plain", "csr", "cpu", "the textbook CSR loop on one thread", 1, prepare, run, free, 0}};
static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                        .name = "plain",
                                        .version = "1",
                                        .kernel_count = 1,
                                        .kernels = kernels};

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    (void)error;
    return &module;
}
