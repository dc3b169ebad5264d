#include "testing.h"

static void *count_allocate(void *user, size_t bytes, size_t alignment)
{
    test_memory *m = user;
    const int64_t call = atomic_fetch_add(&m->calls, 1) + 1;
    if (bytes == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) m->faults++;
    if (m->fail_from > 0 && call >= m->fail_from && call <= m->fail_until) return NULL;
    if (m->limit > 0 && ((int64_t)bytes > m->limit || m->bytes + (int64_t)bytes > m->limit)) return NULL;
    void *pointer = NULL;
    const size_t least = alignment < sizeof(size_t) * 2 ? sizeof(size_t) * 2 : alignment;
    /* the size stands in front, to be compared on release */
    if (posix_memalign(&pointer, least, bytes + least) != 0) return NULL;
    char *block = (char *)pointer + least;
    memset(block, 0xa5, bytes); /* nothing may count on zeros */
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
    memset(pointer, 0x5a, bytes); /* nothing may be read later */
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
    const int64_t held = spry_context_bytes(*state);
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

/* Returns the number of calls; *failed: one of them failed. */
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
    if (spry_context_bytes(context) != 0 || m.blocks != 1)
        fail_msg("after allocation %lld: %lld bytes are held in %lld blocks", (long long)n,
                 (long long)spry_context_bytes(context), (long long)m.blocks - 1);
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

int has_gpu(void)
{
    spry_context *context = context_of(1);
    spry_device_info info = SPRY_INIT(spry_device_info);
    const int found = spry_device_get_info(context, &info, 1, NULL) == SPRY_OK && info.available;
    printf("%s: %s\n", found ? "GPU" : "skipped, no GPU", found ? info.description : info.reason);
    spry_context_destroy(context);
    return found;
}
