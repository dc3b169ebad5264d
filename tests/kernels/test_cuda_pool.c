/*
 * The pool of device memory. Freed memory is kept and released as documented. A block is not reused while kernels of
 * any stream may read it. Kept memory never makes an allocation fail. Skipped without a GPU, and without a pool
 * (SPRY_CUDA_POOL=off). The GPU must be idle.
 */
#include "cuda_memory.h"
#include "cuda_support.h"
#include "spry/cuda.h"
#include "trials.h"

#include <pthread.h>

static void *allocate(const spry_context *context, int64_t bytes)
{
    void *data = NULL;
    MUST(spry_device_allocate(context, &data, 1, bytes, err));
    return data;
}

static int has_pools(void)
{
    int supported = 0;
    const char *choice = getenv("SPRY_CUDA_POOL");
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    return supported && !(choice && strcmp(choice, "off") == 0);
}

/* Tests a size that fits into the pool's blocks, and a size larger than these blocks. */
static void kept_and_given_back(void **state)
{
    static const int64_t sizes[] = {16 * MIB, 256 * MIB};
    for (int n = 0; n < 2; n++) {
        const int64_t bytes = sizes[n];
        spry_context *context = context_of(1), *other = context_of(1);
        assert_true(spry_device_count(other) > 1); /* the plug-in is in use from here on */
        spry_device_free(context, 1, allocate(context, MIB));
        (void)spry_context_trim(context);
        const int64_t before = free_memory();
        void *block = allocate(context, bytes);
        const int64_t with = free_memory();
        assert_true(before - with >= bytes);
        assert_int_equal(spry_context_trim(context), 0); /* the block is in use */
        spry_device_free(context, 1, block);
        assert_int_equal(free_memory(), with); /* the pool keeps the block */
        spry_device_free(context, 1, allocate(context, bytes - MIB));
        assert_int_equal(free_memory(), with); /* a smaller block reuses its memory */
        const int64_t cached = context_cached_bytes(context);
        const int64_t freed = spry_context_trim(context);
        if (freed < bytes || freed > cached)
            fail_msg("%lld bytes kept, %lld said to be, %lld given back", (long long)bytes, (long long)cached,
                     (long long)freed);
        assert_int_equal(context_cached_bytes(context), 0);
        assert_int_equal(free_memory(), before);
        assert_int_equal(spry_context_trim(context), 0);
        spry_device_free(context, 1, allocate(context, bytes));
        spry_context_destroy(context);
        assert_true(before - free_memory() >= bytes); /* the pool keeps memory while `other` exists */
        spry_context_destroy(other);
        assert_int_equal(free_memory(), before);
    }
}

/* A context without caches keeps nothing, and does not use memory that other contexts keep. */
static void switched_off(void **state)
{
    static const int64_t sizes[] = {16 * MIB, 256 * MIB};
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_context *context = NULL, *other = context_of(1);
    options.no_caches = 1;
    assert_int_equal(spry_context_create(&context, &options, NULL), SPRY_OK);
    spry_device_free(context, 1, allocate(context, MIB));
    for (int n = 0; n < 2; n++) {
        spry_device_free(other, 1, allocate(other, sizes[n]));
        const int64_t before = free_memory(), cached = context_cached_bytes(other);
        void *block = allocate(context, sizes[n]);
        assert_true(before - free_memory() >= sizes[n]);
        spry_device_free(context, 1, block);
        assert_int_equal(free_memory(), before);
        assert_int_equal(context_cached_bytes(other), cached);
        (void)spry_context_trim(other);
    }
    spry_context_destroy(context);
    spry_context_destroy(other);
}

/* At most a quarter of the device memory is kept after all blocks are freed. */
static void bounded(void **state)
{
    size_t unused = 0, all = 0;
    spry_context *context = context_of(1);
    spry_device_free(context, 1, allocate(context, MIB));
    (void)spry_context_trim(context);
    const int64_t before = free_memory();
    OK(cudaMemGetInfo(&unused, &all));
    const int64_t share = (int64_t)all / 4, block = share / 8;
    void *blocks[16];
    int count = 0;
    while (count < 16 && free_memory() > block + share / 16) blocks[count++] = allocate(context, block);
    for (int b = 0; b < count; b++) spry_device_free(context, 1, blocks[b]);
    assert_true(before - free_memory() <= share);
    spry_context_destroy(context);
    assert_int_equal(free_memory(), before);
}

static void aligned(void **state)
{
    enum { BLOCKS = 64 };
    spry_context *context = context_of(1);
    void *blocks[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) blocks[b] = allocate(context, 1 + b * 37);
    for (int b = 0; b < BLOCKS; b++) {
        assert_int_equal((uintptr_t)blocks[b] % 256, 0); /* cudaMalloc's promise */
        spry_device_free(context, 1, blocks[b]);
    }
    spry_context_destroy(context);
}

/*
 * An allocation does not fail because the pool keeps memory in small pieces. The new block needs three quarters of the
 * pieces' bytes, and all other device memory is in use.
 */
static void pieces_serve(void **state)
{
    enum { PIECES = 64, PIECE = 4 * MIB };
    spry_context *context = context_of(1);
    void *pieces[PIECES], *hog[64];
    int hogs = 0;
    for (int b = 0; b < PIECES; b++) pieces[b] = allocate(context, PIECE);
    for (size_t size = (size_t)free_memory(); size >= MIB && hogs < 64;) {
        if (cudaMalloc(&hog[hogs], size) == cudaSuccess) {
            hogs++;
            continue;
        }
        (void)cudaGetLastError();
        size /= 2;
    }
    for (int b = 0; b < PIECES; b++) spry_device_free(context, 1, pieces[b]);
    void *block = allocate(context, (int64_t)PIECES / 4 * 3 * PIECE); /* a large block, larger than every piece */
    spry_device_free(context, 1, block);
    while (hogs > 0) OK(cudaFree(hog[--hogs]));
    spry_context_destroy(context);
}

/* Destroys a plan during its runs in a non-blocking stream, then overwrites its memory. */
static void freed_under_way(void **state)
{
    enum { RUNS = 300, BLOCKS = 48, SIDE = 1000, ROWS = SIDE * SIDE };
    static const char *const kernels[] = {"csr_merge_cuda", "ell_slots_cuda", "coo_segmented_cuda"};
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "gen:grid5,x=1000,y=1000");
    double *expected = malloc(ROWS * sizeof *expected), *found = malloc(ROWS * sizeof *found);
    if (!expected || !found) abort();
    for (int i = 0; i < ROWS; i++) expected[i] = 1 + i % 7;
    spry_vector x = {.data = allocate(context, ROWS * 8), .length = ROWS, .type = SPRY_F64, .device = 1};
    spry_vector y = {.data = allocate(context, ROWS * 8), .length = ROWS, .type = SPRY_F64, .device = 1};
    OK(cudaMemcpy((void *)(uintptr_t)x.data, expected, ROWS * 8, cudaMemcpyHostToDevice));
    spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options);
    cudaStream_t stream, junk;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&junk, cudaStreamNonBlocking));
    o.stream = stream;
    for (int k = 0; k < 3; k++) {
        spry_spmv_plan *plan = gpu_plan(context, A, kernels[k], SPRY_NO_TRANSPOSE, 1);
        assert_int_equal(spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, &o, NULL), SPRY_OK);
        OK(cudaStreamSynchronize(stream));
        OK(cudaMemcpy(expected, y.data, ROWS * 8, cudaMemcpyDeviceToHost));
        for (int r = 0; r < RUNS; r++)
            assert_int_equal(spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, &o, NULL), SPRY_OK);
        spry_spmv_plan_destroy(plan);
        void *blocks[BLOCKS];
        for (int b = 0; b < BLOCKS; b++) {
            const int64_t bytes = (int64_t)(1 + b % 16) * 4 * MIB;
            blocks[b] = allocate(context, bytes);
            OK(cudaMemsetAsync(blocks[b], 0xff, (size_t)bytes, junk));
        }
        OK(cudaDeviceSynchronize());
        OK(cudaMemcpy(found, y.data, ROWS * 8, cudaMemcpyDeviceToHost));
        for (int b = 0; b < BLOCKS; b++) spry_device_free(context, 1, blocks[b]);
        if (memcmp(found, expected, ROWS * 8) != 0) fail_msg("%s: memory was handed on too early", kernels[k]);
    }
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(junk));
    spry_device_free(context, 1, (void *)(uintptr_t)x.data);
    spry_device_free(context, 1, y.data);
    spry_matrix_destroy(A);
    free(expected);
    free(found);
    spry_context_destroy(context);
}

enum { ROTATIONS = 400, MOST_BYTES = 48 * MIB };

/* A thread with its own context. While it holds a block, no other thread gets the block. */
static void *one_thread(void *number)
{
    const unsigned own = (unsigned)(uintptr_t)number;
    unsigned state = own;
    spry_context *context = context_of(1);
    unsigned char *host = malloc(MOST_BYTES);
    cudaStream_t stream;
    intptr_t wrong = !host || cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
    for (int pass = 0; pass < ROTATIONS && !wrong; pass++) {
        void *data = NULL;
        state = state * 1103515245u + 12345u;
        const size_t bytes = 1 + state / 7 % (pass % 8 ? MOST_BYTES / 16 : MOST_BYTES);
        if (spry_device_allocate(context, &data, 1, (int64_t)bytes, NULL) != SPRY_OK) wrong = 1;
        const int fill = (int)(own * 16 + (unsigned)pass % 16);
        if (!wrong) wrong |= cudaMemsetAsync(data, fill, bytes, stream) != cudaSuccess;
        if (!wrong) wrong |= cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream) != cudaSuccess;
        if (!wrong) wrong |= cudaStreamSynchronize(stream) != cudaSuccess;
        for (size_t i = 0; i < bytes && !wrong; i += 509) wrong = host[i] != fill;
        spry_device_free(context, 1, data);
        if (pass % 64 == 63) (void)spry_context_trim(context);
    }
    if (host) (void)cudaStreamDestroy(stream);
    free(host);
    spry_context_destroy(context);
    return (void *)wrong;
}

static void threads(void **state)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    for (uintptr_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, one_thread, (void *)(t + 1)), 0);
    for (int t = 0; t < THREADS; t++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(thread[t], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kept_and_given_back),
                                       cmocka_unit_test(switched_off),
                                       cmocka_unit_test(bounded),
                                       cmocka_unit_test(aligned),
                                       cmocka_unit_test(pieces_serve),
                                       cmocka_unit_test(freed_under_way),
                                       cmocka_unit_test(threads)};
    if (!has_gpu() || !has_pools()) return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
