/*
 * Tests of csc and of products that add to scattered elements of y: transposed products, arrays read in place, phases
 * in which no two threads write the same elements, windows of y for each thread, and patterns.
 */
#include "support.h"

#include "base/memory.h"
#include "formats/csc/csc.h"
#include "kernels/arrays.h"
#include "kernels/families.h"
#include "plan/plan.h"
#include "spry/matrix.h"
#include "spry/tune.h"

/*
 * Transposes with two loops, as in a textbook, and compares the result with `csc`. The entries of each column must be
 * in row order.
 */
static void check_transposed(const family *f, const given *g, const spry_arrays *csc)
{
    const size_t width = spry_type_bytes(g->a.value_type);
    int64_t *next = calloc((size_t)f->cols + 1, sizeof *next);
    for (int64_t k = 0; k < f->nnz; k++) next[f->columns[k] + 1]++;
    for (int64_t j = 0; j < f->cols; j++) next[j + 1] += next[j];
    assert_true(csc->rows == f->rows && csc->columns == f->cols && csc->nnz == f->nnz);
    for (int64_t j = 0; j <= f->cols; j++) assert_int_equal(spryi_index_at(csc->offsets, csc->offset_type, j), next[j]);
    for (int64_t i = 0; i < f->rows; i++)
        for (int64_t k = f->offsets[i]; k < f->offsets[i + 1]; k++) {
            int64_t at = next[f->columns[k]]++;
            if (spryi_index_at(csc->indices, csc->index_type, at) != i)
                fail_msg("%s: entry %lld is not in row %lld", f->name, (long long)at, (long long)i);
            if (width > 0 && memcmp((const char *)csc->values + (size_t)at * width,
                                    (const char *)g->a.values + (size_t)k * width, width) != 0)
                fail_msg("%s: entry %lld has another value", f->name, (long long)at);
        }
    free(next);
}

static void transposition(void **state)
{
    static const int threads[] = {1, 2, 5};
    for (int c = 0; c < 3; c++) {
        spry_context *context = context_of(threads[c]);
        for (int number = 0; number < family_count(); number = family_next(number, 1))
            for (int type = SPRY_F32; type <= SPRY_PATTERN; type++) {
                if (!TEST_FULL && (number + type + c) % 3 != 0) continue; /* each case has one of three thread counts */
                const form how = {"CSR", SPRY_CSR, SPRY_NOT_KNOWN, type == SPRY_PATTERN, ON_HEAP, 0, 0};
                family f = family_make(number);
                double *values = random_numbers(f.nnz, SPRY_F32, 5);
                given g = given_make(&f, values, &how, type == SPRY_F64 ? SPRY_F64 : SPRY_F32, number % 3);
                spry_matrix *csc = NULL;
                spry_matrix *A = create_matrix(context, &g.a);
                assert_int_equal(spryi_csc_from_csr(context, &csc, A, NULL), SPRY_OK);
                check_transposed(&f, &g, &csc->a);
                spryi_matrix_release(csc);
                spry_matrix_destroy(A);
                given_free(&g);
                free(values);
                family_free(&f);
            }
        assert_int_equal(context_bytes(context), 0);
        spry_context_destroy(context);
    }
}

/* A plan uses the arrays of a CSC matrix without a copy. */
static void csc_is_borrowed(void **state)
{
    static const int32_t offsets[] = {0, 2, 3, 4, 5}, rows[] = {0, 2, 1, 0, 2};
    static const double values[] = {1, 4, 3, 2, 5}, x[] = {1, 10, 100, 1000}, wanted[] = {201, 30, 5004};
    spry_context *context = context_of(2);
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_CSC;
    a.rows = 3;
    a.columns = 4;
    a.nnz = 5;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = SPRY_F64;
    a.offsets = offsets;
    a.indices = rows;
    a.values = values;
    spry_matrix *A = create_matrix(context, &a);
    spry_spmv_plan *plan = plan_in(context, A, "csc", NULL, SPRY_NO_TRANSPOSE);
    const spryi_csr *s = plan->forward.stored.storage;
    assert_ptr_equal(s->a.values, values);
    assert_ptr_equal(s->a.indices, rows);
    assert_ptr_equal(s->a.offsets, offsets);
    assert_true(s->a.rows == 4 && s->a.columns == 3 && s->scatters && s->chunks.count == 1);
    double y[3];
    multiply_f64(plan, y, 3, x, 4);
    for (int i = 0; i < 3; i++) assert_true(y[i] == wanted[i]);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Checks that no two chunks of a phase add to the same column, and that the chunks' ranges set each column to zero
 * exactly once, before the first addition.
 */
static void check_phases(const spryi_csr *s)
{
    const spryi_csr_chunks *t = &s->chunks;
    const int64_t n = s->a.columns;
    int64_t *phase_of = malloc((size_t)n * sizeof *phase_of), *set = calloc((size_t)n, sizeof *set);
    int64_t *chunk_of = malloc((size_t)n * sizeof *chunk_of), blocks = 0;
    for (int64_t j = 0; j < n; j++) phase_of[j] = -1;
    for (int64_t phase = 0; phase < t->phase_count; phase++)
        for (int64_t c = t->phases[phase]; c < t->phases[phase + 1]; c++) {
            const spryi_csr_chunk *chunk = &t->list[c];
            blocks += chunk->last - chunk->first;
            for (int64_t r = chunk->ranges_begin; r < chunk->ranges_end; r++)
                for (int64_t j = t->ranges[r].begin; j < t->ranges[r].end; j++) {
                    assert_int_equal(phase_of[j], -1); /* no chunk has added to the column yet */
                    set[j]++;
                }
            for (int64_t b = chunk->first; b < chunk->last; b++) {
                const spryi_csr_block *block = &s->blocks.list[b];
                assert_int_equal(block->piece, -1);
                int64_t end = spryi_index_at(s->a.offsets, s->a.offset_type, block->end);
                for (int64_t k = spryi_index_at(s->a.offsets, s->a.offset_type, block->begin); k < end; k++) {
                    int64_t j = spryi_index_at(s->a.indices, s->a.index_type, k);
                    assert_true(set[j] == 1);
                    assert_false(phase_of[j] == phase && chunk_of[j] != c);
                    phase_of[j] = phase;
                    chunk_of[j] = c;
                }
            }
        }
    for (int64_t j = 0; j < n; j++) assert_int_equal(set[j], 1);
    assert_int_equal(blocks, s->blocks.count);
    free(phase_of);
    free(chunk_of);
    free(set);
}

/*
 * Asserts that transposed products of meshes run in phases with enough chunks for multiple threads. Products of graphs
 * use windows of y instead. The windows' memory must stay within 1/SPRYI_WINDOW_SHARE of the matrix's memory.
 */
static void phases_and_windows(void **state)
{
    static const struct {
        const char *spec;
        int phases;
    } cases[] = {{"gen:grid5,x=300,y=300", 1}, {"gen:grid7,x=30,y=30,z=60", 1}, {"gen:rmat,scale=13", 0}};
    spry_context *context = context_of(3);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        spry_matrix *A = generate_matrix(context, cases[n].spec);
        spry_spmv_plan *plan = plan_in(context, A, "csr", NULL, SPRY_TRANSPOSE);
        const spryi_csr *s = plan->forward.stored.storage;
        if (cases[n].phases) {
            assert_in_range(s->chunks.phase_count, 2, 8);
            assert_true(s->chunks.count >= 4 * s->chunks.phase_count);
            check_phases(s);
        } else {
            assert_int_equal(s->chunks.phase_count, 0);
            assert_in_range(s->chunks.count, 2, SPRYI_MOST_WINDOWS);
            assert_true(s->chunks.window_elements * 8 * SPRYI_WINDOW_SHARE <= A->a.nnz * 12);
        }
        assert_true(plan->forward.work.bytes >= A->a.columns * 8);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

/* Asserts that csr and csc store no value array for a pattern. */
static void patterns_have_no_values(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "gen:grid5,x=50,y=40");
    spry_matrix_options convert = SPRY_INIT(spry_matrix_options);
    convert.value_type = SPRY_PATTERN;
    spry_matrix *P = convert_matrix(context, A, &convert);
    static const char *const formats[] = {"csr", "csc"};
    for (int f = 0; f < 2; f++)
        for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
            spry_spmv_plan *plan = plan_in(context, P, formats[f], NULL, (spry_op)op);
            const spryi_csr *s = plan->forward.stored.storage;
            assert_null(s->a.values);
            spryi_storage storage = {0};
            spry_spmv_options options = SPRY_INIT(spry_spmv_options);
            options.format = formats[f];
            assert_int_equal(spryi_predict_storage(context, &storage, P, &options, NULL), SPRY_OK);
            assert_int_equal(storage.bytes, P->a.nnz * 4 + 2001 * 4);
            assert_int_equal(storage.words, P->a.nnz + 2001);
            spry_spmv_plan_destroy(plan);
        }
    spry_matrix_destroy(P);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposition),
        cmocka_unit_test(csc_is_borrowed),
        cmocka_unit_test(phases_and_windows),
        cmocka_unit_test(patterns_have_no_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
