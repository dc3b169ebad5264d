/* Tests of large memory blocks that a context keeps for reuse. The reuse must have no other effect on callers. */
#include "support.h"

#include "base/context.h"
#include "base/memory.h"
#include "spry/io.h"

enum { MB = 1 << 20 };

static void *take(spry_context *context, int64_t bytes)
{
    void *block = NULL;
    spry_error err = {0};
    assert_int_equal(spryi_allocate(context, &block, bytes, 1, "test", &err), SPRY_OK);
    memset(block, 0x5a, (size_t)bytes);
    return block;
}

/* Returns 1 if contexts keep blocks. With AddressSanitizer they do not. */
static int keeps(void)
{
    spry_context *context = context_of(1);
    spryi_release(context, take(context, 16 * MB));
    int kept = spry_context_trim(context) > 0;
    spry_context_destroy(context);
    return kept;
}

static void a_block_serves_again(void **state)
{
    if (!keeps()) skip();
    spry_context *context = context_of(1);
    void *first = take(context, 16 * MB);
    const int64_t held = context_bytes(context), peak = context_peak_bytes(context);
    spryi_release(context, first);
    assert_int_equal(context_bytes(context), 0); /* cached blocks are not counted */
    void *second = take(context, 15 * MB);       /* slightly smaller: reuses the same block */
    assert_ptr_equal(second, first);
    assert_int_equal(context_bytes(context), held - MB);
    spryi_release(context, second);
    assert_ptr_equal(take(context, 16 * MB), first); /* the block's full size is still known */
    spryi_release(context, first);
    assert_int_equal(context_peak_bytes(context), peak);
    assert_int_equal(spry_context_trim(context), held);
    assert_int_equal(spry_context_trim(context), 0);
    spry_context_destroy(context);
}

static void others_are_fresh(void **state)
{
    if (!keeps()) skip();
    spry_context *context = context_of(1);
    void *large = take(context, 32 * MB), *second = take(context, 32 * MB);
    spryi_release(context, second);
    spryi_release(context, large);
    second = take(context, 20 * MB); /* reuses neither block of 32 MB, and frees one of them */
    assert_int_equal(context->cached_blocks.count, 1);
    void *small = take(context, 9 * MB); /* does not reuse 32 MB for only 9 MB */
    assert_ptr_not_equal(small, large);
    assert_int_equal(context->cached_blocks.count, 1);
    spryi_release(context, take(context, MB)); /* small blocks are not kept */
    assert_int_equal(context->cached_blocks.count, 1);
    spryi_release(context, small);
    spryi_release(context, second);
    spry_context_destroy(context); /* frees the cached blocks, otherwise a leak checker would report them */
}

/*
 * Returns 1 if held and cached bytes together are at most 9/8 of the peak. The additional 1/8 is for blocks that are
 * larger than their requests.
 */
static int is_within_peak(const spry_context *context)
{
    const int64_t peak = context_peak_bytes(context);
    return context_bytes(context) + context->cached_blocks.bytes <= peak + peak / 8;
}

static void never_more_than_the_peak(void **state)
{
    spry_context *context = context_of(1);
    void *blocks[24];
    for (int round = 0; round < 6; round++) {
        const int64_t bytes = (8 + 5 * (int64_t)round) * MB; /* no cached block of an earlier round fits */
        for (int b = 0; b < 24; b++) {
            blocks[b] = take(context, bytes / (b % 2 + 1) + MB);
            assert_true(is_within_peak(context));
        }
        for (int b = 0; b < 24; b++) {
            spryi_release(context, blocks[b]);
            assert_true(is_within_peak(context));
            assert_true(context->cached_blocks.count <= SPRYI_MOST_CACHED_BLOCKS);
        }
        assert_int_equal(context_bytes(context), 0);
    }
    spry_context_destroy(context);
}

static void hooks_get_every_block_back(void **state)
{
    test_memory h = {0};
    spry_context *context = counted_context(&h, 1);
    void *first = take(context, 16 * MB);
    assert_int_equal(h.blocks, 2); /* the context and the block */
    spryi_release(context, first);
    assert_int_equal(h.blocks, 1);
    assert_int_equal(spry_context_trim(context), 0);
    spry_context_destroy(context);
    assert_int_equal(h.blocks, 0);
    assert_int_equal(h.faults, 0);
}

static void counted(void **state)
{
    if (!keeps()) skip();
    spry_context *context = context_of(1);
    assert_int_equal(context_cached_bytes(context), 0);
    void *block = take(context, 16 * MB), *other = take(context, 24 * MB);
    const int64_t held = context_bytes(context);
    assert_int_equal(context_cached_bytes(context), 0); /* both blocks are in use */
    spryi_release(context, block);
    spryi_release(context, other);
    assert_int_equal(context_cached_bytes(context), held);
    assert_int_equal(spry_context_trim(context), held);
    assert_int_equal(context_cached_bytes(context), 0);
    spry_context_destroy(context);
}

static void switched_off(void **state)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_context *context = NULL;
    options.no_caches = 1;
    assert_int_equal(spry_context_create(&context, &options, NULL), SPRY_OK);
    spryi_release(context, take(context, 16 * MB));
    void *block = NULL;
    assert_int_equal(spryi_reserve(context, &block, 16 * MB, 1, "test", NULL), SPRY_OK);
    spryi_shrink(context, &block, 100);
    spryi_release(context, block);
    assert_int_equal(context->cached_blocks.count, 0);
    assert_int_equal(context_cached_bytes(context), 0);
    assert_int_equal(spry_context_trim(context), 0);
    spry_context_destroy(context);
}

/* Asserts that a plan in reused memory equals a plan in fresh memory. */
static void plans_in_used_memory(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = NULL;
    MUST(spry_matrix_generate(context, &A, "laplace7,x=70,y=70,z=60", NULL, err));
    int64_t m = 70 * 70 * 60;
    double *x = malloc((size_t)m * sizeof *x), *first = malloc((size_t)m * sizeof *x),
           *y = malloc((size_t)m * sizeof *x);
    assert_true(x && first && y);
    for (int64_t i = 0; i < m; i++) x[i] = (double)(i % 17) - 8;
    static const char *const formats[] = {"ell", "sell", "hyb:width=4", "bsr", "scoo", "csc"};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int round = 0; round < (SAMPLED ? 2 : 3); round++) {
            spry_spmv_options options = SPRY_INIT(spry_spmv_options);
            options.format = formats[f];
            options.device = SPRY_CPU;
            spry_spmv_plan *plan = create_plan(context, A, &options);
            double *to = round == 0 ? first : y;
            multiply_f64(plan, to, m, x, m);
            if (round > 0) assert_memory_equal(y, first, (size_t)m * sizeof *y);
            spry_spmv_plan_destroy(plan);
        }
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
    free(x);
    free(first);
    free(y);
}

/*
 * Asserts that held, peak and cached bytes count only the used bytes of a block, not all of its reserved address space.
 */
static void reserved_blocks(void **state)
{
    spry_context *context = context_of(1);
    const int64_t used[] = {0, 100, 7 * MB};
    const int64_t reserved[] = {1 * MB, 64 * MB};
    for (int r = 0; r < 2; r++)
        for (int u = 0; u < 3; u++) {
            if (used[u] > reserved[r]) continue;
            void *block = NULL;
            assert_int_equal(spryi_reserve(context, &block, reserved[r], 1, "test", NULL), SPRY_OK);
            assert_int_equal(context_bytes(context), 0);
            memset(block, 0x5a, (size_t)used[u]);
            spryi_shrink(context, &block, used[u]);
            assert_int_equal((uintptr_t)block % SPRYI_ALIGNMENT, 0);
            for (int64_t k = 0; k < used[u]; k++) assert_int_equal(((unsigned char *)block)[k], 0x5a);
            assert_int_equal(context_bytes(context), used[u] + 64);
            spryi_release(context, block);
            assert_int_equal(context_bytes(context), 0);
        }
    assert_true(context_peak_bytes(context) < 8 * MB);
    assert_true(spry_context_trim(context) < 8 * MB);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_serves_again),
        cmocka_unit_test(others_are_fresh),
        cmocka_unit_test(never_more_than_the_peak),
        cmocka_unit_test(hooks_get_every_block_back),
        cmocka_unit_test(plans_in_used_memory),
        cmocka_unit_test(reserved_blocks),
        cmocka_unit_test(counted),
        cmocka_unit_test(switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
