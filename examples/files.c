/*
 * files INPUT.mtx OUTPUT.spry: reads and checks a matrix, converts its values to single precision, writes it in format
 * sell, and multiplies with the written file, which is mapped and used in place.
 */
#include <spry/io.h>
#include <spry/matrix.h>
#include <spry/spry.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: files INPUT.mtx OUTPUT.spry\n");
        return 2;
    }
    spry_context *context = NULL;
    spry_matrix *read = NULL, *converted = NULL, *reopened = NULL;
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_matrix_report report = SPRY_INIT(spry_matrix_report);
    spry_read_options untrusted = SPRY_INIT(spry_read_options);
    spry_matrix_options single = SPRY_INIT(spry_matrix_options);
    spry_write_options as_sell = SPRY_INIT(spry_write_options);
    spry_spmv_options sell = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    float *x = NULL, *y = NULL;
    untrusted.memory_limit_bytes = (int64_t)1 << 30; /* refuses a file that claims a larger matrix */
    single.value_type = SPRY_F32;
    as_sell.format = sell.format = "sell";

    if (spry_context_create(&context, NULL, &err) != SPRY_OK ||
        spry_matrix_read(context, &read, argv[1], &untrusted, &err) != SPRY_OK ||
        spry_matrix_check(read, &report, SPRY_CHECK_ALL, &err) != SPRY_OK ||
        spry_matrix_convert(context, &converted, NULL, read, &single, &err) != SPRY_OK ||
        spry_matrix_write(converted, argv[2], &as_sell, &err) != SPRY_OK ||
        spry_matrix_read(context, &reopened, argv[2], NULL, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &plan, reopened, &sell, &err) != SPRY_OK ||
        spry_spmv_plan_get_info(plan, &info, &err) != SPRY_OK)
        goto done;
    const int64_t m = spry_matrix_rows(reopened), n = spry_matrix_columns(reopened);
    x = malloc((size_t)(n + 1) * sizeof *x);
    y = malloc((size_t)(m + 1) * sizeof *y);
    if (!x || !y) {
        err.status = SPRY_OUT_OF_MEMORY;
        goto done;
    }
    for (int64_t j = 0; j < n; j++) x[j] = 1;
    if (spry_spmv_plan_run(plan, spry_vector_f32(y, m), NULL, spry_const_vector_f32(x, n), NULL, NULL, &err) != SPRY_OK)
        goto done;
    double sum = 0;
    for (int64_t i = 0; i < m; i++) sum += (double)y[i];
    printf("%lld values are infinite or NaN\nsum of all entries %g\n", (long long)report.not_finite, sum);
    printf("in place: %s, the plan owns %lld of %lld bytes\n", info.from_file ? "yes" : "no",
           (long long)info.owned_bytes, (long long)info.storage_bytes);
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message[0] ? err.message : spry_status_text(err.status));
    free(x);
    free(y);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(reopened);
    spry_matrix_destroy(converted);
    spry_matrix_destroy(read);
    spry_context_destroy(context);
    return err.status != SPRY_OK;
}
