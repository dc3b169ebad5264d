/*
 * Tests the driver of CPU kernels. Every block must run once, and steps must run in order, for any number of threads.
 */
#include "testing.h"

#include "base/pool.h"
#include "formats/shared/run_blocks.h"

enum { MOST_BLOCKS = 500 };

static atomic_int first[MOST_BLOCKS], second[MOST_BLOCKS], missing;

static void do_first(const spryi_run_args *args, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++) first[b]++;
}

/* Each block of the second step counts blocks of the first step that are not done. */
static void do_second(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const int64_t blocks = *(const int64_t *)args->storage;
    for (int64_t b = begin; b < end; b++) {
        second[b]++;
        for (int64_t q = 0; q < blocks; q++) missing += first[q] != 1;
    }
}

static void every_block_once_and_steps_in_order(void **state)
{
    static spryi_pool pool;
    static pthread_t room[SPRYI_MOST_THREADS];
    const spry_context_options defaults = SPRY_INIT(spry_context_options);
    spryi_pool_open(&pool, &defaults, room);
    static const int64_t sizes[] = {0, 1, 2, 7, 64, 65, MOST_BLOCKS};
    static const int threads[] = {0, 1, 2, 3, 8, 64, 65, 100};
    enum { SIZES = sizeof sizes / sizeof *sizes, THREADS = sizeof threads / sizeof *threads };
    for (int c = 0; c < SIZES * SIZES * THREADS; c++) {
        const int64_t blocks = sizes[c % SIZES], later = sizes[c / SIZES % SIZES];
        const spryi_run_args args = {.storage = &blocks, .threads = threads[c / SIZES / SIZES], .pool = &pool};
        for (int b = 0; b < MOST_BLOCKS; b++) first[b] = second[b] = 0;
        const spryi_step steps[] = {{blocks, do_first}, {later, do_second}, {blocks, do_first}};
        assert_int_equal(spryi_run_steps(&args, steps, 2), SPRY_OK);
        for (int b = 0; b < MOST_BLOCKS; b++) {
            assert_int_equal(first[b], b < blocks);
            assert_int_equal(second[b], b < later);
        }
        assert_int_equal(spryi_run_steps(&args, steps + 2, 1), SPRY_OK);
        assert_int_equal(spryi_run_blocks(&args, later, do_first), SPRY_OK);
        for (int b = 0; b < MOST_BLOCKS; b++) assert_int_equal(first[b], 2 * (b < blocks) + (b < later));
        for (int b = 0; b < MOST_BLOCKS; b++) first[b] = 0;
        assert_int_equal(spryi_run_steps(&args, steps, 3), SPRY_OK);
        for (int b = 0; b < MOST_BLOCKS; b++) assert_int_equal(first[b], 2 * (b < blocks));
    }
    assert_int_equal(missing, 0);
    spryi_pool_close(&pool);
}

static void note_share(const spryi_run_args *args, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++) {
        first[b]++;
        second[b] = (int)(end - begin);
    }
}

static void shares_are_equal(void **state)
{
    static spryi_pool pool;
    static pthread_t room[SPRYI_MOST_THREADS];
    static const int64_t sizes[] = {0, 1, 2, 7, 64, 65, MOST_BLOCKS};
    static const int threads[] = {0, 1, 2, 3, 8, 65};
    enum { SIZES = sizeof sizes / sizeof *sizes, THREADS = sizeof threads / sizeof *threads };
    const spry_context_options defaults = SPRY_INIT(spry_context_options);
    spryi_pool_open(&pool, &defaults, room);
    for (int c = 0; c < SIZES * THREADS; c++) {
        const int64_t units = sizes[c % SIZES];
        const spryi_run_args args = {.threads = threads[c / SIZES], .pool = &pool};
        const int64_t teams = args.threads > 1 ? args.threads : 1, least = units / teams;
        for (int b = 0; b < MOST_BLOCKS; b++) first[b] = second[b] = 0;
        assert_int_equal(spryi_run_shares(&args, units, note_share), SPRY_OK);
        for (int b = 0; b < MOST_BLOCKS; b++) assert_int_equal(first[b], b < units);
        for (int b = 0; b < units; b++) assert_in_range(second[b], least > 0 ? least : 1, least + (units % teams > 0));
    }
    spryi_pool_close(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_block_once_and_steps_in_order),
                                       cmocka_unit_test(shares_are_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
