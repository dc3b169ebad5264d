/*
 * both_bench [--type f32|f64] [--device cpu|cuda] [--rounds N] FILE...: what a plan of both directions takes beside a
 * plan of one and beside two plans, and how long products of each direction take.
 *
 * Plans are made and destroyed N times (default 7) in turns, of a matrix in host memory; medians are told. one: op(A)
 * is A; both: with both_directions; two: one for A and one for A^T, added up. Products are of vectors on the device.
 */

#include "common/clock.h"
#include "spry/io.h"
#include "spry/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 101, ONE, BOTH, BACK, WAYS };

static int fail(const spry_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    return 0;
}

/* A plan of that way, its set-up, and the time of its product where it is wanted (NULL: not). */
static spry_status make_once(spry_context *context, const spry_matrix *A, int device, int way, double *setup_us,
                             double *product_us, spry_spmv_plan_info *info, spry_error *err)
{
    spry_spmv_plan *plan = NULL;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_measurement product = SPRY_INIT(spry_measurement);
    o.device = device;
    o.vector_device = device;
    o.both_directions = way == BOTH;
    o.op = way == BACK ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    const double start = now_us();
    spry_status status = spry_spmv_plan_create(context, &plan, A, &o, err);
    *setup_us = now_us() - start;
    if (status == SPRY_OK && product_us) status = spry_spmv_plan_measure(plan, &product, err);
    if (status == SPRY_OK && product_us) *product_us = product.median_us;
    if (status == SPRY_OK) status = spry_spmv_plan_get_info(plan, info, err);
    spry_spmv_plan_destroy(plan);
    return status;
}

static int measure(spry_context *context, const char *path, spry_type type, int device, int rounds)
{
    static double us[WAYS][MOST_ROUNDS];
    double product[WAYS] = {0};
    int64_t both_bytes = 0, two_bytes = 0;
    spry_error err = {0};
    spry_matrix *A = NULL;
    spry_read_options reading = SPRY_INIT(spry_read_options);
    reading.value_type = type;
    if (spry_matrix_open(context, &A, path, &reading, &err) != SPRY_OK) return fail(&err);
    for (int r = 0; r < rounds; r++)
        for (int way = ONE; way < WAYS; way++) {
            spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
            if (make_once(context, A, device, way, &us[way][r], r == 0 ? &product[way] : NULL, &info, &err) != SPRY_OK)
                return fail(&err);
            if (way == BOTH) both_bytes = info.owned_bytes;
            if (way == BOTH) two_bytes = info.two_plans_bytes;
        }
    for (int way = ONE; way < WAYS; way++) qsort(us[way], (size_t)rounds, sizeof **us, by_value);
    const double one = us[ONE][rounds / 2], both = us[BOTH][rounds / 2], back = us[BACK][rounds / 2];
    printf("%-24s %10.0f %10.0f %7.2f %10.0f %9.1f %9.1f %9.1f %9.1f\n", path, one, both, both / one, one + back,
           (double)both_bytes / 1e6, (double)two_bytes / 1e6, product[ONE], product[BACK]);
    fflush(stdout);
    spry_matrix_destroy(A);
    return 1;
}

int main(int argc, char **argv)
{
    spry_type type = SPRY_F64;
    int rounds = 7, first = 1, good = 1, device = SPRY_CPU;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--type") == 0)
            type = strcmp(argv[first + 1], "f32") == 0 ? SPRY_F32 : SPRY_F64;
        else if (strcmp(argv[first], "--device") == 0)
            device = strcmp(argv[first + 1], "cuda") == 0 ? 1 : SPRY_CPU;
        else if (strcmp(argv[first], "--rounds") == 0)
            rounds = atoi(argv[first + 1]);
        else
            break;
    }
    if (first >= argc || argv[first][0] == '-' || rounds < 1 || rounds >= MOST_ROUNDS) {
        fprintf(stderr, "Usage: both_bench [--type f32|f64] [--device cpu|cuda] [--rounds N] FILE...\n");
        return 2;
    }
    spry_context *context = NULL;
    spry_error err = {0};
    if (spry_context_create(&context, NULL, &err) != SPRY_OK) return !fail(&err);
    printf("%-24s %10s %10s %7s %10s %9s %9s %9s %9s\n", "matrix", "one us", "both us", "ratio", "two us", "both MB",
           "two MB", "A x us", "A^T x us");
    for (int f = first; f < argc; f++) good &= measure(context, argv[f], type, device, rounds);
    spry_context_destroy(context);
    return !good;
}
