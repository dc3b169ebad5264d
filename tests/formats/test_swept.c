/*
 * Tests of the format "swept", whose words swept.h explains. No group may have two entries of one sum. Also tests rows
 * that are shared by blocks, columns that are far from each other, and parameters.
 */
#include "testing.h"

#include "formats/swept/swept.h"
#include "plan/plan.h"
#include "spry/io.h"
#include "spry/matrix.h"

static spry_spmv_plan *plan_of(spry_context *context, const spry_matrix *A, const char *format, spry_type type)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.threads = context_threads(context); /* for any size */
    options.format = format;
    options.vector_type = type;
    options.memory_limit_bytes = (int64_t)256 << 20; /* replaces the padding guard */
    return create_plan(context, A, &options);
}

/* A CSR pattern that is built row by row. A pattern has plans for f32 and for f64 vectors, and its sums are exact. */
typedef struct rows {
    int64_t cols, count, nnz, room;
    int32_t *offsets, *columns;
} rows;

static rows rows_of(int64_t cols, int64_t most_rows, int64_t most_entries)
{
    rows r = {.cols = cols, .room = most_entries};
    r.offsets = malloc((size_t)(most_rows + 1) * sizeof *r.offsets);
    r.columns = malloc((size_t)(most_entries + 1) * sizeof *r.columns);
    assert_non_null(r.offsets);
    assert_non_null(r.columns);
    r.offsets[0] = 0;
    return r;
}

/* Adds a row with `entries` entries, at columns first, first + step, ... modulo the number of columns. */
static void add_row(rows *r, int64_t entries, int64_t first, int64_t step)
{
    assert_true(r->nnz + entries <= r->room);
    for (int64_t e = 0; e < entries; e++) r->columns[r->nnz++] = (int32_t)((first + e * step) % r->cols);
    r->offsets[++r->count] = (int32_t)r->nnz;
}

static spry_matrix *matrix_of(spry_context *context, const rows *r)
{
    spry_arrays a = csr_arrays(r->count, r->cols, r->offsets, r->columns, NULL, SPRY_PATTERN);
    return create_matrix(context, &a);
}

static void clear(rows *r)
{
    free(r->offsets);
    free(r->columns);
}

/*
 * Checks the properties that the kernels need. No two entries of a group have the same sum, and the columns of a group
 * ascend. Indices are in range, and no entry is missing.
 */
static void check_groups(const spryi_swept *s, const char *what)
{
    const spryi_swept_sizes *h = &s->sizes;
    const int64_t unroll = spryi_swept_unroll(h->value_type);
    int64_t *met = malloc((size_t)(h->most_sums + 1) * sizeof *met), entries = 0, batches = 0;
    assert_non_null(met);
    for (int64_t b = 0; b < h->blocks; b++) {
        const spryi_swept_block *block = &s->blocks[b];
        const uint32_t padding = spryi_swept_padding(block);
        assert_int_equal(block->first_batch, batches);
        assert_in_range(block->all_sums, block->sums, h->most_sums);
        for (int64_t n = 0; n < block->all_sums; n++) met[n] = -1;
        for (int64_t group = 0; group < block->batches * unroll; group++) {
            int64_t column = -1;
            for (int64_t place = 0; place < SPRYI_SWEPT_THREADS; place++) {
                const int64_t slot = batches * SPRYI_SWEPT_THREADS * unroll + spryi_swept_slot(group, place, unroll);
                const int64_t sum = s->indices[slot] & padding;
                const int64_t at = spryi_swept_column(s, block, batches + group / unroll, slot);
                if (at < 0 || at >= h->cols) fail_msg("%s: column %lld", what, (long long)at);
                if (sum == padding) continue;
                if (sum >= block->all_sums) fail_msg("%s: sum %lld of %d", what, (long long)sum, block->all_sums);
                if (met[sum] == group) fail_msg("%s: sum %lld twice in a group", what, (long long)sum);
                if (at < column) fail_msg("%s: columns fall in a group", what);
                met[sum] = group;
                column = at;
                entries++;
            }
        }
        batches += block->batches;
    }
    free(met);
    assert_int_equal(batches, h->batches);
    assert_int_equal(entries, h->nnz);
}

/* Compares the plan's product of small integers with sums over the rows. */
static void check_product(const spry_spmv_plan *plan, const rows *r, spry_type type, const char *what)
{
    const int64_t most = r->cols > r->count ? r->cols : r->count;
    float *x32 = calloc((size_t)most + 1, sizeof *x32), *y32 = calloc((size_t)most + 1, sizeof *y32);
    double *x64 = calloc((size_t)most + 1, sizeof *x64), *y64 = calloc((size_t)most + 1, sizeof *y64);
    assert_true(x32 && y32 && x64 && y64);
    for (int64_t j = 0; j < r->cols; j++) x32[j] = (float)(x64[j] = (double)(j % 17 - 8));
    for (int64_t i = 0; i < r->count; i++) y32[i] = (float)(y64[i] = 1e30); /* must not be read */
    const int is_f64 = type == SPRY_F64;
    spry_error err = SPRY_ERROR_INIT;
    if (spry_spmv_plan_run(plan, is_f64 ? spry_vector_f64(y64, r->count) : spry_vector_f32(y32, r->count), NULL,
                           spry_vector_as_const(is_f64 ? spry_vector_f64(x64, r->cols) : spry_vector_f32(x32, r->cols)),
                           NULL, NULL, &err) != SPRY_OK)
        fail_msg("%s: %s", what, err.message);
    for (int64_t i = 0; i < r->count; i++) {
        double exact = 0, got = is_f64 ? y64[i] : (double)y32[i];
        for (int64_t k = r->offsets[i]; k < r->offsets[i + 1]; k++) exact += x64[r->columns[k]];
        if (got != exact) fail_msg("%s: y[%lld] is %g instead of %g", what, (long long)i, got, exact);
    }
    free(x32);
    free(y32);
    free(x64);
    free(y64);
}

static const char *const formats[] = {"swept", "swept:blocks=7", "swept:blocks=2:sums=2000", "swept:blocks=40:sums=64"};

static void check_all(rows *r, const char *name)
{
    spry_context *context = context_of(2);
    spry_matrix *A = matrix_of(context, r);
    for (int type = SPRY_F32; type <= SPRY_F64; type++)
        for (int valued = 0; valued < 2; valued++) { /* a pattern, then the pattern with values */
            spry_matrix *ones = NULL;
            spry_matrix_options to = SPRY_INIT(spry_matrix_options);
            to.value_type = (spry_type)type;
            to.keep_duplicates = 1;
            if (valued) assert_int_equal(spry_matrix_convert(context, &ones, NULL, A, &to, NULL), SPRY_OK);
            for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
                char what[128];
                snprintf(what, sizeof what, "%s, %s, %s%s", name, formats[f], type == SPRY_F32 ? "f32" : "f64",
                         valued ? "" : ", a pattern");
                spry_spmv_plan *plan = plan_of(context, valued ? ones : A, formats[f], (spry_type)type);
                assert_int_equal(((const spryi_swept *)plan->forward.stored.storage)->values != NULL, valued);
                check_groups(plan->forward.stored.storage, what);
                check_product(plan, r, (spry_type)type, what);
                spry_spmv_plan_destroy(plan);
            }
            spry_matrix_destroy(ones);
        }
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
    clear(r);
}

static void rows_of_all_lengths(void **state)
{
    rows r = rows_of(5000, 3000, 400000);
    for (int64_t i = 0; i < 3000; i++) add_row(&r, i % 5 == 0 ? 0 : i % 97, i * 131, 37);
    check_all(&r, "lengths 0 to 96");
}

static void one_row_is_most_of_the_matrix(void **state)
{
    rows r = rows_of(60000, 300, 200000);
    for (int64_t i = 0; i < 300; i++) add_row(&r, i == 150 ? 60000 : i % 7, i * 7919, 1);
    check_all(&r, "a row longer than blocks");
    spry_context *context = context_of(1);
    rows again = rows_of(60000, 300, 200000);
    for (int64_t i = 0; i < 300; i++) add_row(&again, i == 150 ? 60000 : i % 7, i * 7919, 1);
    spry_matrix *A = matrix_of(context, &again);
    spry_spmv_plan *plan = plan_of(context, A, "swept:blocks=7", SPRY_F32);
    const spryi_swept *s = plan->forward.stored.storage;
    assert_int_equal(s->sizes.shared_rows, 1);
    assert_int_equal(s->shared_rows[0].row, 150);
    assert_int_equal(s->shared_rows[0].pieces, 7);
    assert_int_equal(s->sizes.pieces, 7);
    assert_true(s->sizes.extras > 0);
    assert_int_equal(s->blocks[0].tail_row, 0);
    assert_int_equal(s->blocks[0].head_row, -1);
    assert_int_equal(s->blocks[6].head_piece, 6);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    clear(&again);
}

static void repeated_columns(void **state)
{
    rows r = rows_of(9, 400, 40000);
    for (int64_t i = 0; i < 400; i++) add_row(&r, 100, i, i % 2); /* even rows repeat 1 column, odd rows 9 columns */
    check_all(&r, "duplicates");
}

static void one_row_and_one_column(void **state)
{
    rows wide = rows_of(100000, 1, 100000), tall = rows_of(1, 20000, 20000), none = rows_of(10, 10, 1);
    add_row(&wide, 50000, 1, 2);
    check_all(&wide, "1 x n");
    for (int64_t i = 0; i < 20000; i++) add_row(&tall, i % 3 == 0, 0, 1);
    check_all(&tall, "n x 1");
    for (int64_t i = 0; i < 10; i++) add_row(&none, 0, 0, 1);
    check_all(&none, "no entries");
    rows nothing = rows_of(5, 1, 1);
    check_all(&nothing, "no rows");
}

/*
 * A column offset in a batch has 32 - sum_bits bits. Tests the largest offset that fits and the next one, which needs a
 * second batch.
 */
static void far_columns(void **state)
{
    spry_context *context = context_of(1);
    for (int past = 0; past < 2; past++) {
        /* the index of one of a thousand sums needs 10 bits */
        const int64_t span = (int64_t)1 << 22;
        rows r = rows_of(span + 1, 1000, 1000);
        for (int64_t i = 0; i < 1000; i++) add_row(&r, 1, i < 500 ? 0 : span - 1 + past, 1);
        spry_matrix *A = matrix_of(context, &r);
        spry_spmv_plan *plan = plan_of(context, A, "swept:blocks=1", SPRY_F64);
        const spryi_swept *s = plan->forward.stored.storage;
        assert_int_equal(s->blocks[0].sum_bits, 10);
        assert_int_equal(s->sizes.batches, 1 + past);
        assert_int_equal(s->bases[0], 0);
        if (past) assert_int_equal(s->bases[1], span);
        check_groups(s, "far columns");
        check_product(plan, &r, SPRY_F64, "far columns");
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
        clear(&r);
    }
    spry_context_destroy(context);
}

static void parameters_are_reported(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "uni18,rows=5000,degree=9");
    spry_spmv_plan *plan = plan_of(context, A, "swept:blocks=6:sums=5000", SPRY_F64);
    spry_spmv_plan_info info = plan_info(plan);
    assert_string_equal(info.parameters, "blocks=6:sums=5000");
    assert_string_equal(info.kernel, "swept_reference_cpu");
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void same_storage_for_any_number_of_threads(void **state)
{
    spryi_swept *first = NULL;
    spry_spmv_plan *plans[3];
    spry_matrix *matrices[3];
    spry_context *contexts[3];
    for (int n = 0; n < 3; n++) {
        contexts[n] = context_of(1 + 2 * n);
        assert_int_equal(spry_matrix_generate(contexts[n], &matrices[n], "rmat,scale=12", NULL, NULL), SPRY_OK);
        plans[n] = plan_of(contexts[n], matrices[n], "swept:blocks=9", SPRY_F64);
        spryi_swept *s = plans[n]->forward.stored.storage;
        if (n == 0) first = s;
        const size_t slots = (size_t)(s->sizes.batches * SPRYI_SWEPT_THREADS * 2);
        assert_memory_equal(&s->sizes, &first->sizes, sizeof s->sizes);
        assert_memory_equal(s->indices, first->indices, slots * sizeof *s->indices);
        assert_memory_equal(s->values, first->values, slots * sizeof(double));
        assert_memory_equal(s->extras, first->extras, (size_t)s->sizes.extras * sizeof *s->extras);
        assert_memory_equal(s->bases, first->bases, (size_t)s->sizes.batches * sizeof *s->bases);
    }
    for (int n = 0; n < 3; n++) {
        spry_spmv_plan_destroy(plans[n]);
        spry_matrix_destroy(matrices[n]);
        spry_context_destroy(contexts[n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_all_lengths),
        cmocka_unit_test(one_row_is_most_of_the_matrix),
        cmocka_unit_test(repeated_columns),
        cmocka_unit_test(one_row_and_one_column),
        cmocka_unit_test(far_columns),
        cmocka_unit_test(parameters_are_reported),
        cmocka_unit_test(same_storage_for_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
