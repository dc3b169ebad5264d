/*
 * Device memory and the current device. Out of memory is a status, and nothing leaks. A matrix in device memory is
 * planned without a copy of its values. The caller's current device is unchanged. Needs the CUDA run-time; skipped
 * without a GPU. The GPU must be idle, because free memory is compared.
 */
#include "cuda_memory.h"
#include "cuda_support.h"
#include "reference.h"
#include "spry/cuda.h"
#include "spry/spgemm.h"
#include "spry/tune.h"
#include "trials.h"

/* Blocks that use up the device memory. */
typedef struct hog {
    void *blocks[256];
    int count;
} hog;

/* Allocates all but `left` bytes, in ever smaller blocks. */
static void take_memory(hog *h, int64_t left)
{
    void *kept = NULL;
    if (left > 0) OK(cudaMalloc(&kept, (size_t)left));
    for (size_t size = (size_t)free_memory(); size >= MIB && h->count < 256;) {
        if (cudaMalloc(&h->blocks[h->count], size) == cudaSuccess) {
            h->count++;
            continue;
        }
        (void)cudaGetLastError();
        size /= 2;
    }
    OK(cudaFree(kept));
}

static void give_back(hog *h)
{
    while (h->count > 0) OK(cudaFree(h->blocks[--h->count]));
}

/* A kernel's plan fails until enough memory is free. Each failure returns the status and leaks nothing. */
static void starve(spry_context *context, const spry_matrix *A, const char *kernel, spry_op op)
{
    enum { STEP = 4 * MIB, MOST = 512 * MIB, SLACK = 4 * MIB }; /* SLACK: bytes that the driver may keep allocated */
    spry_spmv_options options = gpu_options(kernel, op, 0);
    spry_spmv_plan_destroy(gpu_plan(context, A, kernel, op, 0)); /* loads the kernels */
    (void)spry_context_trim(context);                            /* otherwise the plan could reuse this memory */
    const int64_t before = free_memory(), held = context_bytes(context);
    int failures = 0, fits = 0;
    for (int64_t left = 0; left < MOST && !fits; left += left < 8 * STEP ? STEP : left / 8) {
        hog h = {.count = 0};
        spry_error err = SPRY_ERROR_INIT;
        spry_spmv_plan *plan = NULL;
        take_memory(&h, left);
        spry_status status = spry_spmv_plan_create(context, &plan, A, &options, &err);
        give_back(&h);
        if (status != SPRY_OK && status != SPRY_OUT_OF_MEMORY) fail_msg("%s: %s", kernel, err.message);
        fits = status == SPRY_OK;
        failures += !fits;
        assert_true(fits == (plan != NULL));
        if (!fits) assert_non_null(strstr(err.message, "memory"));
        spry_spmv_plan_destroy(plan);
        (void)spry_context_trim(context);
        assert_int_equal(context_bytes(context), held);
        if (free_memory() < before - SLACK)
            fail_msg("%s, %lld bytes left: %lld bytes leaked", kernel, (long long)left,
                     (long long)(before - free_memory()));
    }
    if (!fits || failures == 0)
        fail_msg("%s: %d failures, the last plan %s", kernel, failures, fits ? "fits" : "does not");
}

static void out_of_device_memory(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "gen:grid5,x=600,y=600");
    hog most = {.count = 0};
    int64_t before = free_memory();
    int index = 0;
    const int64_t room_for_tests = (int64_t)1 << 30;
    if (before > room_for_tests) { /* occupies all but 1 GiB, so that starve has less to fill */
        OK(cudaMalloc(&most.blocks[0], (size_t)(before - room_for_tests)));
        most.count = 1;
    }
    for (const char *kernel; (kernel = next_kernel(context, SPRY_NO_TRANSPOSE, 0, &index));)
        starve(context, A, kernel, SPRY_NO_TRANSPOSE);
    index = 0;
    for (const char *kernel; (kernel = next_kernel(context, SPRY_TRANSPOSE, 0, &index));)
        starve(context, A, kernel, SPRY_TRANSPOSE);
    give_back(&most);
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

static void too_much_at_once(void **state)
{
    spry_context *context = context_of(1);
    spry_error err = SPRY_ERROR_INIT;
    void *data = NULL;
    assert_int_equal(spry_device_allocate(context, &data, 1, MIB, NULL), SPRY_OK);
    spry_device_free(context, 1, data);
    data = NULL;
    (void)spry_context_trim(context);
    int64_t before = free_memory();
    assert_int_equal(spry_device_allocate(context, &data, 1, (int64_t)1 << 50, &err), SPRY_OUT_OF_MEMORY);
    assert_null(data);
    assert_int_equal(err.value, (int64_t)1 << 50);
    assert_int_equal(free_memory(), before);
    assert_int_equal(spry_device_allocate(context, &data, 1, MIB, NULL), SPRY_OK); /* the device still works */
    spry_device_free(context, 1, data);
    spry_context_destroy(context);
}

/* 64 MB of columns and 128 MB of values. A plan in csr copies neither. */
static void matrix_in_device_memory(void **state)
{
    enum { ROWS = 1 << 20, PER_ROW = 16 };
    const int64_t nnz = (int64_t)ROWS * PER_ROW;
    spry_context *context = context_of(2);
    int32_t *offsets = malloc((ROWS + 1) * sizeof *offsets), *columns = malloc((size_t)nnz * sizeof *columns);
    double *values = malloc((size_t)nnz * sizeof *values), *y = malloc(ROWS * sizeof *y);
    if (!offsets || !columns || !values || !y) abort();
    for (int64_t i = 0; i <= ROWS; i++) offsets[i] = (int32_t)(i * PER_ROW);
    for (int64_t k = 0; k < nnz; k++) {
        columns[k] = (int32_t)((k / PER_ROW + k % PER_ROW) % ROWS);
        values[k] = (double)(k % 5);
    }
    void *device[3];
    OK(cudaMalloc(&device[0], (ROWS + 1) * sizeof *offsets));
    OK(cudaMalloc(&device[1], (size_t)nnz * sizeof *columns));
    OK(cudaMalloc(&device[2], (size_t)nnz * sizeof *values));
    OK(cudaMemcpy(device[0], offsets, (ROWS + 1) * sizeof *offsets, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(device[1], columns, (size_t)nnz * sizeof *columns, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(device[2], values, (size_t)nnz * sizeof *values, cudaMemcpyHostToDevice));
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_CSR;
    a.rows = a.columns = ROWS;
    a.nnz = nnz;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = SPRY_F64;
    a.offsets = device[0];
    a.indices = device[1];
    a.values = device[2];
    a.device = 1;
    spry_matrix *A = create_matrix(context, &a);
    double *ones = malloc(ROWS * sizeof *ones);
    if (!ones) abort();
    for (int64_t j = 0; j < ROWS; j++) ones[j] = 1;
    static const char *const kernels[] = {"csr_merge_cuda", "csr_vector_cuda", "csr_scalar_cuda"};
    for (int k = 0; k < 3; k++) {
        spry_spmv_plan_destroy(gpu_plan(context, A, kernels[k], SPRY_NO_TRANSPOSE, 0)); /* loads the kernels */
        (void)spry_context_trim(context);
        int64_t before = free_memory(), host = context_peak_bytes(context);
        spry_spmv_plan *plan = gpu_plan(context, A, kernels[k], SPRY_NO_TRANSPOSE, 0);
        assert_true(before - free_memory() < 40 * MIB); /* the plan allocates only x, y and row indices */
        assert_true(host < 40 * MIB);
        assert_int_equal(spry_spmv_plan_run(plan, (spry_vector){.data = y, .length = ROWS, .type = SPRY_F64}, NULL,
                                            (spry_const_vector){.data = ones, .length = ROWS, .type = SPRY_F64}, NULL,
                                            NULL, NULL),
                         SPRY_OK);
        for (int64_t i = 0; i < ROWS; i++) {
            double sum = 0;
            for (int64_t e = 0; e < PER_ROW; e++) sum += values[i * PER_ROW + e];
            assert_true(y[i] == sum);
        }
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    for (int d = 0; d < 3; d++) OK(cudaFree(device[d]));
    free(offsets);
    free(columns);
    free(values);
    free(ones);
    free(y);
    spry_context_destroy(context);
}

/*
 * Runs every public call that works on GPU `device` (library index) while `current` (CUDA index) is the caller's
 * device.
 */
static void stays_current(int device, int current)
{
    char name[32];
    snprintf(name, sizeof name, "cuda:%d", device - 1);
    spry_context *context = context_of(1);
    problem p = problem_make(SPRY_F64, 1);
    spry_matrix *A = problem_matrix(context, &p);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = NULL;
    void *data = NULL, *x = problem_x(&p, SPRY_NO_TRANSPOSE, 1, 0), *y = problem_x(&p, SPRY_TRANSPOSE, 1, 0);
    spry_vector xs = {.data = x, .length = p.cols, .type = SPRY_F64},
                ys = {.data = y, .length = p.rows, .type = SPRY_F64};
    int now = -1;
#define STAYS(call)                                                                                                    \
    do {                                                                                                               \
        OK(cudaSetDevice(current));                                                                                    \
        call;                                                                                                          \
        OK(cudaGetDevice(&now));                                                                                       \
        if (now != current) fail_msg("%s: the current device became %d, was %d", #call, now, current);                 \
    } while (0)
    spry_device_info info = SPRY_INIT(spry_device_info);
    STAYS(assert_int_equal(spry_device_get_info(context, &info, device, NULL), SPRY_OK));
    STAYS(assert_int_equal(spry_device_allocate(context, &data, device, 4096, NULL), SPRY_OK));
    STAYS(assert_int_equal(spry_device_copy(context, data, device, x, 0, 4096, NULL, NULL), SPRY_OK));
    STAYS(assert_int_equal(spry_device_synchronize(context, device, NULL, NULL), SPRY_OK));
    STAYS(spry_device_free(context, device, data));
    options.device = device;
    static const char *const formats[] = {"csr", "coo", "ell", "sell", "hyb", "scoo", "bsr", "csr2", "csr3"};
    options.memory_limit_bytes = (int64_t)1 << 30;
    options.allow_nondeterministic = 1;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        options.format = formats[f];
        STAYS(assert_int_equal(spry_spmv_plan_create(context, &plan, A, &options, NULL), SPRY_OK));
        STAYS(
            assert_int_equal(spry_spmv_plan_run(plan, ys, NULL, spry_vector_as_const(xs), NULL, NULL, NULL), SPRY_OK));
        STAYS(assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK));
        STAYS(spry_spmv_plan_destroy(plan));
    }
    STAYS(assert_int_equal(spry_device_allocate(context, &data, device, (int64_t)1 << 50, NULL), SPRY_OUT_OF_MEMORY));
#undef STAYS
    OK(cudaSetDevice(0));
    spry_matrix_destroy(A);
    problem_free(&p);
    free(x);
    free(y);
    spry_context_destroy(context);
}

static void current_device(void **state)
{
    stays_current(1, 0);
}

/* Uses each of two GPUs while each of them is current. */
static void other_current_device(void **state)
{
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    if (count < 2) {
        printf("skipped, one GPU: whether another stays current cannot be told\n");
        skip();
    }
    for (int device = 1; device <= 2; device++)
        for (int current = 0; current < 2; current++) stays_current(device, current);
}

/* ---- memory hooks ------------------------------------------------------------------------------------------- */

enum { MOST_HANDED_OUT = 256 };

typedef struct handed_out {
    struct {
        void *at;
        int64_t bytes;
    } block[MOST_HANDED_OUT];
    int64_t calls, held, held_bytes, faults;
} handed_out;

static int current_is(int device)
{
    int now = -1;
    return cudaGetDevice(&now) == cudaSuccess && now == device - 1;
}

static void *hook_allocate(void *user, int device, int64_t bytes)
{
    handed_out *g = user;
    void *made = NULL;
    int b = 0;
    while (b < MOST_HANDED_OUT && g->block[b].at) b++;
    g->calls++;
    g->faults += device != 1 || bytes < 1 || !current_is(device) || b == MOST_HANDED_OUT;
    if (b == MOST_HANDED_OUT || cudaMalloc(&made, (size_t)bytes) != cudaSuccess) return NULL;
    g->block[b].at = made;
    g->block[b].bytes = bytes;
    g->held++;
    g->held_bytes += bytes;
    return made;
}

/*
 * Overwrites freed memory immediately in a non-blocking stream: a kernel that still reads the memory gives wrong
 * results.
 */
static void hook_release(void *user, int device, void *pointer, int64_t bytes)
{
    handed_out *g = user;
    cudaStream_t stream = NULL;
    int b = 0;
    while (b < MOST_HANDED_OUT && g->block[b].at != pointer) b++;
    if (b == MOST_HANDED_OUT || g->block[b].bytes != bytes || device != 1 || !current_is(device)) {
        g->faults++;
        return;
    }
    g->faults += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
    g->faults += cudaMemsetAsync(pointer, 0xff, (size_t)bytes, stream) != cudaSuccess;
    g->faults += cudaStreamSynchronize(stream) != cudaSuccess;
    (void)cudaStreamDestroy(stream);
    (void)cudaFree(pointer);
    g->block[b].at = NULL;
    g->held--;
    g->held_bytes -= bytes;
}

static spry_matrix *moved_to_gpu(spry_context *context, const spry_matrix *A, void **blocks)
{
    spry_arrays a = arrays_of(A);
    const void **arrays[] = {&a.offsets, &a.indices, &a.values};
    const int64_t bytes[] = {(a.rows + 1) * (int64_t)spryi_index_type_bytes(a.offset_type),
                             a.nnz * (int64_t)spryi_index_type_bytes(a.index_type),
                             a.nnz * (int64_t)spry_type_bytes(a.value_type)};
    for (int n = 0; n < 3; n++) {
        assert_int_equal(spry_device_allocate(context, &blocks[n], 1, bytes[n], NULL), SPRY_OK);
        assert_int_equal(spry_device_copy(context, blocks[n], 1, *arrays[n], 0, bytes[n], NULL, NULL), SPRY_OK);
        *arrays[n] = blocks[n];
    }
    a.device = 1;
    a.ownership = SPRY_BORROW;
    return create_matrix(context, &a);
}

/* Builds a plan, on the GPU if possible, runs it with device and with host vectors, and destroys it during a run. */
static void hooked_plan(spry_context *context, const spry_matrix *A, const char *kernel, spry_op op)
{
    const int64_t n = spry_matrix_rows(A);
    double *expected = calloc((size_t)n, sizeof *expected), *found = calloc((size_t)n, sizeof *found);
    if (!expected || !found) abort();
    spry_vector x = create_vector(context, n, SPRY_F64, 1);
    spry_vector y = create_vector(context, n, SPRY_F64, 1);
    for (int64_t i = 0; i < n; i++) found[i] = (double)(1 + i % 7);
    assert_int_equal(spry_device_copy(context, x.data, 1, found, 0, n * 8, NULL, NULL), SPRY_OK);
    for (int vectors = 0; vectors < 2; vectors++) {
        spry_spmv_plan *plan = gpu_plan(context, A, kernel, op, vectors);
        spry_vector here = spry_vector_f64(expected, n);
        spry_const_vector from = spry_const_vector_f64(found, n);
        assert_int_equal(spry_spmv_plan_run(plan, vectors ? y : here, NULL, vectors ? spry_vector_as_const(x) : from,
                                            NULL, NULL, NULL),
                         SPRY_OK);
        spry_spmv_plan_destroy(plan);
    }
    assert_int_equal(spry_device_copy(context, found, 0, y.data, 1, n * 8, NULL, NULL), SPRY_OK);
    for (int64_t i = 0; i < n; i++)
        if (found[i] != expected[i]) fail_msg("%s: row %lld differs", kernel, (long long)i);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &y);
    free(expected);
    free(found);
}

static void hooks_have_all(void **state)
{
    handed_out g = {.calls = 0};
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_context *context = NULL;
    spry_matrix *moved = NULL;
    void *blocks[3];
    spry_device_hooks hooks = SPRY_INIT(spry_device_hooks);
    hooks.allocate = hook_allocate;
    hooks.release = hook_release;
    hooks.user = &g;
    options.device_hooks = &hooks;
    assert_int_equal(spry_context_create(&context, &options, NULL), SPRY_OK);
    spry_matrix *A = generate_matrix(context, "gen:laplace5,x=150,y=150");
    moved = moved_to_gpu(context, A, blocks);
    assert_int_equal(g.held, 3);
    for (int op = 0; op < 2; op++) {
        int index = 0;
        for (const char *kernel; (kernel = next_kernel(context, (spry_op)op, 1, &index));) {
            const int64_t calls = g.calls;
            hooked_plan(context, A, kernel, (spry_op)op);
            hooked_plan(context, moved, kernel, (spry_op)op);
            if (g.calls < calls + 8 || g.held != 3 || g.faults > 0)
                fail_msg("%s: %lld calls, %lld blocks held, %lld faults", kernel, (long long)(g.calls - calls),
                         (long long)g.held, (long long)g.faults);
        }
    }
    spry_spgemm_options product = SPRY_INIT(spry_spgemm_options);
    spry_matrix *C = NULL;
    product.device = product.result_device = 1;
    for (int drops = 0; drops < 2; drops++) {
        product.drop_zeros = drops == 1;
        C = multiply_matrices(context, moved, A, &product);
        assert_true(g.held > 3);
        spry_matrix_destroy(C);
        assert_int_equal(g.held, 3);
    }
    double gbps = 0;
    assert_int_equal(spry_device_measure_copy(context, &gbps, 1, NULL), SPRY_OK);
    assert_int_equal(context_cached_bytes(context), 0); /* the library's own pool is not used */
    spry_matrix_destroy(moved);
    for (int n = 0; n < 3; n++) spry_device_free(context, 1, blocks[n]);
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
    assert_int_equal(g.held, 0);
    assert_int_equal(g.faults, 0);
}

/*
 * For plans of a pattern in device memory, owned_bytes is at least the number of bytes that the hooks allocated. These
 * bytes include the array of ones that stands for the values.
 */
static void owned_bytes_of_patterns(void **state)
{
    handed_out g = {.calls = 0};
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_context *context = NULL;
    spry_matrix *moved = NULL;
    void *blocks[3];
    int index = 0;
    spry_device_hooks hooks = SPRY_INIT(spry_device_hooks);
    hooks.allocate = hook_allocate;
    hooks.release = hook_release;
    hooks.user = &g;
    options.device_hooks = &hooks;
    assert_int_equal(spry_context_create(&context, &options, NULL), SPRY_OK);
    spry_matrix *A = generate_matrix(context, "gen:uniform,rows=3000,degree=5");
    moved = moved_to_gpu(context, A, blocks);
    spry_arrays a = arrays_of(moved);
    a.value_type = SPRY_PATTERN;
    a.values = NULL;
    a.ownership = SPRY_BORROW;
    spry_matrix *pattern = create_matrix(context, &a);
    enum { EMPTY_ARRAYS = 8 }; /* each allocates one byte */
    const int64_t before = g.held_bytes;
    for (const char *kernel; (kernel = next_kernel(context, SPRY_NO_TRANSPOSE, 0, &index));) {
        spry_spmv_plan *plan = gpu_plan(context, pattern, kernel, SPRY_NO_TRANSPOSE, 1);
        spry_spmv_plan_info info = plan_info(plan);
        if (g.held_bytes - before > info.owned_bytes + EMPTY_ARRAYS)
            fail_msg("%s: %lld bytes were allocated, %lld are told", kernel, (long long)(g.held_bytes - before),
                     (long long)info.owned_bytes);
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(moved);
    spry_matrix_destroy(pattern);
    for (int n = 0; n < 3; n++) spry_device_free(context, 1, blocks[n]);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_device_memory),    cmocka_unit_test(too_much_at_once),
        cmocka_unit_test(matrix_in_device_memory), cmocka_unit_test(current_device),
        cmocka_unit_test(other_current_device),    cmocka_unit_test(hooks_have_all),
        cmocka_unit_test(owned_bytes_of_patterns),
    };
    if (!has_gpu()) return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
