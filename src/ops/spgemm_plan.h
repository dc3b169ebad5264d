/* Inside a plan of sparse times sparse. spry_spgemm makes one for a single run. */
#ifndef SPRYI_SPGEMM_PLAN_H
#define SPRYI_SPGEMM_PLAN_H

#include "spgemm/spgemm.h"

/* A or op(B) as the kernels need it. */
typedef struct spryi_operand {
    spry_matrix *given; /* retained: its arrays may be borrowed below */
    spry_matrix *csr;   /* given itself, another view of its arrays, or a conversion of it */
    int converted;      /* 1: csr owns arrays, `bytes` of them */
    int64_t bytes;
    int64_t *from; /* where the value of entry k of csr is among given's; NULL: the same arrays, or a pattern */
} spryi_operand;

struct spry_spgemm_plan {
    spry_context *context;
    spryi_operand a, b;
    spry_matrix *by_columns;     /* op(B) as CSC, for kernels that ask for it */
    spry_spgemm_options options; /* its pointers are not kept */
    const spryi_spgemm_kernel *kernel;
    int once; /* 1: for one run: what only later runs need is not kept */
    spryi_spgemm_job job;
    spry_index_type offset_type; /* of C */
    spry_matrix *C;
    int64_t nnz; /* of C's structure */
    int64_t fill_bytes;
    int runs;
    int64_t input_bytes, converted_bytes, peak_bytes, workspace_bytes, least_bytes;
    double setup_us, upload_us, run_us, download_us;
    char reason[200];
    struct spryi_spgemm_gpu *gpu; /* NULL on the CPU */
};

/* spgemm_operands.c: settles both operands; value types agree already. Frees nothing: spryi_drop_operands does. */
spry_status spryi_make_operands(spry_spgemm_plan *plan, spry_error *err);
void spryi_drop_operands(spry_spgemm_plan *plan);

/* The values of a converted operand again, of what is in the given one now. */
void spryi_refresh_operands(spry_spgemm_plan *plan);

/* spgemm_zeros.c: in place, in constant memory; C is nobody else's yet. */
void spryi_drop_zeros(spry_matrix *C);

/* A matrix's arrays as those of its transpose: no copy, another layout. */
spry_arrays spryi_transposed_view(const spry_arrays *a);

#endif
