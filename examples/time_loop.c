/* A bar that cools. Its conductivity changes in each step, so A's values change. A's structure does not change. */
#include <spry/spry.h>
#include <stdio.h>

enum { N = 1000, STEPS = 100 };

int main(void)
{
    static int32_t offsets[N + 1], columns[3 * N];
    static double values[3 * N], T[N], next[N];
    int nnz = 0;
    for (int i = 0; i < N; i++) { /* row i: i - 1, i, i + 1 */
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++) columns[nnz++] = j;
        offsets[i + 1] = nnz;
        T[i] = i < N / 2 ? 100 : 0;
    }
    spry_context *context = NULL;
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    options.expected_calls = options.expected_updates = STEPS;

    if (spry_context_create(&context, NULL, &err) != SPRY_OK ||
        spry_matrix_borrow_csr_f64(context, &A, N, N, offsets, columns, values, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &plan, A, &options, &err) != SPRY_OK)
        goto done;
    for (int step = 0; step < STEPS; step++) {
        const double c = 0.25 / (1 + 0.01 * step);
        for (int i = 0; i < N; i++)
            for (int k = offsets[i]; k < offsets[i + 1]; k++)
                values[k] = columns[k] == i ? 1 - c * (offsets[i + 1] - offsets[i] - 1) : c;
        /* A plan may hold a copy of the values, so it must be updated after each change. */
        if (spry_spmv_plan_update(plan, NULL, &err) != SPRY_OK ||
            spry_spmv_plan_run(plan, spry_vector_f64(next, N), NULL, spry_const_vector_f64(T, N), NULL, NULL, &err) !=
                SPRY_OK)
            goto done;
        for (int i = 0; i < N; i++) T[i] = next[i];
    }
    if (spry_spmv_plan_get_info(plan, &info, &err) != SPRY_OK) goto done;
    printf("middle %.4f, %s\n", T[N / 2], info.reason);
    printf("set-up %.1f us, update %.1f us, run %.2f us, ", info.setup_us, info.update_us, info.predicted_us);
    if (info.break_even_calls == 0)
        printf("nothing to pay\n"); /* csr, as it is */
    else if (info.break_even_calls == SPRY_NEVER)
        printf("never pays\n");
    else
        printf("pays after %lld runs\n", (long long)info.break_even_calls);
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return err.status != SPRY_OK;
}
