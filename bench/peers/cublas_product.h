/* cuSPARSE's product with a vector, for the methods of the module cublas: the fastest of some formats. */
#pragma once

#include "bench/peers/cusparse_layouts.h"

typedef struct peer_product {
    cusparseConstSpMatDescr_t A;
    cusparseDnVecDescr_t x, y; /* their pointers are set by each product */
    cusparseSpMVAlg_t algorithm;
    cudaDataType type;
    void *buffer;
    peer_cusparse_memory kept;
    const char *name; /* "CSR_ALG1" */
    int64_t bytes;    /* of A as stored */
    double upload_us;
} peer_product;

/* Times CSR_ALG1, CSR_ALG2 and SELL_ALG1 on A of the host and keeps the fastest; the others are given back. */
int peer_product_make(peer_product *made, const spry_peer_matrix *a, int threads, spry_peer_cost *cost,
                      spry_peer_error *error);
/* y = alpha*A*x in the default stream; x and y are in device memory. */
cusparseStatus_t peer_product_run(const peer_product *product, double alpha, const void *x, void *y);
void peer_product_destroy(peer_product *product);
