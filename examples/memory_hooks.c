/* A context that gets all its memory from the caller's functions, which count bytes and enforce a limit. */
#include <spry/io.h>
#include <spry/spry.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct meter {
    int64_t held, most, limit;
} meter;

/* The library's threads may call these functions concurrently. */
static void *allocate(void *user, size_t bytes, size_t alignment)
{
    meter *m = user;
    const int64_t held = __atomic_add_fetch(&m->held, (int64_t)bytes, __ATOMIC_RELAXED);
    void *block = held <= m->limit ? aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment) : NULL;
    if (!block) __atomic_sub_fetch(&m->held, (int64_t)bytes, __ATOMIC_RELAXED);
    int64_t most = __atomic_load_n(&m->most, __ATOMIC_RELAXED);
    while (block && held > most &&
           !__atomic_compare_exchange_n(&m->most, &most, held, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return block;
}

static void release(void *user, void *block, size_t bytes)
{
    meter *m = user;
    __atomic_sub_fetch(&m->held, (int64_t)bytes, __ATOMIC_RELAXED);
    free(block);
}

int main(void)
{
    meter m = {0, 0, 64 << 20};
    spry_context *context = NULL;
    spry_matrix *A = NULL, *too_large = NULL;
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT, refused = SPRY_ERROR_INIT;
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_spmv_options sell = SPRY_INIT(spry_spmv_options);
    spry_context_info info = SPRY_INIT(spry_context_info);
    options.allocate = allocate;
    options.release = release;
    options.user = &m;
    sell.format = "sell";

    if (spry_context_create(&context, &options, &err) != SPRY_OK ||
        spry_matrix_generate(context, &A, "grid5,x=300,y=300", NULL, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &plan, A, &sell, &err) != SPRY_OK)
        goto done;
    if (spry_context_get_info(context, &info, &err) != SPRY_OK) goto done;
    printf("held %s\n", m.held >= info.bytes ? "as counted" : "less than counted");
    if (spry_matrix_generate(context, &too_large, "grid5,x=3000,y=3000", NULL, &refused) != SPRY_OK)
        printf("refused: %s\n", spry_status_text(refused.status));
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(too_large);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    printf("%lld bytes are left\n", (long long)m.held);
    return err.status != SPRY_OK || m.held != 0;
}
