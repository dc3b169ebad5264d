/* What the parts of the module cusparse share: A in the layouts of cuSPARSE on the GPU, and their kernels. */
#pragma once

#include "bench/peer.h"

/* cusparse<t>csr2bsr is on its way out and has no successor. */
#define DISABLE_CUSPARSE_DEPRECATED
#define CUSPARSE_ENABLE_EXPERIMENTAL_API /* SpMVOp */
#include <cuda_runtime_api.h>
#include <cusparse.h>

/* The first with BSR in cusparseSpMV and cusparseSpMM, CUDA 13.0's. */
#define HAS_BSR (CUSPARSE_VERSION >= 12603 && CUSPARSE_VER_MAJOR == 12)

enum { PEER_CUSPARSE_MOST_ARRAYS = 8 };

extern cusparseHandle_t peer_cusparse_handle; /* NULL until the first preparation begins */

/* Arrays in device memory. */
typedef struct peer_cusparse_memory {
    void *arrays[PEER_CUSPARSE_MOST_ARRAYS];
    int count;
} peer_cusparse_memory;

typedef struct peer_cusparse_preparation {
    const spry_peer_request *request;
    const spry_peer_matrix *a;
    cudaDataType type; /* of values and vectors */
    cusparseOperation_t op;
    int64_t x_length, y_length;
    double upload_us;
    int64_t bytes;                  /* of the matrix as stored */
    cusparseConstSpMatDescr_t *A;   /* what is made goes there, */
    peer_cusparse_memory *kept;     /* its arrays with the state, */
    peer_cusparse_memory temporary; /* and others until the state is ready */
    spry_peer_error *error;
} peer_cusparse_preparation;

/* Fills in all but A and kept. A CUDA context and the handle are there then; their time is told as start-up. */
int peer_cusparse_begin(peer_cusparse_preparation *p, const spry_peer_request *request, spry_peer_cost *cost,
                        spry_peer_error *error);
/* Gives back what was temporary, and tells the cost. */
void peer_cusparse_end(peer_cusparse_preparation *p, spry_peer_cost *cost);

/* The module's answer, with the sentence, to that of a call. */
int peer_cusparse_cuda_answer(const peer_cusparse_preparation *p, cudaError_t code, const char *call);
int peer_cusparse_answer(const peer_cusparse_preparation *p, cusparseStatus_t status, const char *call);

/* An array that lives as long as the others of its memory. */
int peer_cusparse_new_array(peer_cusparse_preparation *p, peer_cusparse_memory *of, void **array, int64_t count,
                            int bytes, const char *what);
void peer_cusparse_free_arrays(peer_cusparse_memory *of);

/* A in a layout. The last three: values stored as f32, f16 and bf16, where they are such numbers. */
int peer_cusparse_csr(peer_cusparse_preparation *p);
int peer_cusparse_coo(peer_cusparse_preparation *p);
int peer_cusparse_csc(peer_cusparse_preparation *p);
int peer_cusparse_sell(peer_cusparse_preparation *p);
int peer_cusparse_bsr(peer_cusparse_preparation *p);
int peer_cusparse_csr_f32(peer_cusparse_preparation *p);
int peer_cusparse_csr_f16(peer_cusparse_preparation *p);
int peer_cusparse_csr_bf16(peer_cusparse_preparation *p);

/* Products with several columns (cusparse_spmm.c) and of two sparse matrices (cusparse_spgemm.c). */
enum { PEER_CUSPARSE_SPMM = 8, PEER_CUSPARSE_SPGEMM = 3 };
extern const spry_peer_kernel peer_cusparse_spmm[PEER_CUSPARSE_SPMM];
extern const spry_peer_spgemm peer_cusparse_spgemm[PEER_CUSPARSE_SPGEMM];
