#include "support.h"
#include "base/types.h"

#include "base/random.h"
#include "spry/spgemm.h"

uint64_t test_random(uint64_t *state)
{
    const uint64_t drawn = spryi_random(*state, 1);
    *state += SPRYI_RANDOM_STEP;
    return drawn;
}

int64_t test_below(uint64_t *state, int64_t limit)
{
    return limit <= 1 ? 0 : (int64_t)(test_random(state) % (uint64_t)limit);
}

/* ---- entries --------------------------------------------------------------------------------------- */

void test_add(test_entries *e, int64_t i, int64_t j, double value)
{
    if (e->nnz % 1024 == 0) {
        size_t room = (size_t)e->nnz + 1024;
        e->i = realloc(e->i, room * sizeof *e->i);
        e->j = realloc(e->j, room * sizeof *e->j);
        e->value = realloc(e->value, room * sizeof *e->value);
        assert_true(e->i && e->j && e->value);
    }
    e->i[e->nnz] = i;
    e->j[e->nnz] = j;
    e->value[e->nnz++] = value;
}

static double some_value(uint64_t *state)
{
    return (double)(test_below(state, 5) - 2); /* -2 .. 2 */
}

/* Adds row i. Each column of [from, to) is present with probability chance/1000. */
static void sprinkle(test_entries *e, int64_t i, int64_t from, int64_t to, int64_t chance, uint64_t *state)
{
    from = from < 0 ? 0 : from;
    to = to > e->cols ? e->cols : to;
    for (int64_t j = from; j < to; j++)
        if (test_below(state, 1000) < chance) test_add(e, i, j, some_value(state));
}

test_entries test_make(test_kind kind, int64_t rows, int64_t cols, double mean_row, uint64_t *state)
{
    test_entries e = {.rows = rows, .cols = cols};
    const int64_t chance = cols > 0 ? (int64_t)(1000 * mean_row / (double)cols) + 1 : 0;
    const int64_t special = kind == TEST_ONE_ROW ? test_below(state, rows) : test_below(state, cols);
    int64_t moves[8];
    for (int m = 0; m < 8; m++) moves[m] = test_below(state, 2 * (int64_t)mean_row + 3) - (int64_t)mean_row;
    for (int64_t i = 0; i < rows && cols > 0; i++) {
        const int64_t start = e.nnz;
        switch (kind) {
        case TEST_SHUFFLED:
            for (int64_t n = test_below(state, 2 * (int64_t)mean_row + 1); n > 0; n--)
                test_add(&e, i, test_below(state, cols), some_value(state));
            break;
        case TEST_BANDED: sprinkle(&e, i, i - (int64_t)mean_row, i + (int64_t)mean_row, 700, state); break;
        case TEST_STENCIL:
            for (int64_t j = i - 20; j < i + 20; j++)
                for (int m = 0; m < 8; m++)
                    if (i + moves[m] == j && j >= 0 && j < cols && (e.nnz == start || e.j[e.nnz - 1] < j))
                        test_add(&e, i, j, some_value(state));
            break;
        case TEST_GROUPED:
            if (i % 3 == 0 || e.nnz == 0) {
                sprinkle(&e, i, 0, cols, chance, state);
            } else {
                int64_t from = e.nnz;
                while (from > 0 && e.i[from - 1] == i - 1) from--;
                for (int64_t k = from, end = e.nnz; k < end; k++) test_add(&e, i, e.j[k], some_value(state));
            }
            break;
        case TEST_IDENTITY:
            if (i < cols) test_add(&e, i, i, 1);
            break;
        case TEST_PERMUTED: test_add(&e, i, (i * 7 + special) % cols, some_value(state)); break;
        case TEST_ONE_ROW: sprinkle(&e, i, 0, cols, i == special ? 1000 : chance / 4, state); break;
        case TEST_ONE_COLUMN:
            sprinkle(&e, i, 0, special, chance / 4, state);
            test_add(&e, i, special, some_value(state));
            break;
        case TEST_DENSE: sprinkle(&e, i, 0, cols, 1000, state); break;
        default:
            if (test_below(state, 4) > 0) sprinkle(&e, i, 0, cols, chance, state);
        }
    }
    return e;
}

void test_discard(test_entries *e)
{
    free(e->i);
    free(e->j);
    free(e->value);
    *e = (test_entries){0};
}

test_entries test_transposed(const test_entries *e)
{
    return (test_entries){.rows = e->cols, .cols = e->rows, .nnz = e->nnz, .i = e->j, .j = e->i, .value = e->value};
}

/* ---- matrices ---------------------------------------------------------------------------------------- */

static void store(void *array, spry_index_type type, int64_t k, int64_t value)
{
    if (type == SPRY_I64)
        ((int64_t *)array)[k] = value;
    else
        ((int32_t *)array)[k] = (int32_t)value;
}

int64_t test_index(const void *array, spry_index_type type, int64_t k)
{
    return type == SPRY_I64 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

spry_matrix *test_matrix(spry_context *context, const test_entries *e, test_form form)
{
    const size_t room = (size_t)(e->nnz + e->rows + e->cols + 2) * 8;
    void *offsets = calloc(1, room), *major = calloc(1, room), *minor = calloc(1, room), *values = calloc(1, room);
    const int csc = form.layout == SPRY_CSC, coo = form.layout == SPRY_COO;
    const int64_t majors = csc ? e->cols : e->rows, *of = csc ? e->j : e->i;
    int64_t *next = calloc((size_t)majors + 1, sizeof *next); /* position of the next entry of a row or column */
    assert_non_null(next);
    for (int64_t n = 0; n < e->nnz; n++) next[of[n] + 1]++;
    for (int64_t m = 0; m < majors; m++) next[m + 1] += next[m];
    for (int64_t m = 0; m <= majors && !coo; m++) store(offsets, form.offset_type, m, next[m]);
    for (int64_t n = 0; n < e->nnz; n++) {
        int64_t k = coo ? (n * 7919 + 3) % e->nnz : n; /* a permutation, unless 7919 (a prime) divides nnz */
        if (coo && e->nnz % 7919 == 0) k = n;
        const int64_t at = coo ? n : next[of[k]]++;
        store(major, form.index_type, at, e->i[k]);
        store(minor, form.index_type, at, csc ? e->i[k] : e->j[k]);
        if (form.value_type == SPRY_F32) ((float *)values)[at] = (float)e->value[k];
        if (form.value_type == SPRY_F64) ((double *)values)[at] = e->value[k];
    }
    free(next);
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = form.layout;
    a.rows = e->rows;
    a.columns = e->cols;
    a.nnz = e->nnz;
    a.offset_type = form.offset_type;
    a.index_type = form.index_type;
    a.value_type = form.value_type;
    a.offsets = form.layout == SPRY_COO ? NULL : offsets;
    a.row_indices = form.layout == SPRY_COO ? major : NULL;
    a.indices = minor;
    a.values = form.value_type == SPRY_PATTERN ? NULL : values;
    a.ownership = SPRY_COPY;
    spry_matrix *A = create_matrix(context, &a);
    free(offsets);
    free(major);
    free(minor);
    free(values);
    return A;
}

const char *const test_specs[TEST_SPECS] = {"gen:grid5,x=50,y=40",  "gen:rmat,scale=9",
                                            "gen:rgg,scale=11",     "gen:fem3,x=5,y=5,z=4",
                                            "gen:circuit,rows=900", "gen:uni18,rows=60000,degree=1"};

const char *const test_kernels[TEST_KERNELS] = {TEST_STUDY("spgemm_smmp_cpu", "spgemm_rows_cpu"), "spgemm_rows_cpu",
                                                "spgemm_rows_avx2_cpu", "spgemm_rows_avx512_cpu"};

spry_matrix *test_generate(spry_context *context, int number)
{
    return generate_matrix(context, test_specs[number]);
}

spry_matrix *test_square(spry_context *context, const spry_matrix *A, const spry_spgemm_options *options)
{
    return multiply_matrices(context, A, A, options);
}

/* ---- the triple loop ---------------------------------------------------------------------------------- */

test_dense test_multiply(const test_entries *a, const test_entries *b, spry_op op_b, double alpha, int a_pattern,
                         int b_pattern)
{
    test_dense d = {.rows = a->rows, .cols = op_b == SPRY_TRANSPOSE ? b->rows : b->cols};
    d.value = calloc((size_t)(d.rows * d.cols + 1), sizeof *d.value);
    d.structure = calloc((size_t)(d.rows * d.cols + 1), 1);
    assert_true(d.value && d.structure);
    for (int64_t k = 0; k < a->nnz; k++)
        for (int64_t l = 0; l < b->nnz; l++) {
            const int64_t inner = op_b == SPRY_TRANSPOSE ? b->j[l] : b->i[l];
            const int64_t j = op_b == SPRY_TRANSPOSE ? b->i[l] : b->j[l];
            if (a->j[k] != inner) continue;
            d.value[a->i[k] * d.cols + j] += (a_pattern ? 1 : a->value[k]) * (b_pattern ? 1 : b->value[l]);
            d.nnz += !d.structure[a->i[k] * d.cols + j];
            d.structure[a->i[k] * d.cols + j] = 1;
            d.products++;
        }
    for (int64_t c = 0; c < d.rows * d.cols; c++) d.value[c] *= alpha;
    return d;
}

void test_dense_free(test_dense *d)
{
    free(d->value);
    free(d->structure);
}

void test_equal(const spry_matrix *C, const test_dense *d, int drop, const char *what)
{
    spry_arrays c = arrays_of(C);
    if (c.layout != SPRY_CSR || c.rows != d->rows || c.columns != d->cols || c.sorted != SPRY_KNOWN_YES ||
        c.unique != SPRY_KNOWN_YES || test_index(c.offsets, c.offset_type, 0) != 0)
        fail_msg("%s: not a sorted CSR of %lld x %lld", what, (long long)d->rows, (long long)d->cols);
    int64_t k = 0;
    for (int64_t i = 0; i < d->rows; i++) {
        for (int64_t j = 0; j < d->cols; j++) {
            const double wanted = d->value[i * d->cols + j];
            if (!d->structure[i * d->cols + j] || (drop && wanted == 0)) continue;
            if (k >= c.nnz || test_index(c.indices, c.index_type, k) != j)
                fail_msg("%s: entry (%lld, %lld) is missing", what, (long long)i, (long long)j);
            const double got = c.value_type == SPRY_F64 ? ((const double *)c.values)[k] : ((const float *)c.values)[k];
            if (got != wanted)
                fail_msg("%s: entry (%lld, %lld) is %g, expected %g", what, (long long)i, (long long)j, got, wanted);
            k++;
        }
        if (test_index(c.offsets, c.offset_type, i + 1) != k) fail_msg("%s: offset %lld", what, (long long)i + 1);
    }
    if (k != c.nnz) fail_msg("%s: nnz is %lld, expected %lld", what, (long long)c.nnz, (long long)k);
}

int test_same_bits(const spry_matrix *C, const spry_matrix *D)
{
    spry_arrays c = arrays_of(C);
    spry_arrays d = arrays_of(D);
    if (c.rows != d.rows || c.columns != d.columns || c.nnz != d.nnz || c.offset_type != d.offset_type ||
        c.index_type != d.index_type || c.value_type != d.value_type)
        return 0;
    return memcmp(c.offsets, d.offsets, (size_t)(c.rows + 1) * spryi_index_type_bytes(c.offset_type)) == 0 &&
           memcmp(c.indices, d.indices, (size_t)c.nnz * spryi_index_type_bytes(c.index_type)) == 0 &&
           memcmp(c.values, d.values, (size_t)c.nnz * spry_type_bytes(c.value_type)) == 0;
}
