#include "testing.h"

#include "catalogue/catalogue.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/tune.h"

static void *count_allocate(void *user, size_t bytes, size_t alignment)
{
    test_memory *m = user;
    const int64_t call = atomic_fetch_add(&m->calls, 1) + 1;
    if (bytes == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) m->faults++;
    if (m->fail_from > 0 && call >= m->fail_from && call <= m->fail_until) return NULL;
    if (m->limit > 0 && ((int64_t)bytes > m->limit || m->bytes + (int64_t)bytes > m->limit)) return NULL;
    void *pointer = NULL;
    const size_t least = alignment < sizeof(size_t) * 2 ? sizeof(size_t) * 2 : alignment;
    /* the size is stored before the block and compared on release */
    if (posix_memalign(&pointer, least, bytes + least) != 0) return NULL;
    char *block = (char *)pointer + least;
    memset(block, 0xa5, bytes); /* no caller may rely on zeros */
    ((size_t *)(void *)block)[-1] = bytes;
    ((size_t *)(void *)block)[-2] = least;
    m->blocks++;
    const int64_t now = atomic_fetch_add(&m->bytes, (int64_t)bytes) + (int64_t)bytes;
    if (now > m->most_bytes) m->most_bytes = now;
    return block;
}

static void count_release(void *user, void *pointer, size_t bytes)
{
    test_memory *m = user;
    if (!pointer || ((size_t *)pointer)[-1] != bytes) {
        m->faults++;
        return;
    }
    m->blocks--;
    m->bytes -= (int64_t)bytes;
    memset(pointer, 0x5a, bytes); /* no caller may read the block afterwards */
    free((char *)pointer - ((size_t *)pointer)[-2]);
}

spry_context *counted_context(test_memory *memory, int threads)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.threads = threads;
    if (memory) {
        options.allocate = count_allocate;
        options.release = count_release;
        options.user = memory;
    }
    spry_context *context = NULL;
    assert_int_equal(spry_context_create(&context, &options, NULL), SPRY_OK);
    return context;
}

spry_context *context_of(int threads)
{
    return counted_context(NULL, threads);
}

int open_context(void **state)
{
    *state = context_of(2);
    return 0;
}

int close_context(void **state)
{
    const int64_t held = context_bytes(*state);
    spry_context_destroy(*state);
    return held != 0;
}

void fail_call(test_memory *memory, int64_t n, int onwards)
{
    memory->fail_from = n > 0 ? memory->calls + n : 0;
    memory->fail_until = onwards ? INT64_MAX : memory->fail_from;
}

int call_failed(const test_memory *memory)
{
    return memory->fail_from > 0 && memory->calls >= memory->fail_from;
}

/* Returns the number of allocation calls. Sets *failed if an allocation failed. */
static int64_t run_failing(test_work work, const void *input, int threads, int64_t n, int onwards, int *failed)
{
    test_memory m = {0};
    spry_context *context = counted_context(&m, threads);
    const int64_t before = m.calls;
    spry_error err = {0};
    fail_call(&m, n, onwards);
    const spry_status status = work(context, input, &err);
    const int64_t calls = m.calls - before;
    *failed = call_failed(&m);
    if (*failed)
        check_error(status, &err, SPRY_OUT_OF_MEMORY, NULL, __FILE__, __LINE__);
    else if (status != SPRY_OK)
        fail_msg("no allocation failed: status %d, %s", (int)status, err.message);
    if (context_bytes(context) != 0 || m.blocks != 1)
        fail_msg("after allocation %lld: %lld bytes are held in %lld blocks", (long long)n,
                 (long long)context_bytes(context), (long long)m.blocks - 1);
    spry_context_destroy(context);
    assert_true(m.blocks == 0 && m.bytes == 0 && m.faults == 0);
    return calls;
}

int64_t fail_every_allocation(test_work work, const void *input, int threads)
{
    int64_t calls = 0;
    for (int onwards = 0; onwards < 2; onwards++) {
        int failed = 1;
        for (int64_t n = 1; failed; n++) {
            assert_true(n < 1000);
            calls = run_failing(work, input, threads, n, onwards, &failed);
        }
    }
    return calls;
}

void check_error(spry_status got, const spry_error *err, spry_status wanted, const char *argument, const char *file,
                 int line)
{
    const char *fault = NULL;
    if (got != wanted)
        fault = "another status";
    else if (err->status != wanted)
        fault = "the error holds another status";
    else if (argument && strcmp(err->argument, argument) != 0)
        fault = "another argument is blamed";
    else if (strlen(err->message) < 12 || strchr(err->message, '\n'))
        fault = "the message is no sentence on one line";
    if (!fault) return;
    print_error("%s:%d: %s: status %d (%d in the error), wanted %d; argument \"%s\", wanted \"%s\"; message \"%s\"\n",
                file, line, fault, (int)got, (int)err->status, (int)wanted, err->argument, argument ? argument : "any",
                err->message);
    fail();
}

uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

int has_gpu(void)
{
    spry_context *context = context_of(1);
    spry_device_info info = SPRY_INIT(spry_device_info);
    const int found = spry_device_get_info(context, &info, 1, NULL) == SPRY_OK && info.available;
    printf("%s: %s\n", found ? "GPU" : "skipped, no GPU", found ? info.description : info.reason);
    spry_context_destroy(context);
    return found;
}

spry_arrays csr_arrays(int64_t rows, int64_t cols, const int32_t *offsets, const int32_t *columns, const void *values,
                       spry_type type)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_CSR;
    a.rows = rows;
    a.columns = cols;
    a.nnz = offsets[rows];
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = type;
    a.offsets = offsets;
    a.indices = columns;
    a.values = values;
    return a;
}

/* ---- calls that must succeed ---------------------------------------------------------------------------- */

spry_matrix *generate_matrix(spry_context *context, const char *spec)
{
    spry_matrix *A = NULL;
    spry_error err = {0};
    if (spry_matrix_generate(context, &A, spec, NULL, &err) != SPRY_OK) fail_msg("%s: %s", spec, err.message);
    return A;
}

spry_matrix *create_matrix(spry_context *context, const spry_arrays *arrays)
{
    spry_matrix *A = NULL;
    MUST(spry_matrix_create(context, &A, arrays, err));
    return A;
}

spry_matrix *convert_matrix(spry_context *context, const spry_matrix *A, const spry_matrix_options *options)
{
    spry_matrix *B = NULL;
    MUST(spry_matrix_convert(context, &B, NULL, A, options, err));
    return B;
}

spry_status permute_matrix(spry_context *context, spry_matrix **B, const spry_matrix *A, const int64_t *row_perm,
                           const int64_t *col_perm, spry_error *err)
{
    spry_selection rows = SPRY_INIT(spry_selection), columns = SPRY_INIT(spry_selection);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    rows.list = row_perm;
    rows.count = row_perm ? spry_matrix_rows(A) : 0;
    columns.list = col_perm;
    columns.count = col_perm ? spry_matrix_columns(A) : 0;
    options.keep_duplicates = true;
    return spry_matrix_extract(context, B, A, &rows, &columns, &options, err);
}

spry_matrix *borrow_csr(spry_context *context, int64_t rows, int64_t cols, const int32_t *offsets,
                        const int32_t *columns, const double *values)
{
    spry_matrix *A = NULL;
    MUST(spry_matrix_borrow_csr_f64(context, &A, rows, cols, offsets, columns, values, err));
    return A;
}

spry_matrix *read_matrix(spry_context *context, const char *path, const spry_read_options *options)
{
    spry_matrix *A = NULL;
    MUST(spry_matrix_read(context, &A, path, options, err));
    return A;
}

spry_arrays arrays_of(const spry_matrix *A)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    MUST(spry_matrix_get_arrays(A, &a, err));
    return a;
}

spry_spmv_plan *create_plan(spry_context *context, const spry_matrix *A, const spry_spmv_options *options)
{
    spry_spmv_plan *plan = NULL;
    spry_error err = {0};
    if (spry_spmv_plan_create(context, &plan, A, options, &err) != SPRY_OK)
        fail_msg("%s: %s", options && options->format ? options->format : "auto", err.message);
    return plan;
}

spry_spmv_plan_info plan_info(const spry_spmv_plan *plan)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    MUST(spry_spmv_plan_get_info(plan, &info, err));
    return info;
}

void multiply_f64(const spry_spmv_plan *plan, double *y, int64_t y_length, const double *x, int64_t x_length)
{
    MUST(spry_spmv_plan_run(plan, spry_vector_f64(y, y_length), NULL, spry_const_vector_f64(x, x_length), NULL, NULL,
                            err));
}

spry_vector create_vector(spry_context *context, int64_t length, spry_type type, int device)
{
    spry_vector v = {0};
    MUST(spry_vector_create(context, &v, length, type, device, err));
    return v;
}

spry_ordering *create_ordering(spry_context *context, const spry_matrix *A, const spry_ordering_options *options)
{
    spry_ordering *ordering = NULL;
    MUST(spry_ordering_create(context, &ordering, A, options, err));
    return ordering;
}

spry_kernel_info kernel_info(const spry_context *context, int index)
{
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    MUST(spry_kernel_get_info(context, &info, index, err));
    return info;
}

spry_format_info format_info(int index)
{
    spry_format_info info = SPRY_INIT(spry_format_info);
    MUST(spry_format_get_info(&info, index, err));
    return info;
}

int spmv_kernel_count(void)
{
    return spryi_count_kernels(SPRYI_OP_VECTOR, NULL);
}

int spgemm_kernel_count(void)
{
    return spryi_count_kernels(SPRYI_OP_SPGEMM, NULL);
}

spry_status get_spgemm_kernel(const spry_context *context, spry_kernel_info *info, int index, spry_error *err)
{
    return spry_kernel_get_info(context, info, spmv_kernel_count() + index, err);
}

int format_count(void)
{
    spry_format_info info = SPRY_INIT(spry_format_info);
    int count = 0;
    while (spry_format_get_info(&info, count, NULL) == SPRY_OK) count++;
    return count;
}

int generator_count(void)
{
    spry_generator_info info = SPRY_INIT(spry_generator_info);
    int count = 0;
    while (spry_generator_get_info(&info, count, NULL) == SPRY_OK) count++;
    return count;
}

int device_class_count(void)
{
    spry_device_class_info info = SPRY_INIT(spry_device_class_info);
    int count = 0;
    while (spry_device_class_get_info(&info, count, NULL) == SPRY_OK) count++;
    return count;
}

int choice_count(const spry_context *context)
{
    spry_choice_info info = SPRY_INIT(spry_choice_info);
    int count = 0;
    while (spry_choice_get_info(context, &info, count, NULL) == SPRY_OK) count++;
    return count;
}

spry_matrix *multiply_matrices(spry_context *context, const spry_matrix *A, const spry_matrix *B,
                               const spry_spgemm_options *options)
{
    return multiply_with_info(context, NULL, A, B, options);
}

spry_matrix *multiply_with_info(spry_context *context, spry_spgemm_info *info, const spry_matrix *A,
                                const spry_matrix *B, const spry_spgemm_options *options)
{
    spry_matrix *C = NULL;
    MUST(spry_spgemm(context, &C, info, A, B, options, err));
    return C;
}

spry_spgemm_plan *create_spgemm_plan(spry_context *context, const spry_matrix *A, const spry_matrix *B,
                                     const spry_spgemm_options *options)
{
    spry_spgemm_plan *plan = NULL;
    MUST(spry_spgemm_plan_create(context, &plan, A, B, options, err));
    return plan;
}

static spry_context_info info_of(const spry_context *context)
{
    spry_context_info info = SPRY_INIT(spry_context_info);
    assert_int_equal(spry_context_get_info(context, &info, NULL), SPRY_OK);
    return info;
}

int64_t context_bytes(const spry_context *context)
{
    return info_of(context).bytes;
}

int64_t context_peak_bytes(const spry_context *context)
{
    return info_of(context).peak_bytes;
}

int64_t context_cached_bytes(const spry_context *context)
{
    return info_of(context).cached_bytes;
}

int context_threads(const spry_context *context)
{
    return info_of(context).threads;
}

spry_status create_groups(spry_context *context, spry_ordering **ordering, const spry_groups *groups, spry_error *err)
{
    spry_ordering_options options = SPRY_INIT(spry_ordering_options);
    options.groups = groups;
    return spry_ordering_create(context, ordering, NULL, &options, err);
}
