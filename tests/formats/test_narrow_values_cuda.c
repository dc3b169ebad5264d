/* Tests of plans that store narrow values on a GPU: equal bits for every kernel that narrows, tables, and updates. */
#include "testing.h"

#include "base/types.h"
#include "catalogue/catalogue.h"
#include "spry/cuda.h"
#include "spry/io.h"

#include <math.h>

static const char *const matrices[] = {"grid5,x=300,y=301",     "grid7,x=41,y=42,z=43",
                                       "grid27,x=24,y=25,z=26", "fem3,x=13,y=14,z=15",
                                       "rmat,scale=16",         "rgg,scale=16",
                                       "circuit,rows=200000",   "uniform,rows=100000,degree=9"};

/* A matrix with its arrays in the memory of the GPU. */
typedef struct placed {
    spry_matrix *A;
    void *arrays[3]; /* offsets, indices, values */
} placed;

static placed place(spry_context *context, const spry_arrays *a)
{
    placed p = {NULL, {NULL}};
    spry_arrays there = *a;
    const void *from[] = {a->offsets, a->indices, a->values};
    const size_t bytes[] = {(size_t)(a->rows + 1) * spryi_index_type_bytes(a->offset_type),
                            (size_t)a->nnz * spryi_index_type_bytes(a->index_type),
                            (size_t)a->nnz * spry_type_bytes(a->value_type)};
    for (int n = 0; n < 3; n++) {
        MUST(spry_device_allocate(context, &p.arrays[n], 1, (int64_t)bytes[n], err));
        MUST(spry_device_copy(context, p.arrays[n], 1, from[n], 0, (int64_t)bytes[n], NULL, err));
    }
    MUST(spry_device_synchronize(context, 1, NULL, err));
    there.offsets = p.arrays[0];
    there.indices = p.arrays[1];
    there.values = p.arrays[2];
    there.device = 1;
    there.ownership = SPRY_BORROW;
    p.A = create_matrix(context, &there);
    return p;
}

static void discard(spry_context *context, placed *p)
{
    spry_matrix_destroy(p->A);
    for (int n = 0; n < 3; n++) spry_device_free(context, 1, p->arrays[n]);
}

/* vectors: number of row-major vectors. */
static spry_spmv_plan *plan_of(spry_context *context, const spry_matrix *A, const char *kernel, bool keep, int vectors)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = NULL;
    o.kernel = kernel;
    o.device = 1;
    o.vector_device = SPRY_CPU;
    o.keep_value_type = keep;
    o.count = vectors;
    o.row_major = vectors > 1;
    const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, NULL);
    assert_true(status == SPRY_OK || status == SPRY_UNSUPPORTED || status == SPRY_TOO_LARGE);
    return plan;
}

static void run(const spry_spmv_plan *plan, void *y, const void *x, const spry_arrays *a, int vectors)
{
    const spry_type type = spryi_usual_vectors(a->value_type);
    spry_vector to = {.data = y, .length = a->rows, .type = type};
    spry_const_vector from = {.data = x, .length = a->columns, .type = type};
    if (vectors > 1) {
        to.count = from.count = to.row_stride = from.row_stride = vectors;
        to.column_stride = from.column_stride = 1;
    }
    memset(y, 255, (size_t)(a->rows * vectors) * spry_type_bytes(type));
    MUST(spry_spmv_plan_run(plan, to, NULL, from, NULL, NULL, err));
}

/* Compares products by a narrow and a wide plan. Returns whether the first plan has narrow values. */
static bool compare(spry_context *context, const spry_matrix *A, const spry_arrays *a, const char *kernel, int vectors)
{
    spry_spmv_plan *narrow = plan_of(context, A, kernel, false, vectors);
    spry_spmv_plan *wide = plan_of(context, A, kernel, true, vectors);
    bool narrowed = false;
    assert_int_equal(narrow == NULL, wide == NULL);
    if (narrow) {
        const spry_type type = spryi_usual_vectors(a->value_type);
        const size_t size = spry_type_bytes(type);
        const int64_t n = a->rows * vectors;
        void *x = malloc((size_t)(a->columns * vectors) * size),
             *y[2] = {malloc((size_t)n * size), malloc((size_t)n * size)};
        for (int64_t j = 0; j < a->columns * vectors; j++) spryi_set_value(x, type, j, 1 / (double)(j % 1000 + 3));
        run(narrow, y[0], x, a, vectors);
        run(wide, y[1], x, a, vectors);
        if (memcmp(y[0], y[1], (size_t)n * size) != 0)
            fail_msg("%s, %s and %s, %d vectors: the bits differ", kernel, plan_info(narrow).parameters,
                     plan_info(wide).parameters, vectors);
        narrowed = plan_info(narrow).value_type != a->value_type;
        assert_int_equal(plan_info(wide).value_type, a->value_type);
        free(x), free(y[0]), free(y[1]);
    }
    spry_spmv_plan_destroy(narrow);
    spry_spmv_plan_destroy(wide);
    return narrowed;
}

static void equal_bits(void **state)
{
    static const char *const values[] = {"bits=24", "distinct=200", "distinct=3000", "bits=8"};
    int narrowed = 0;
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            char spec[96];
            spry_read_options o = SPRY_INIT(spry_read_options);
            spry_matrix *A;
            snprintf(spec, sizeof spec, "%s,%s", matrices[m], values[v]);
            o.value_type = strcmp(values[v], "bits=8") == 0 ? SPRY_F32 : SPRY_F64;
            MUST(spry_matrix_generate(*state, &A, spec, &o, err));
            const spry_arrays a = arrays_of(A);
            placed there = place(*state, &a);
            for (int k = 0; k < spmv_kernel_count(); k++) {
                const spry_kernel_info info = kernel_info(*state, k);
                if (strcmp(spryi_find_kernel(info.name)->device, "cuda") != 0 || !info.available) continue;
                if (!spryi_find_kernel(info.name)->narrows) continue;
                narrowed += compare(*state, A, &a, info.name, 1);
                narrowed += compare(*state, there.A, &a, info.name, 1);
                (void)compare(*state, A, &a, info.name, 16);
            }
            discard(*state, &there);
            spry_matrix_destroy(A);
        }
    assert_true(narrowed >= 80);
}

/* Tables at the limits of their sizes, of values of all kinds. */
static void tables(void **state)
{
    static const int counts[] = {1, 2, 255, 256, 257, 4095, 4096, 4097};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (int kind = 0; kind < 2; kind++) { /* 1: also -0, infinities and a NaN */
            spry_matrix *A = generate_matrix(*state, kind ? "fem3,x=26,y=27,z=28" : "grid7,x=90,y=91,z=92");
            const spry_arrays a = arrays_of(A);
            double special[] = {3, -0.0, 0x1p-1074, -0x1.fffffffffffffp1023, INFINITY, -INFINITY, NAN};
            void *data;
            memcpy(&special[6], &(uint64_t){UINT64_C(0xfff8000000000123)}, sizeof(double));
            MUST(spry_matrix_get_values(A, &data, err));
            for (int64_t k = 0; k < a.nnz; k++) {
                const int64_t index = k * 7 % counts[n];
                ((double *)data)[k] = kind && index < 7 && counts[n] > 7 ? special[index] : 1 / (double)(index + 3);
            }
            placed there = place(*state, &a);
            const spry_type type = counts[n] <= 256    ? (spry_type)SPRYI_TABLE8
                                   : counts[n] <= 4096 ? (spry_type)SPRYI_TABLE16
                                                       : SPRY_F64;
            spry_spmv_plan *plans[] = {plan_of(*state, A, "packed_slices_cuda", false, 1),
                                       plan_of(*state, there.A, "packed_slices_cuda", false, 1)};
            for (int p = 0; p < 2; p++) {
                assert_int_equal(plan_info(plans[p]).value_type, type);
                spry_spmv_plan_destroy(plans[p]);
            }
            (void)compare(*state, A, &a, "packed_slices_cuda", 1);
            (void)compare(*state, there.A, &a, "packed_slices_cuda", 1);
            (void)compare(*state, A, &a, "packed_slices_cuda", 3);
            discard(*state, &there);
            spry_matrix_destroy(A);
        }
}

/* Checks a plan's type, and compares its bits with those of a plan that keeps the type. */
static void check(spry_context *context, const spry_spmv_plan *plan, const spry_matrix *A, const spry_arrays *a,
                  const char *kernel, spry_type type)
{
    double *x = malloc((size_t)a->columns * 8), *y[2] = {malloc((size_t)a->rows * 8), malloc((size_t)a->rows * 8)};
    for (int64_t j = 0; j < a->columns; j++) x[j] = 1 / (double)(j % 1000 + 3);
    assert_int_equal(plan_info(plan).value_type, type);
    spry_spmv_plan *wide = plan_of(context, A, kernel, true, 1);
    run(plan, y[0], x, a, 1);
    run(wide, y[1], x, a, 1);
    assert_memory_equal(y[0], y[1], (size_t)a->rows * 8);
    spry_spmv_plan_destroy(wide);
    free(x), free(y[0]), free(y[1]);
}

/* New values stay in the narrow type, then leave it for good. The matrix is in host memory, then in device memory. */
static void updates(void **state)
{
    static const char *const kernels[] = {"packed_slices_cuda", "windowed_staged_cuda", "sell_chunks_cuda"};
    static const double divisors[] = {4, 3, 4};
    for (int form = 0; form < 6; form++) {
        const char *kernel = kernels[form % 3];
        spry_matrix *A = generate_matrix(*state, "grid7,x=41,y=42,z=43,bits=20");
        const spry_arrays a = arrays_of(A);
        void *data;
        placed there = place(*state, &a);
        const spry_matrix *of = form < 3 ? A : there.A;
        MUST(spry_matrix_get_values(A, &data, err));
        double *values = data;
        spry_spmv_plan *plan = plan_of(*state, of, kernel, false, 1);
        check(*state, plan, of, &a, kernel, SPRY_F32);
        for (int round = 0; round < 3; round++) {
            for (int64_t k = 0; k < a.nnz; k++) values[k] = (double)(k % 11) / divisors[round];
            MUST(spry_device_copy(*state, there.arrays[2], 1, values, 0, a.nnz * 8, NULL, err));
            MUST(spry_device_synchronize(*state, 1, NULL, err));
            MUST(spry_spmv_plan_update(plan, NULL, err));
            check(*state, plan, of, &a, kernel, round == 0 ? SPRY_F32 : SPRY_F64);
        }
        spry_spmv_plan_destroy(plan);
        discard(*state, &there);
        spry_matrix_destroy(A);
    }
}

/* New values change the size of the table, then leave tables for good. */
static void updates_of_tables(void **state)
{
    static const struct {
        int count;
        spry_type type;
    } rounds[] = {{200, (spry_type)SPRYI_TABLE8},
                  {300, (spry_type)SPRYI_TABLE16},
                  {100, (spry_type)SPRYI_TABLE8},
                  {5000, SPRY_F64},
                  {100, SPRY_F64}};
    const char *const kernel = "packed_slices_cuda";
    spry_matrix *A = generate_matrix(*state, "grid7,x=90,y=91,z=92");
    const spry_arrays a = arrays_of(A);
    void *values;
    spry_spmv_plan *plan = NULL;
    MUST(spry_matrix_get_values(A, &values, err));
    for (size_t round = 0; round < sizeof rounds / sizeof *rounds; round++) {
        for (int64_t k = 0; k < a.nnz; k++) ((double *)values)[k] = 1 / (double)(k % rounds[round].count + 3);
        if (plan)
            MUST(spry_spmv_plan_update(plan, NULL, err));
        else
            plan = plan_of(*state, A, kernel, false, 1);
        check(*state, plan, A, &a, kernel, rounds[round].type);
    }
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(equal_bits, open_context, close_context),
                                              cmocka_unit_test_setup_teardown(tables, open_context, close_context),
                                              cmocka_unit_test_setup_teardown(updates, open_context, close_context),
                                              cmocka_unit_test_setup_teardown(updates_of_tables, open_context,
                                                                              close_context)};
    return has_gpu() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
