/*
 * A CUDA plug-in without a GPU, for tests of what runs before and behind the kernels: one device whose memory can only
 * be touched inside of the plug-in's functions (the host that does dies of it), CSR products, the gathers of plans with
 * an ordering, the CPU's vector work with as much started ahead as on a GPU, and sparse products (simulated_spgemm.c).
 */
#include "core/build_id.h"
#include "core/cuda_plugin.h"
#include "core/error.h"
#include "formats/csr/csr.h"
#include "simulated_memory.h"
#include "solve/vector_ops.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_BLOCKS = 64 };
static struct {
    void *at;
    size_t bytes;
} memory[MOST_BLOCKS];
static int inside;

__attribute__((visibility("default"))) simulated_figures simulated;

static void protect(int access)
{
    for (int b = 0; b < MOST_BLOCKS; b++)
        if (memory[b].at) (void)mprotect(memory[b].at, memory[b].bytes, access);
}

void open_memory(void)
{
    if (inside++ == 0) protect(PROT_READ | PROT_WRITE);
}
void close_memory(void)
{
    if (--inside == 0) protect(PROT_NONE);
}

/* ---- devices and memory ------------------------------------------------------------------------- */

static int count(char *reason, size_t reason_size)
{
    (void)reason;
    (void)reason_size;
    return 1;
}

static spry_status describe(int device, spryi_cuda_device *info, spry_error *err)
{
    (void)device;
    (void)err;
    *info = (spryi_cuda_device){.name = "simulated",
                                .driver = "0.0",
                                .multiprocessors = 1,
                                .memory_bytes = 1 << 30,
                                .cache_bytes = 1 << 20};
    return SPRY_OK;
}

static spry_status allocate(int device, void **pointer, int64_t bytes, const char *what, spry_error *err)
{
    (void)device;
    int slot = 0;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = ((size_t)bytes + page) / page * page;
    while (slot < MOST_BLOCKS && memory[slot].at) slot++;
    void *made = MAP_FAILED;
    if (++simulated.allocations != simulated.fail_at && slot < MOST_BLOCKS)
        made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of device memory for %s", what);
    memset(made, 0xa5, size); /* nothing may count on zeros */
    memory[slot].at = *pointer = made;
    memory[slot].bytes = size;
    simulated.blocks++;
    if (inside == 0) protect(PROT_NONE);
    return SPRY_OK;
}

static void release(int device, void *pointer)
{
    (void)device;
    for (int b = 0; pointer && b < MOST_BLOCKS; b++) {
        if (memory[b].at != pointer) continue;
        (void)munmap(pointer, memory[b].bytes);
        memory[b].at = NULL;
        simulated.blocks--;
    }
}

static int started(int device)
{
    return device < 0;
}

static int64_t trim(void)
{
    return 0;
}

static void opened_or_closed(void)
{
}

static spry_status clear_memory(int device, void *pointer, int64_t bytes, spry_error *err)
{
    (void)device;
    (void)err;
    open_memory();
    memset(pointer, 0, (size_t)bytes);
    close_memory();
    return SPRY_OK;
}

static spry_status copy(int device, void *to, const void *from, int64_t bytes, spryi_copy kind, void *stream,
                        spry_error *err)
{
    (void)device;
    (void)stream;
    (void)err;
    simulated.copies_back += kind == SPRYI_FROM_DEVICE;
    open_memory();
    memcpy(to, from, (size_t)bytes);
    close_memory();
    return SPRY_OK;
}

static spry_status synchronize(int device, void *stream, spry_error *err)
{
    (void)device;
    (void)stream;
    (void)err;
    return SPRY_OK;
}

static spry_status scale(int device, void *y, spry_type type, int64_t length, double beta, void *stream,
                         spry_error *err)
{
    (void)device, (void)stream, (void)err;
    open_memory();
    for (int64_t i = 0; i < length; i++)
        if (type == SPRY_F64)
            ((double *)y)[i] = beta == 0 ? 0 : beta * ((double *)y)[i];
        else
            ((float *)y)[i] = beta == 0 ? 0 : (float)beta * ((float *)y)[i];
    close_memory();
    return SPRY_OK;
}

static spry_status copy_bandwidth(int device, int64_t bytes, double *gbps, spry_error *err)
{
    (void)device, (void)bytes, (void)gbps;
    return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "simulated: no bandwidth");
}

static spry_status enter(int device, int *previous, spry_error *err)
{
    (void)device;
    (void)err;
    *previous = 0;
    return SPRY_OK;
}

static void leave(int previous)
{
    (void)previous;
}

/* ---- y = alpha*op(A)*x + beta*y ------------------------------------------------------------------- */

static int64_t index_at(const void *array, spry_index_type type, int64_t k)
{
    return type == SPRY_I64 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

static double value_at(const void *array, spry_type type, int64_t k)
{
    return type == SPRY_F64 ? ((const double *)array)[k] : (double)((const float *)array)[k];
}

/* y_i = sum + beta*y_i; a y that is overwritten is not read. */
static void put(void *y, spry_type type, int64_t i, double sum, double beta)
{
    if (beta != 0) sum += beta * value_at(y, type, i);
    if (type == SPRY_F64)
        ((double *)y)[i] = sum;
    else
        ((float *)y)[i] = (float)sum;
}

/* The device's own scalars can be read in here alone; the host's anywhere. */
static double scalar_at(const void *scalar, spry_type type)
{
    return scalar ? value_at(scalar, type, 0) : 0;
}

static spry_status run(const spryi_run_args *args, spry_error *err)
{
    (void)err;
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const spry_type type = args->vector_type;
    simulated.products++;
    open_memory();
    const double alpha = scalar_at(args->alpha, type), beta = scalar_at(args->beta, type);
    for (int64_t i = 0; i < a->rows; i++) {
        double sum = 0;
        for (int64_t k = index_at(a->offsets, a->offset_type, i); k < index_at(a->offsets, a->offset_type, i + 1); k++)
            sum += (a->values ? value_at(a->values, type, k) : 1) *
                   value_at(args->x, type, index_at(a->indices, a->index_type, k));
        put(args->y, type, i, alpha * sum, beta);
    }
    close_memory();
    return SPRY_OK;
}

static spry_status run_transposed(const spryi_run_args *args, spry_error *err)
{
    (void)err;
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const spry_type type = args->vector_type;
    simulated.products++;
    open_memory();
    const double alpha = scalar_at(args->alpha, type), beta = scalar_at(args->beta, type);
    for (int64_t j = 0; j < a->cols; j++) put(args->y, type, j, 0, beta);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = index_at(a->offsets, a->offset_type, i); k < index_at(a->offsets, a->offset_type, i + 1); k++)
            put(args->y, type, index_at(a->indices, a->index_type, k),
                alpha * (a->values ? value_at(a->values, type, k) : 1) * value_at(args->x, type, i), 1);
    close_memory();
    return SPRY_OK;
}

static spry_status gather(const spryi_cuda_gather *g, spry_error *err)
{
    (void)err;
    simulated.gathers++;
    open_memory();
    const double beta = scalar_at(g->beta, g->type);
    for (int64_t i = 0; i < g->length; i++) put(g->to, g->type, i, value_at(g->from, g->type, g->places[i]), beta);
    close_memory();
    return SPRY_OK;
}

static const spryi_run_table runs = {{run, run, NULL}, {run, run, NULL}};
static const spryi_run_table transposed = {{run_transposed, run_transposed, NULL},
                                           {run_transposed, run_transposed, NULL}};
static const spryi_cuda_kernel csr_merge = {.name = "csr_merge_cuda", .spmv = &runs};
static const spryi_cuda_kernel csr_scatter = {.name = "csr_scatter_cuda", .spmv_t = &transposed};
static const spryi_cuda_kernel *const kernels[] = {&csr_merge, &csr_scatter};

/* ---- vector work: the CPU's, inside ---------------------------------------------------------------- */

#ifndef SIMULATED_OPS
#define SIMULATED_OPS spryi_vector_ops_cpu
#endif
extern const spryi_vector_ops SIMULATED_OPS;

#define INSIDE(call)                                                                                                   \
    open_memory();                                                                                                     \
    spry_status status = SIMULATED_OPS.call;                                                                           \
    close_memory();                                                                                                    \
    return status

static spry_status start(const spryi_vector_work *w, void *r, void *p, const void *b, const void *q, const void *D,
                         spry_error *err)
{
    INSIDE(start(w, r, p, b, q, D, err));
}
static spry_status dots(const spryi_vector_work *w, const void *p, const void *q, const void *D, spry_error *err)
{
    INSIDE(dots(w, p, q, D, err));
}
static spry_status step(const spryi_vector_work *w, void *x, void *r, void *p, const void *q, const void *D,
                        spry_error *err)
{
    INSIDE(step(w, x, r, p, q, D, err));
}
static spry_status turn(const spryi_vector_work *w, void *x, void *p, const void *r, const void *D, spry_error *err)
{
    INSIDE(turn(w, x, p, r, D, err));
}
static spry_status clear(const spryi_vector_work *w, void *x, spry_error *err)
{
    INSIDE(clear(w, x, err));
}
static spry_status distance(const spryi_vector_work *w, const void *b, const void *q, spry_error *err)
{
    INSIDE(distance(w, b, q, err));
}
static spry_status rank_start(const spryi_vector_work *w, void *z, void *y, const void *s, spry_error *err)
{
    INSIDE(rank_start(w, z, y, s, err));
}
static spry_status rank_step(const spryi_vector_work *w, void *z, void *y_before, const void *y, const void *s,
                             spry_error *err)
{
    INSIDE(rank_step(w, z, y_before, y, s, err));
}
static spry_status rank_finish(const spryi_vector_work *w, void *x, const void *y, spry_error *err)
{
    INSIDE(rank_finish(w, x, y, err));
}

__attribute__((visibility("default"))) const spryi_cuda_plugin *spryi_cuda_plugin_entry(void);
const spryi_cuda_plugin *spryi_cuda_plugin_entry(void)
{
    static spryi_vector_ops ops = {.ahead = SPRYI_MOST_AHEAD,
                                   .start = start,
                                   .dots = dots,
                                   .step = step,
                                   .turn = turn,
                                   .clear = clear,
                                   .distance = distance,
                                   .rank_start = rank_start,
                                   .rank_step = rank_step,
                                   .rank_finish = rank_finish};
    static const spryi_cuda_plugin plugin = {.build_id = SPRYI_BUILD_ID,
                                             .kernels = kernels,
                                             .kernel_count = 2,
                                             .count = count,
                                             .describe = describe,
                                             .allocate = allocate,
                                             .release = release,
                                             .allocate_in_order = allocate,
                                             .release_in_order = release,
                                             .started = started,
                                             .trim = trim,
                                             .open = opened_or_closed,
                                             .close = opened_or_closed,
                                             .clear = clear_memory,
                                             .copy = copy,
                                             .synchronize = synchronize,
                                             .scale = scale,
                                             .gather = gather,
                                             .copy_bandwidth = copy_bandwidth,
                                             .enter = enter,
                                             .leave = leave,
                                             .vector_ops = &ops,
                                             .spgemm = &simulated_spgemm};
    ops.block = SIMULATED_OPS.block;
    ops.most_blocks = SIMULATED_OPS.most_blocks;
    return &plugin;
}
