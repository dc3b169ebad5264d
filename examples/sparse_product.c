/* C = A*A for a grid's matrix: an estimate of memory, a product with a limit, and repeated products with new values. */
#include <spry/io.h>
#include <spry/spgemm.h>
#include <spry/spry.h>
#include <stdio.h>

int main(void)
{
    spry_context *context = NULL;
    spry_matrix *A = NULL, *C = NULL;
    spry_spgemm_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    spry_spgemm_estimate_info estimate = SPRY_INIT(spry_spgemm_estimate_info);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_arrays structure = SPRY_INIT(spry_arrays), result = SPRY_INIT(spry_arrays);
    void *values = NULL;

    if (spry_context_create(&context, NULL, &err) != SPRY_OK ||
        spry_matrix_generate(context, &A, "laplace5,x=100,y=100", NULL, &err) != SPRY_OK ||
        spry_spgemm_estimate(context, &estimate, A, A, &options, &err) != SPRY_OK)
        goto done;
    printf("C has %lld entries%s, needs %lld bytes, with a memory limit at least %lld\n", (long long)estimate.nnz,
           estimate.exact ? "" : " (about)", (long long)estimate.peak_bytes, (long long)estimate.least_bytes);

    options.memory_limit_bytes = estimate.least_bytes;
    if (spry_spgemm(context, &C, &info, A, A, &options, &err) != SPRY_OK) goto done;
    printf("once: %lld entries in %lld bytes\n", (long long)spry_matrix_nnz(C), (long long)info.peak_bytes);

    /* Repeated products: creating the plan computes C's structure, each run computes its values. */
    if (spry_spgemm_plan_create(context, &plan, A, A, NULL, &err) != SPRY_OK ||
        spry_spgemm_plan_get_structure(plan, &structure, &err) != SPRY_OK ||
        spry_matrix_get_values(A, &values, &err) != SPRY_OK)
        goto done;
    spry_matrix_destroy(C);
    C = NULL;
    for (int step = 1; step <= 3; step++) {
        for (int64_t k = 0; k < spry_matrix_nnz(A); k++) ((double *)values)[k] *= 2;
        if (spry_spgemm_plan_run(plan, NULL, NULL, &err) != SPRY_OK) goto done;
    }
    if (spry_spgemm_plan_get_result(plan, &C, &err) != SPRY_OK || spry_matrix_get_arrays(C, &result, &err) != SPRY_OK)
        goto done;
    printf("repeated: %lld entries, the first %g\n", (long long)structure.nnz, ((const double *)result.values)[0]);
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return err.status != SPRY_OK;
}
