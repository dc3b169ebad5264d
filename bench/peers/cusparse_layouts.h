/* Shared header of the module cusparse: A in cuSPARSE's layouts in GPU memory, and the kernels. */
#pragma once

#include "bench/peer.h"

/* Disables warnings about cusparse<t>csr2bsr, which is deprecated without a successor. */
#define DISABLE_CUSPARSE_DEPRECATED
#define CUSPARSE_ENABLE_EXPERIMENTAL_API /* SpMVOp */
#include <cuda_runtime_api.h>
#include <cusparse.h>

/* True if cusparseSpMV and cusparseSpMM support BSR, as they do since CUDA 13.0. */
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
    cudaDataType type; /* type of values and vectors */
    cusparseOperation_t op;
    int64_t x_length, y_length;
    double upload_us;
    int64_t bytes;                  /* bytes of the matrix in its layout */
    cusparseConstSpMatDescr_t *A;   /* receives the matrix */
    peer_cusparse_memory *kept;     /* arrays that the state owns */
    peer_cusparse_memory temporary; /* arrays that peer_cusparse_end frees */
    spry_peer_error *error;
} peer_cusparse_preparation;

/* Fills in all members except A and kept. Creates a CUDA context and the handle; reports their time as start-up. */
int peer_cusparse_begin(peer_cusparse_preparation *p, const spry_peer_request *request, spry_peer_cost *cost,
                        spry_peer_error *error);
/* Frees temporary arrays and fills in the cost. */
void peer_cusparse_end(peer_cusparse_preparation *p, spry_peer_cost *cost);

/* Convert the result of a call to a result of the module, with an error. */
int peer_cusparse_cuda_answer(const peer_cusparse_preparation *p, cudaError_t code, const char *call);
int peer_cusparse_answer(const peer_cusparse_preparation *p, cusparseStatus_t status, const char *call);

/* Allocates an array and adds it to the list `of`. peer_cusparse_free_arrays frees all arrays of a list. */
int peer_cusparse_new_array(peer_cusparse_preparation *p, peer_cusparse_memory *of, void **array, int64_t count,
                            int bytes, const char *title);
void peer_cusparse_free_arrays(peer_cusparse_memory *of);

/* Create A in a layout. The last three store values as f32, f16 or bf16, only if all values are exact in the type. */
int peer_cusparse_csr(peer_cusparse_preparation *p);
int peer_cusparse_coo(peer_cusparse_preparation *p);
int peer_cusparse_csc(peer_cusparse_preparation *p);
int peer_cusparse_sell(peer_cusparse_preparation *p);
int peer_cusparse_bsr(peer_cusparse_preparation *p);
int peer_cusparse_csr_f32(peer_cusparse_preparation *p);
int peer_cusparse_csr_f16(peer_cusparse_preparation *p);
int peer_cusparse_csr_bf16(peer_cusparse_preparation *p);

/* Products with multiple columns (cusparse_spmm.c) and of two sparse matrices (cusparse_spgemm.c). */
enum { PEER_CUSPARSE_SPMM = 8, PEER_CUSPARSE_SPGEMM = 3 };
extern const spry_peer_kernel peer_cusparse_spmm[PEER_CUSPARSE_SPMM];
extern const spry_peer_spgemm peer_cusparse_spgemm[PEER_CUSPARSE_SPGEMM];
