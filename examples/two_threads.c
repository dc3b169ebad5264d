/* Two threads of the caller run one plan concurrently, each with its own vectors and workspace. */
#include <pthread.h>
#include <spry/io.h>
#include <spry/spry.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 50 };

typedef struct worker {
    const spry_spmv_plan *plan;
    spry_vector x, y;
    void *workspace;
    int64_t workspace_bytes;
    spry_error err;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    spry_spmv_run_options options = SPRY_INIT(spry_spmv_run_options);
    options.workspace = w->workspace;
    options.workspace_bytes = w->workspace_bytes;
    options.threads = 1;
    for (int run = 0; run < RUNS && w->err.status == SPRY_OK; run++) {
        const spry_status status =
            spry_spmv_plan_run(w->plan, w->y, NULL, spry_vector_as_const(w->x), NULL, &options, &w->err);
        if (status != SPRY_OK) break;
    }
    return NULL;
}

int main(void)
{
    spry_context *context = NULL;
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    spry_error err = SPRY_ERROR_INIT;
    worker workers[2] = {{0}, {0}};
    pthread_t threads[2];
    int started = 0;

    if (spry_context_create(&context, NULL, &err) != SPRY_OK ||
        spry_matrix_generate(context, &A, "grid5,x=200,y=200", NULL, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &plan, A, NULL, &err) != SPRY_OK ||
        spry_spmv_plan_get_info(plan, &info, &err) != SPRY_OK)
        goto done;
    for (int w = 0; w < 2; w++) {
        workers[w].plan = plan;
        workers[w].workspace_bytes = info.workspace_bytes;
        workers[w].workspace = aligned_alloc(64, ((size_t)info.workspace_bytes + 64) / 64 * 64);
        if (spry_vector_create(context, &workers[w].x, spry_matrix_columns(A), SPRY_F64, 0, &err) != SPRY_OK ||
            spry_vector_create(context, &workers[w].y, spry_matrix_rows(A), SPRY_F64, 0, &err) != SPRY_OK)
            goto done;
        for (int64_t j = 0; j < workers[w].x.length; j++) ((double *)workers[w].x.data)[j] = 1 + (double)(j % 7);
    }
    for (; started < 2; started++)
        if (pthread_create(&threads[started], NULL, work, &workers[started]) != 0) break;
    for (int w = 0; w < started; w++) pthread_join(threads[w], NULL);
    for (int w = 0; w < started; w++)
        if (workers[w].err.status != SPRY_OK) err = workers[w].err;
    int64_t different = 0;
    for (int64_t i = 0; i < spry_matrix_rows(A); i++)
        different += ((double *)workers[0].y.data)[i] != ((double *)workers[1].y.data)[i];
    printf("%d threads, %lld rows differ\n", started, (long long)different);
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    for (int w = 0; w < 2; w++) {
        spry_vector_destroy(context, &workers[w].x);
        spry_vector_destroy(context, &workers[w].y);
        free(workers[w].workspace);
    }
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return err.status != SPRY_OK;
}
