/* Inside a plan of sparse times sparse. spry_spgemm makes one for a single run. */
#ifndef SPRYI_SPGEMM_PLAN_H
#define SPRYI_SPGEMM_PLAN_H

#include "core/device.h"
#include "spgemm/spgemm.h"

/* A or op(B) as the kernels need it. */
typedef struct spryi_operand {
    spry_matrix *given; /* retained: its arrays may be borrowed below */
    spry_matrix *csr;   /* given itself, another view of its arrays, or a conversion of it */
    int converted;      /* 1: csr owns arrays, `bytes` of them */
    int64_t bytes;
    int64_t *from; /* where the value of entry k of csr is among given's; NULL: the same arrays, or a pattern */
} spryi_operand;

/* What a plan has on a device with memory of its own. */
typedef struct spryi_spgemm_gpu {
    const spryi_cuda_spgemm_kernel *kernel;
    void *inputs[6];       /* device arrays of A and op(B) that the plan owns: offsets, columns, values of each */
    int64_t held, most;    /* bytes of the device now, inputs and the caller's arrays there included, and the most */
    int64_t limit;         /* 0: none */
    int64_t *scan;         /* products of the rows before each, on the host; NULL while in one piece */
    int64_t chunks, *cuts; /* rows at which they begin, chunks + 1 */
    int64_t *c_offsets;    /* device, rows + 1: of one chunk from its first row on */
    int32_t *c_columns;    /* device: C's own, or a chunk's on its way to the host */
    void *c_values;
    int64_t room; /* entries that these hold */
    spryi_cuda_product product;
} spryi_spgemm_gpu;

struct spry_spgemm_plan {
    spry_context *context;
    const spryi_device *device; /* that does the work */
    spryi_operand a, b;
    spryi_operand columns;       /* op(B) as CSC, for kernels that ask for it; given is b.csr */
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
    spryi_spgemm_gpu *gpu; /* NULL: the device works in host memory */
};

/*
 * spgemm_operands.c: resolves both operands; value types agree already. Frees nothing: spryi_drop_operands does. Arrays
 * in device memory are taken as they lie, or refused.
 */
spry_status spryi_make_operands(spry_spgemm_plan *plan, spry_error *err);
spry_status spryi_make_columns(spry_spgemm_plan *plan, spry_error *err); /* for kernels that need op(B) as CSC */
void spryi_drop_operands(spry_spgemm_plan *plan);

/* The values of a converted operand again, of what is in the given one now. */
void spryi_refresh_operands(spry_spgemm_plan *plan);

/* spgemm_zeros.c: in place, in constant memory; C is nobody else's yet. */
void spryi_drop_zeros(spry_matrix *C);

/* Threads of a product on a CPU: no more than have something to do. */
int spryi_spgemm_threads(const spry_context *context, const spryi_spgemm_job *job);

/* Types and bytes of C, whose nnz is known. */
spry_status spryi_size_result(spry_spgemm_plan *plan, int64_t *result_bytes, spry_error *err);

/*
 * spgemm_route.c: 1: the first device that is no CPU is there, and predicted to be faster with operands and result on
 * the host, its start included. *device is that one then, *why tells the reason either way.
 */
int spryi_spgemm_route(const spry_spgemm_plan *plan, const spryi_device **device, const char **why);

/* Says what a phase holds at once; SPRY_TOO_LARGE past the limit. exact 0: it needs at least that. */
spry_status spryi_spgemm_admit(spry_spgemm_plan *plan, int64_t bytes, int exact, spry_error *err);
spry_status spryi_spgemm_take_workspace(spry_spgemm_plan *plan, int64_t bytes, spry_error *err); /* cleared */
int64_t spryi_spgemm_offset_bytes(const spry_spgemm_plan *plan); /* the job's offsets and pieces */
spry_status spryi_spgemm_adopt(spry_spgemm_plan *plan, spry_error *err);

/*
 * spgemm_once.c: the product of a plan for one run, counted and filled at once. plan->C stays NULL where two phases are
 * better: the kernel has none for these types, too many products meet in an entry, or memory is short.
 */
spry_status spryi_spgemm_at_once(spry_spgemm_plan *plan, spry_error *err);
/* 1: in a sample, a third of the rows have the columns of the row before: what was found for it serves them too. */
int spryi_spgemm_has_twins(const spry_arrays *a);
/* *held = bytes that it holds beside C; 0: it goes by two phases. Cuts the rows for it. */
spry_status spryi_spgemm_ready_once(spry_spgemm_plan *plan, int64_t *held, spry_error *err);

/* spgemm_device.c: the phases on a device with memory of its own, plan->device. */
spry_status spryi_spgemm_open_device(spry_spgemm_plan *plan, spry_error *err);
spry_status spryi_spgemm_count_there(spry_spgemm_plan *plan, spry_error *err); /* copies, and counts C's entries */
spry_status spryi_spgemm_fill_there(spry_spgemm_plan *plan, spry_error *err);  /* first makes C where it is not there */
void spryi_spgemm_close_device(spry_spgemm_plan *plan);

/* A matrix's arrays as those of its transpose: no copy, another layout. */
spry_arrays spryi_transposed_view(const spry_arrays *a);

#endif
