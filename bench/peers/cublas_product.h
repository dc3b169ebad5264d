/* cuSPARSE's fastest product with a vector, for the methods of the module cublas. */
#pragma once

#include "bench/peers/cusparse_layouts.h"

typedef struct peer_product {
    cusparseConstSpMatDescr_t A;
    cusparseDnVecDescr_t x, y; /* each product sets their pointers */
    cusparseSpMVAlg_t algorithm;
    cudaDataType type;
    void *buffer;
    peer_cusparse_memory kept;
    const char *name; /* "CSR_ALG1" */
    int64_t bytes;    /* bytes of A in its format */
    double upload_us;
} peer_product;

/* Measures CSR_ALG1, CSR_ALG2 and SELL_ALG1 for A in host memory, keeps the fastest and releases the others. */
int peer_product_make(peer_product *fastest, const spry_peer_matrix *a, int threads, spry_peer_cost *cost,
                      spry_peer_error *error);
/* Computes y = alpha*A*x in the default stream; x and y are in device memory. */
cusparseStatus_t peer_product_run(const peer_product *product, double alpha, const void *x, void *y);
void peer_product_destroy(peer_product *product);
