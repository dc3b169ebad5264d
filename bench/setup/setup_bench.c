/*
 * setup_bench [--type f32|f64] [--formats LIST] [--rounds N] FILE...: what it takes to make each format from CSR, in
 * products of plain CSR that are measured in the same run.
 *
 * A format's plan is made and destroyed N times (default 9) with nothing else held but the matrix; formats take turns.
 * first: in a context of its own, whose memory all comes fresh from the system, as in a program that makes one plan.
 * median, quartiles: the other rounds, in one context that lives on. floor: the bytes that any conversion must move,
 * CSR read once and the format written once, against those of the product, at the same speed.
 */

#include "common/clock.h"
#include "spry/spry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 101, MOST_FORMATS = 16 };

static int fail(const spry_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    return 0;
}

typedef struct made {
    char kernel[64];
    double us[MOST_ROUNDS];
    int64_t storage_bytes, owned_bytes;
    int refused;
} made;

/* One set-up, info as far as it is kept, and the time of the product where it is wanted (NULL: not). */
static spry_status make_once(spry_context *context, const spry_matrix *A, const char *format, made *m, int round,
                             spry_measurement *product, spry_error *err)
{
    spry_spmv_options on = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    spry_spmv_plan *plan = NULL;
    on.format = format;
    on.device = "cpu";
    spry_status status = spry_spmv_plan_create(context, &plan, A, &on, err);
    if (status == SPRY_OK && product) status = spry_spmv_plan_measure(plan, product, err);
    if (status == SPRY_OK) status = spry_spmv_plan_get_info(plan, &info, err);
    if (status == SPRY_OK) {
        m->us[round] = info.setup_us;
        m->storage_bytes = info.storage_bytes;
        m->owned_bytes = info.owned_bytes;
        snprintf(m->kernel, sizeof m->kernel, "%s", info.kernel);
    }
    spry_spmv_plan_destroy(plan);
    return status;
}

/* The matrix's handle in a context that has allocated nothing yet. */
static spry_status make_first(const spry_arrays *a, const char *format, made *m, spry_error *err)
{
    spry_context *fresh = NULL;
    spry_matrix *A = NULL;
    spry_status status = spry_context_create(&fresh, NULL, err);
    if (status == SPRY_OK) status = spry_matrix_create(fresh, &A, a, err);
    if (status == SPRY_OK) status = make_once(fresh, A, format, m, 0, NULL, err);
    spry_matrix_destroy(A);
    spry_context_destroy(fresh);
    return status;
}

static int measure(spry_context *context, const char *path, spry_type type, char *const *formats, int count, int rounds)
{
    static made all[MOST_FORMATS], csr;
    spry_error err = {0};
    spry_matrix *A = NULL;
    spry_read_options reading = SPRY_INIT(spry_read_options);
    spry_measurement before = SPRY_INIT(spry_measurement), after = SPRY_INIT(spry_measurement);
    spry_arrays a = SPRY_INIT(spry_arrays);
    reading.value_type = type;
    if (spry_matrix_read(context, &A, path, &reading, &err) != SPRY_OK) return fail(&err);
    spry_matrix_get_arrays(A, &a, NULL);
    a.ownership = SPRY_BORROW;
    if (make_once(context, A, "csr", &csr, 0, &before, &err) != SPRY_OK) return fail(&err);
    memset(all, 0, sizeof all);
    for (int r = 0; r <= rounds; r++)
        for (int f = 0; f < count; f++) {
            if (all[f].refused) continue;
            spry_status status = r == 0 ? make_first(&a, formats[f], &all[f], &err)
                                        : make_once(context, A, formats[f], &all[f], r, NULL, &err);
            all[f].refused = status == SPRY_TOO_LARGE;
            if (status != SPRY_OK && !all[f].refused) return fail(&err);
        }
    if (make_once(context, A, "csr", &csr, 0, &after, &err) != SPRY_OK) return fail(&err);
    const int64_t csr_bytes = csr.storage_bytes;
    const double product = (before.median_us + after.median_us) / 2;
    const double vectors = (double)(a.rows + a.cols) * (double)spry_type_bytes(type);
    printf("%s %s: csr's product %.0f us before, %.0f us after; %d threads\n", path, spry_type_name(type),
           before.median_us, after.median_us, spry_context_threads(context));
    printf("  %-6s %-22s %9s %8s %8s %8s %8s %8s\n", "format", "kernel", "median us", "median", "lower", "upper",
           "first", "floor");
    for (int f = 0; f < count; f++) {
        made *m = &all[f];
        if (m->refused) {
            printf("  %-6s refused\n", formats[f]);
            continue;
        }
        double *us = m->us + 1;
        qsort(us, (size_t)rounds, sizeof *us, by_value);
        printf("  %-6s %-22s %9.0f %8.1f %8.1f %8.1f %8.1f %8.1f\n", formats[f], m->kernel, us[rounds / 2],
               us[rounds / 2] / product, us[rounds / 4] / product, us[rounds - 1 - rounds / 4] / product,
               m->us[0] / product, (double)(csr_bytes + m->owned_bytes) / ((double)csr_bytes + vectors));
    }
    fflush(stdout);
    spry_matrix_destroy(A);
    return 1;
}

int main(int argc, char **argv)
{
    char list[] = "csr,coo,csc,csr2,ell,sell,hyb,scoo,bsr", *given = list, *formats[MOST_FORMATS];
    spry_type type = SPRY_F64;
    int rounds = 9, count = 0, first = 1, good = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--type") == 0)
            type = strcmp(argv[first + 1], "f32") == 0 ? SPRY_F32 : SPRY_F64;
        else if (strcmp(argv[first], "--formats") == 0)
            given = argv[first + 1];
        else if (strcmp(argv[first], "--rounds") == 0)
            rounds = atoi(argv[first + 1]);
        else
            break;
    }
    if (first >= argc || argv[first][0] == '-' || rounds < 1 || rounds >= MOST_ROUNDS) {
        fprintf(stderr, "Usage: setup_bench [--type f32|f64] [--formats LIST] [--rounds N] FILE...\n");
        return 2;
    }
    for (char *name = strtok(given, ","); name && count < MOST_FORMATS; name = strtok(NULL, ","))
        formats[count++] = name;
    spry_context *context = NULL;
    spry_error err = {0};
    if (spry_context_create(&context, NULL, &err) != SPRY_OK) return !fail(&err);
    for (int f = first; f < argc; f++) good &= measure(context, argv[f], type, formats, count, rounds);
    spry_context_destroy(context);
    return !good;
}
