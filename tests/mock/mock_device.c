#include "mock/mock.h"

#include "base/error.h"
#include "catalogue/catalogue.h"
#include "matrix/assemble.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

mock_state mock;

/* ---- memory that the host cannot touch ----------------------------------------------------------------- */

enum { MOST_BLOCKS = 512 };
static struct {
    void *at;
    size_t bytes;
} memory[MOST_BLOCKS];
static int inside;

static void protect(int access)
{
    for (int b = 0; b < MOST_BLOCKS; b++)
        if (memory[b].at) (void)mprotect(memory[b].at, memory[b].bytes, access);
}

void mock_open_memory(void)
{
    if (inside++ == 0) protect(PROT_READ | PROT_WRITE);
}

void mock_close_memory(void)
{
    if (--inside == 0) protect(PROT_NONE);
}

static spry_status allocate(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                            spry_error *err)
{
    (void)device;
    int slot = 0;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = ((size_t)bytes + page) / page * page;
    while (slot < MOST_BLOCKS && memory[slot].at) slot++;
    void *made = MAP_FAILED;
    if (++mock.allocations != mock.fail_at && slot < MOST_BLOCKS)
        made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of device memory for %s", what);
    memset(made, 0xa5, size); /* no caller may rely on zeros */
    memory[slot].at = *pointer = made;
    memory[slot].bytes = size;
    mock.blocks++;
    if (inside == 0) (void)mprotect(made, size, PROT_NONE);
    return SPRY_OK;
}

/* Runs all queued work, then frees the block. */
static void release(const spryi_device *device, void *pointer)
{
    (void)device;
    if (!pointer) return;
    mock_finish();
    for (int b = 0; b < MOST_BLOCKS; b++) {
        if (memory[b].at != pointer) continue;
        (void)munmap(pointer, memory[b].bytes);
        memory[b].at = NULL;
        mock.blocks--;
        return;
    }
    abort(); /* not a block of this device */
}

/* ---- work that runs later ------------------------------------------------------------------------------- */

/* One queue for all streams. A device may run work in this order. */
enum { MOST_TASKS = 4096 };
static struct {
    void (*run)(void *args);
    void *args;
} tasks[MOST_TASKS];
static int task_count;

void mock_finish(void)
{
    if (task_count == 0) return;
    mock_open_memory();
    for (int t = 0; t < task_count; t++) {
        tasks[t].run(tasks[t].args);
        free(tasks[t].args);
    }
    task_count = 0;
    mock_close_memory();
}

void mock_note(void *stream, int64_t *strays)
{
    *strays += mock.stream && stream != mock.stream;
}

int mock_waits(void)
{
    return task_count;
}

void mock_enqueue(void (*run)(void *args), const void *args, size_t bytes)
{
    if (task_count == MOST_TASKS) mock_finish();
    void *copy = malloc(bytes);
    if (!copy) abort();
    memcpy(copy, args, bytes);
    tasks[task_count].run = run;
    tasks[task_count++].args = copy;
}

typedef struct copy_task {
    void *to;
    const void *from;
    void *staged; /* copy of the host's bytes at the time of the request; NULL: `from` is device memory */
    size_t bytes;
} copy_task;

static void run_copy(void *args)
{
    const copy_task *c = args;
    memmove(c->to, c->staged ? c->staged : c->from, c->bytes);
    free(c->staged);
}

static spry_status copy(const spryi_device *device, void *to, const void *from, int64_t bytes, spryi_copy kind,
                        void *stream, spry_error *err)
{
    (void)device, (void)err;
    copy_task c = {.to = to, .from = from, .bytes = (size_t)bytes};
    if (bytes == 0) return SPRY_OK;
    mock_note(stream, &mock.stray_copies);
    if (kind == SPRYI_FROM_DEVICE) {
        mock.copies_back++;
        mock_finish();
        mock_open_memory();
        memcpy(to, from, (size_t)bytes);
        mock_close_memory();
        return SPRY_OK;
    }
    if (kind == SPRYI_TO_DEVICE) {
        c.staged = malloc((size_t)bytes);
        if (!c.staged) abort();
        memcpy(c.staged, from, (size_t)bytes);
    }
    mock_enqueue(run_copy, &c, sizeof c);
    return SPRY_OK;
}

spry_status mock_summarize_rows(const spryi_device *device, spryi_row_summary *summary, const spry_arrays *csr,
                                int checked, spry_error *err)
{
    (void)device, (void)err;
    *summary = (spryi_row_summary){.sound = 1};
    mock_finish();
    mock_open_memory();
    for (int64_t i = 0; i < csr->rows; i++) {
        const double length = (double)spryi_row_length(csr, i);
        summary->longest = length > summary->longest ? length : summary->longest;
        summary->squares += length * length;
        summary->sound &= length >= 0;
    }
    if (checked) summary->sound &= spryi_offset_of(csr, 0) == 0 && spryi_offset_of(csr, csr->rows) == csr->nnz;
    for (int64_t k = 0; checked && k < csr->nnz; k++) {
        const int64_t column = spryi_index_at(csr->indices, csr->index_type, k);
        summary->sound &= column >= 0 && column < csr->columns;
    }
    mock_close_memory();
    return SPRY_OK;
}

static spry_status gather(const spryi_device *device, const spryi_gather *request, spry_error *err)
{
    (void)device, (void)err;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* multiple threads gather */
    pthread_mutex_lock(&lock);
    mock_finish();
    mock_open_memory();
    for (int64_t n = 0; n < request->count; n++) {
        const int64_t at = request->pieces[n] * SPRYI_PIECE_BYTES, left = request->bytes - at;
        memcpy((char *)request->to + n * SPRYI_PIECE_BYTES, (const char *)request->from + at,
               (size_t)(left < SPRYI_PIECE_BYTES ? left : SPRYI_PIECE_BYTES));
    }
    mock_close_memory();
    mock.gathered += request->count;
    mock.gathers++;
    pthread_mutex_unlock(&lock);
    return SPRY_OK;
}

static spry_status clear_memory(const spryi_device *device, void *pointer, int64_t bytes, spry_error *err)
{
    (void)device, (void)err;
    mock_finish();
    mock_open_memory();
    memset(pointer, 0, (size_t)bytes);
    mock_close_memory();
    return SPRY_OK;
}

static spry_status synchronize(const spryi_device *device, void *stream, spry_error *err)
{
    (void)device, (void)err;
    mock_finish();
    mock.stream_waits += stream != NULL;
    return SPRY_OK;
}

static spry_status finish(const spryi_device *device, spry_error *err)
{
    return synchronize(device, NULL, err);
}

_Thread_local int mock_entered;

static spry_status enter(const spryi_device *device, int *previous, spry_error *err)
{
    (void)device, (void)err;
    *previous = 7;
    mock_entered++;
    return SPRY_OK;
}

static void leave(const spryi_device *device, int previous)
{
    (void)device;
    if (previous != 7 || --mock_entered < 0) abort();
}

/* ---- passes over vectors -------------------------------------------------------------------------------- */

/* alpha or beta: either a value, which was read from the host at the call, or an address on the device. */
typedef struct number {
    double value;
    const void *address;
    spry_type type;
} number;

static number number_of(const void *pointer, spry_type type, int on_device)
{
    number n = {.type = type};
    if (on_device)
        n.address = pointer;
    else
        n.value = pointer ? spryi_value_at(pointer, type, 0) : 0;
    return n;
}

static double value_of(const number *n)
{
    return n->address ? spryi_value_at(n->address, n->type, 0) : n->value;
}

/* Computes y_i = sum + beta*y_i. Does not read y if beta is 0. */
static void put(void *y, spry_type type, int64_t i, double sum, double beta)
{
    if (beta != 0) sum += beta * spryi_value_at(y, type, i);
    spryi_set_value(y, type, i, sum);
}

typedef struct scale_task {
    void *y;
    int64_t length;
    number beta;
} scale_task;

static void run_scale(void *args)
{
    const scale_task *s = args;
    for (int64_t i = 0; i < s->length; i++) put(s->y, s->beta.type, i, 0, s->beta.value);
}

static spry_status scale(const spryi_device *device, void *y, spry_type type, int64_t length, const void *beta,
                         void *stream, spry_error *err)
{
    (void)device, (void)err;
    mock_note(stream, &mock.stray_work);
    const scale_task s = {y, length, number_of(beta, type, 0)};
    mock_enqueue(run_scale, &s, sizeof s);
    return SPRY_OK;
}

typedef struct map_task {
    spryi_vector_map map;
    number beta;
} map_task;

static void run_map(void *args)
{
    const map_task *t = args;
    const spryi_vector_map *m = &t->map;
    const double beta = value_of(&t->beta);
    for (int64_t c = 0; c < m->columns && m->columns > 1; c++)
        for (int64_t i = 0; i < m->length; i++)
            put(m->to, m->type, i * (m->to_stride > 1 ? m->to_stride : 1) + c * m->to_column_stride,
                spryi_value_at(m->from, m->type,
                               i * (m->from_stride > 1 ? m->from_stride : 1) + c * m->from_column_stride),
                beta);
    for (int64_t i = 0; i < m->length && m->columns <= 1; i++) {
        const int64_t p = m->permutation ? m->permutation[i] : i;
        const double factor = m->scaling ? spryi_value_at(m->scaling, m->type, m->scaling_of_to ? i : p) : 1;
        const int64_t to_stride = m->to_stride > 1 ? m->to_stride : 1,
                      from_stride = m->from_stride > 1 ? m->from_stride : 1;
        put(m->to, m->type, i * to_stride, factor * spryi_value_at(m->from, m->type, p * from_stride), beta);
    }
}

static spry_status map(const spryi_device *device, const spryi_vector_map *m, spry_error *err)
{
    (void)device, (void)err;
    const map_task t = {*m, number_of(m->beta, m->type, m->beta_on_device)};
    mock.maps++;
    mock_note(m->stream, &mock.stray_work);
    mock_enqueue(run_map, &t, sizeof t);
    return SPRY_OK;
}

static spry_status copy_bandwidth(const spryi_device *device, int64_t bytes, double *gbps, spry_error *err)
{
    (void)device, (void)bytes, (void)gbps;
    return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "mock: no bandwidth");
}

/* ---- y = alpha*op(A)*x + beta*y -------------------------------------------------------------------------- */

static spry_context *context_of_device; /* last context that looked for the device or was passed to mock_use */

void mock_use(spry_context *context)
{
    context_of_device = context;
}

typedef struct product_task {
    const spryi_format *format;
    void *storage; /* a copy of the format's struct */
    spry_op op;
    const void *x;
    void *y;
    number alpha, beta;
} product_task;

/* Computes y = alpha*op(A)*x + beta*y, entry by entry. */
static void multiply(const spry_arrays *a, const product_task *p)
{
    const spry_type type = p->alpha.type;
    const double alpha = value_of(&p->alpha), beta = value_of(&p->beta);
    const int64_t lines = a->layout == SPRY_CSC ? a->columns : a->rows,
                  rows = p->op == SPRY_TRANSPOSE ? a->columns : a->rows;
    double *sums = calloc((size_t)rows + 1, sizeof *sums);
    if (!sums) abort();
    int64_t line = 0;
    for (int64_t k = 0; k < a->nnz; k++) {
        if (a->layout != SPRY_COO)
            while (line < lines - 1 && spryi_index_at(a->offsets, a->offset_type, line + 1) <= k) line++;
        const int64_t index = spryi_index_at(a->indices, a->index_type, k);
        int64_t i = a->layout == SPRY_COO ? spryi_index_at(a->row_indices, a->index_type, k) : line, j = index;
        if (a->layout == SPRY_CSC) i = index, j = line;
        if (p->op == SPRY_TRANSPOSE) {
            const int64_t column = j;
            j = i;
            i = column;
        }
        const double value = a->values ? spryi_value_at(a->values, a->value_type, k) : 1;
        sums[i] += value * spryi_value_at(p->x, type, j);
    }
    for (int64_t i = 0; i < rows; i++) put(p->y, type, i, alpha == 0 ? 0 : alpha * sums[i], beta);
    free(sums);
}

/* Runs a product. Decodes storages other than the matrix's own layouts first. */
static void run_product(void *args)
{
    const product_task *p = args;
    spry_matrix *csr = NULL;
    product_task as_stored = *p;
    spry_arrays a = *spryi_storage_arrays(p->storage);
    if (!a.offsets && !a.row_indices) {
        if (p->format->to_csr(context_of_device, &csr, p->storage, NULL) != SPRY_OK) abort();
        a = csr->a;
    } else if (strcmp(p->format->name, "csc") == 0) { /* the format stores the transpose as CSR */
        a.layout = SPRY_CSR;
        as_stored.op = p->op == SPRY_TRANSPOSE ? SPRY_NO_TRANSPOSE : SPRY_TRANSPOSE;
    }
    multiply(&a, &as_stored);
    spry_matrix_destroy(csr);
    free(p->storage);
}

static spry_status start_product(const spryi_format *format, const spryi_run_args *args, spry_op op)
{
    product_task p = {
        .format = format,
        .storage = malloc(format->layout.size),
        .op = op,
        .x = args->x,
        .y = args->y,
        .alpha = number_of(args->alpha, args->vector_type, args->scalars_on_device),
        .beta = number_of(args->beta, args->vector_type, args->scalars_on_device),
    };
    if (!p.storage) abort();
    memcpy(p.storage, args->storage, format->layout.size);
    mock.products++;
    mock_note(args->stream, &mock.stray_work);
    mock_enqueue(run_product, &p, sizeof p);
    return SPRY_OK;
}

/* Name of each format, and whether the format stores patterns without values. */
/* clang-format off */
#define EVERY_FORMAT(FORMAT)                                                                                           \
    FORMAT(csr, 1)                                                                                                     \
    FORMAT(csc, 1)                                                                                                     \
    FORMAT(coo, 0)                                                                                                     \
    FORMAT(ell, 0)                                                                                                     \
    FORMAT(sell, 0)                                                                                                    \
    FORMAT(hyb, 0)                                                                                                     \
    FORMAT(scoo, 0)                                                                                                    \
    FORMAT(swept, 1)                                                                                                   \
    FORMAT(bsr, 0)                                                                                                     \
    FORMAT(csr2, 0)                                                                                                    \
    FORMAT(csr3, 0)                                                                                                    \
    FORMAT(packed, 1)                                                                                                  \
    FORMAT(windowed, 1)
/* clang-format on */

#define DEFINE_KERNEL(name_, pattern_)                                                                                 \
    static spry_status run_##name_(const spryi_run_args *args, spry_error *err)                                        \
    {                                                                                                                  \
        (void)err;                                                                                                     \
        return start_product(spryi_find_format(#name_), args, SPRY_NO_TRANSPOSE);                                      \
    }                                                                                                                  \
    static spry_status run_transposed_##name_(const spryi_run_args *args, spry_error *err)                             \
    {                                                                                                                  \
        (void)err;                                                                                                     \
        return start_product(spryi_find_format(#name_), args, SPRY_TRANSPOSE);                                         \
    }                                                                                                                  \
    static const spryi_run_table table_##name_ = {{run_##name_, run_##name_, run_##name_},                             \
                                                  {run_##name_, run_##name_, run_##name_},                             \
                                                  {run_##name_, run_##name_, run_##name_},                             \
                                                  {run_##name_, run_##name_, run_##name_},                             \
                                                  {run_##name_, run_##name_, run_##name_}};                            \
    static const spryi_run_table transposed_##name_ = {{run_transposed_##name_, run_transposed_##name_,                \
                                                        run_transposed_##name_},                                       \
                                                       {run_transposed_##name_, run_transposed_##name_,                \
                                                        run_transposed_##name_}};                                      \
    static const spryi_kernel kernel_##name_ = {.name = #name_ "_plain_mock",                                          \
                                                .format = #name_,                                                      \
                                                .device = "mock",                                                      \
                                                .idea = "entry by entry",                                              \
                                                .source = "tests",                                                     \
                                                .pattern = pattern_,                                                   \
                                                .narrows = SPRYI_NARROWS_FLOATS,                                       \
                                                .spmv = &table_##name_,                                                \
                                                .spmv_t = &transposed_##name_};
EVERY_FORMAT(DEFINE_KERNEL)

#define LIST_KERNEL(name_, pattern_) &kernel_##name_,
static const spryi_kernel *const kernels[] = {EVERY_FORMAT(LIST_KERNEL) & mock_spgemm_kernel, NULL};

const spryi_kernel *mock_kernel_of(const char *format)
{
    for (int k = 0; kernels[k] != &mock_spgemm_kernel; k++)
        if (strcmp(kernels[k]->format, format) == 0) return kernels[k];
    return NULL;
}

/* Allocates an auxiliary block of a kernel. discard frees the block, and aborts if the block does not exist. */
static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    *bytes = 64;
    return request->device->ops->allocate(request->device, auxiliary, *bytes, "auxiliary", err);
}

static void discard(const spryi_device *device, void *auxiliary)
{
    device->ops->release(device, auxiliary);
}

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)request, (void)auxiliary;
    return 8;
}

static int find_kernel(const spryi_device *device, const spryi_kernel *kernel, spryi_kernel_functions *functions,
                       const char **reason)
{
    (void)device;
    *reason = "";
    *functions = (spryi_kernel_functions){.name = kernel->name,
                                          .spmv = kernel->spmv,
                                          .spmv_t = kernel->spmv_t,
                                          .prepare = prepare,
                                          .discard = discard,
                                          .workspace_bytes = workspace_bytes,
                                          .spgemm = &mock_spgemm_phases};
    return 1;
}

/* ---- conversions ------------------------------------------------------------------------------------------- */

/* Builds the device's CSR on the host and moves it to device memory. */
static spry_status convert(spryi_conversion *c, spry_error *err)
{
    spry_matrix *A = NULL;
    void *built = NULL;
    spryi_section sections[SPRYI_MOST_SECTIONS];
    spryi_build_request request = *c->request;
    const spryi_format *format = spryi_find_format(c->request->kernel->format);
    spry_arrays csr = c->csr;
    spry_status status = SPRY_OK;
    csr.device = 0;
    csr.ownership = SPRY_BORROW;
    csr.symmetry = SPRY_GENERAL;
    mock.conversions++;
    mock_finish();
    mock_open_memory();
    SPRYI_TRY(spry_matrix_create(context_of_device, &A, &csr, err));
    request.A = request.csr = A;
    request.cost = &c->cost;
    request.copied = 1;
    request.narrow_type = 0; /* csr has the narrow values */
    SPRYI_TRY(spryi_storage_build(context_of_device, format, &built, &request, err));
    memcpy(c->storage, built, format->layout.size);
    c->cost.borrowed = 0; /* all arrays are allocated */
    const int count = spryi_storage_device_sections(format, c->storage, sections);
    for (int s = 0; s < count; s++) {
        const size_t bytes = (size_t)(sections[s].count * sections[s].item_bytes);
        if (!sections[s].array) continue;
        void *made = NULL;
        SPRYI_TRY(c->device->ops->allocate(c->device, &made, (int64_t)bytes, sections[s].name, err));
        c->made[c->built_count++] = made;
        c->built_bytes += (int64_t)bytes;
        if (bytes > 0) memcpy(made, *sections[s].array, bytes);
        *sections[s].array = made;
    }
done:
    if (built) spryi_storage_destroy(context_of_device, format, built);
    spry_matrix_destroy(A);
    mock_close_memory();
    return status;
}

static const spryi_converter *find_converter(const spryi_device *device, const char *format)
{
    static const spryi_converter converter = {"any", convert};
    (void)device;
    return mock.converts && strcmp(format, "csr") != 0 ? &converter : NULL;
}

static bool is_capturing(void *stream)
{
    (void)stream;
    return mock.captures;
}

/* ---- the driver ------------------------------------------------------------------------------------------ */

const spryi_device_ops mock_ops = {.allocate = allocate,
                                   .release = release,
                                   .allocate_in_order = allocate,
                                   .release_in_order = release,
                                   .clear = clear_memory,
                                   .copy = copy,
                                   .is_capturing = is_capturing,
                                   .gather = gather,
                                   .synchronize = synchronize,
                                   .finish = finish,
                                   .enter = enter,
                                   .leave = leave,
                                   .scale = scale,
                                   .map = map,
                                   .copy_bandwidth = copy_bandwidth,
                                   .find_kernel = find_kernel,
                                   .find_converter = find_converter,
                                   .vector_ops = mock_vector_ops,
                                   .matrix = &mock_matrix,
                                   .spgemm = &mock_spgemm};

static int find(spry_context *context, spryi_device *devices, int most, const void **state, char *reason,
                size_t reason_size)
{
    (void)most, (void)state;
    snprintf(reason, reason_size, "the mock device is absent");
    if (mock.absent) return 0;
    mock_use(context);
    devices->ops = &mock_ops;
    devices->units = 4;
    devices->shared_bytes = 64 << 10;
    devices->memory_bytes = 1 << 30;
    devices->cache_bytes = 1 << 20;
    snprintf(devices->description, sizeof devices->description, "host memory that counts as another device's");
    return 1;
}

spryi_driver mock_driver = {
    .name = "mock",
    .title = "mock device",
    .device_title = "mock",
    .massively_parallel = 1,
    .indices = "32/32 64/32 64/64",
    .kernels = kernels,
    .find = find,
};
