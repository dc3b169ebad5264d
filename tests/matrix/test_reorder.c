/* Orderings and permuted matrices. */
#include "reorder/order.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "support.h"

static const char *const methods[] = {"rcm", "bandk", "degree", "bfs"};
enum { METHODS = sizeof methods / sizeof *methods };

/* ---- helpers ------------------------------------------------------------------------------------ */

typedef struct ordered {
    spry_ordering *handle;
    spry_ordering_info info;
} ordered;

static ordered order_with(spry_context *context, const spry_matrix *A, spry_ordering_options o)
{
    ordered r = {.info = SPRY_INIT(spry_ordering_info)};
    spry_error err = {0};
    MUST(spry_ordering_create(context, &r.handle, A, &o, err));
    assert_int_equal(spry_ordering_get_info(r.handle, &r.info, &err), SPRY_OK);
    return r;
}

static ordered order(spry_context *context, const spry_matrix *A, const char *method)
{
    spry_ordering_options o = SPRY_INIT(spry_ordering_options);
    o.method = method;
    return order_with(context, A, o);
}

static void check_permutation(const int64_t *perm, int64_t n)
{
    char *seen = calloc((size_t)n + 1, 1);
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(perm[i], 0, n - 1);
        if (seen[perm[i]]++) fail_msg("%lld is there twice", (long long)perm[i]);
    }
    free(seen);
}

/* Checks that the groups cover 0 to `total`. No group is empty or larger than 1.5 times its nominal size. */
static void check_groups(const int64_t *ptr, int64_t count, int64_t total, int64_t size)
{
    assert_non_null(ptr);
    assert_int_equal(ptr[0], 0);
    assert_int_equal(ptr[count], total);
    for (int64_t g = 0; g < count; g++) assert_in_range(ptr[g + 1] - ptr[g], 1, size + size / 2);
}

static void check_ordering(const ordered *o, int64_t rows, int64_t cols)
{
    assert_int_equal(o->info.rows, rows);
    assert_int_equal(o->info.columns, cols);
    check_permutation(o->info.row_perm, rows);
    assert_ptr_equal(o->info.column_perm, rows == cols ? o->info.row_perm : NULL);
    if (strcmp(o->info.method, "bandk") != 0) {
        assert_null(o->info.groups->sr_ptr);
        assert_null(o->info.groups->ssr_ptr);
        return;
    }
    check_groups(o->info.groups->sr_ptr, o->info.groups->sr_count, rows, o->info.groups->srs);
    if (o->info.groups->ssrs > 0)
        check_groups(o->info.groups->ssr_ptr, o->info.groups->ssr_count, o->info.groups->sr_count,
                     o->info.groups->ssrs);
    else
        assert_null(o->info.groups->ssr_ptr);
}

static spry_ordering_stats figures_of(const ordered *o, const spry_matrix *A)
{
    spry_ordering_stats f = SPRY_INIT(spry_ordering_stats);
    MUST(spry_ordering_get_stats(o->handle, &f, A, err));
    return f;
}

static spry_matrix *permuted(spry_context *context, const spry_matrix *A, const int64_t *rows, const int64_t *cols)
{
    spry_matrix *B = NULL;
    MUST(permute_matrix(context, &B, A, rows, cols, err));
    return B;
}

/* ---- orderings ---------------------------------------------------------------------------------- */

static void every_kind_of_graph(void **state)
{
    static const char *const specs[] = {"grid5,x=40,y=30,shuffle=7",
                                        "grid27,x=9,y=8,z=7,shuffle=3",
                                        "rgg20,scale=11,shuffle=5",
                                        "rmat16,scale=9",
                                        "diagonal,rows=300",
                                        "arrow,rows=500",
                                        "dense,rows=40,cols=40",
                                        "uni18,rows=900",
                                        "banded,rows=800,half=1",
                                        "empty,rows=5,cols=5",
                                        "empty,rows=1,cols=1",
                                        "empty,rows=0,cols=0",
                                        "dense,rows=1,cols=1",
                                        "random,rows=70,cols=400,density=0.02",
                                        "random,rows=400,cols=70,density=0.02",
                                        "empty,rows=4,cols=0",
                                        "empty,rows=0,cols=4",
                                        "dense,rows=1,cols=9",
                                        "circuit,rows=3000",
                                        "random,rows=300,cols=300,density=0.005"};
    for (int s = 0; s < TEST_COUNT(specs); s++) {
        spry_matrix *A = test_generate(*state, specs[s], NULL);
        spry_arrays a = arrays_of(A);
        for (int m = 0; m < METHODS; m++) {
            ordered o = order(*state, A, methods[m]);
            assert_string_equal(o.info.method, methods[m]);
            check_ordering(&o, a.rows, a.columns);
            spry_ordering_destroy(o.handle);
        }
        spry_matrix_destroy(A);
    }
}

static void sizes_of_groups(void **state)
{
    static const int64_t sizes[][2] = {{1, 1}, {1, 4}, {2, 1}, {7, 3}, {24, 6}, {96, 8}, {500, 2}, {32768, 32768}};
    spry_matrix *A = test_generate(*state, "rgg20,scale=12,shuffle=5", NULL);
    const int64_t m = arrays_of(A).rows;
    for (int s = 0; s < TEST_COUNT(sizes); s++)
        for (int k = 2; k <= 3; k++) {
            spry_ordering_options how = SPRY_INIT(spry_ordering_options);
            how.method = "bandk";
            how.k = k;
            how.srs = sizes[s][0];
            how.ssrs = k == 3 ? sizes[s][1] : 0;
            ordered o = order_with(*state, A, how);
            assert_int_equal(o.info.groups->srs, how.srs);
            assert_int_equal(o.info.groups->ssrs, how.ssrs);
            check_ordering(&o, m, m);
            assert_true(o.info.groups->sr_count <= 2 * m / how.srs + 8); /* the mean size is at least about srs / 2 */
            if (k == 3) assert_true(o.info.groups->ssr_count <= 2 * o.info.groups->sr_count / how.ssrs + 8);
            spry_ordering_destroy(o.handle);
        }
    spry_ordering_options how = SPRY_INIT(spry_ordering_options);
    how.method = "bandk";
    ordered cpu = order_with(*state, A, how);
    assert_int_equal(cpu.info.groups->srs, 96);
    assert_int_equal(cpu.info.groups->ssrs, 8);
    how.tuning = "volta"; /* 7.4 entries per row: srs = 10.146 - 1.50 ln 7.4 = 7.1, ssrs = 8.900 - 1.25 ln 7.4 = 6.4 */
    ordered volta = order_with(*state, A, how);
    const double density = (double)arrays_of(A).nnz / (double)m;
    if (density <= 8) assert_in_range(volta.info.groups->srs, 6, 8);
    check_ordering(&volta, m, m);
    spry_ordering_destroy(cpu.handle);
    spry_ordering_destroy(volta.handle);
    spry_matrix_destroy(A);
}

static void bandwidth_is_small(void **state)
{
    static const struct {
        const char *spec;
        int64_t rcm, bandk; /* upper limits */
    } cases[] = {{"grid5,x=300,y=300,shuffle=1", 300, 1500},
                 {"banded,rows=5000,half=1,shuffle=3", 1, 200},
                 {"grid5,x=20,y=1000,shuffle=4", 21, 105}};
    for (int c = 0; c < TEST_COUNT(cases); c++) {
        spry_matrix *A = test_generate(*state, cases[c].spec, NULL);
        for (int m = 0; m < 2; m++) {
            ordered o = order(*state, A, methods[m]);
            spry_ordering_stats f = figures_of(&o, A);
            assert_true(f.bandwidth_before > 4000);
            assert_in_range(f.bandwidth_after, 1, m == 0 ? cases[c].rcm : cases[c].bandk);
            spry_ordering_destroy(o.handle);
        }
        spry_matrix_destroy(A);
    }
}

static void any_number_of_threads(void **state)
{
    /*
     * In the last two matrices, threads share the work of one level, either when the graph is built or in its first
     * traversal. In the last matrix, some nodes also find many other nodes.
     */
    static const char *const specs[] = {"rgg20,scale=13,shuffle=5", "rmat16,scale=12",
                                        "random,rows=9000,cols=4000,density=0.001",
                                        "random,rows=40000,cols=9000,density=0.0001", "rmat,scale=17,edges=3"};
    static const int threads[] = {1, 2, SPRYI_LEVEL_THREADS};
    for (int s = 0; s < TEST_COUNT(specs); s++)
        for (int m = 0; m < METHODS; m++) {
            if (s == TEST_COUNT(specs) - 1 && m > 0) continue;
            int64_t *first = NULL;
            for (int t = 0; t < 3; t++) {
                test_memory memory = {0};
                spry_context *context = counted_context(&memory, threads[t]);
                spry_matrix *A = test_generate(context, specs[s], NULL);
                const int64_t rows = arrays_of(A).rows;
                ordered o = order(context, A, methods[m]);
                const size_t groups = (size_t)(o.info.groups->sr_count + (o.info.groups->sr_ptr ? 1 : 0)),
                             n = (size_t)rows;
                if (!first) {
                    first = malloc((n + groups + 1) * sizeof *first);
                    memcpy(first, o.info.row_perm, n * sizeof *first);
                    if (groups) memcpy(first + n, o.info.groups->sr_ptr, groups * sizeof *first);
                }
                assert_memory_equal(first, o.info.row_perm, n * sizeof *first);
                if (groups) assert_memory_equal(first + n, o.info.groups->sr_ptr, groups * sizeof *first);
                spry_ordering_destroy(o.handle);
                spry_matrix_destroy(A);
                spry_context_destroy(context);
                assert_int_equal(memory.blocks, 0);
            }
            free(first);
        }
}

/* ---- the graph ---------------------------------------------------------------------------------- */

enum { N = 60 };

static int by_row(const void *left, const void *right)
{
    const test_entry *a = left, *b = right;
    return a->i != b->i ? (a->i < b->i ? -1 : 1) : a->j < b->j ? -1 : a->j > b->j;
}
static int by_column(const void *left, const void *right)
{
    const test_entry *a = left, *b = right;
    return a->j != b->j ? (a->j < b->j ? -1 : 1) : a->i < b->i ? -1 : a->i > b->i;
}

/* Draws distinct random entries. mirrored: with mirror images. loops: 1 with a diagonal, 0 without. */
static int64_t random_entries(test_entry *entries, uint64_t seed, int mirrored, int loops)
{
    char stored[N][N] = {{0}};
    int64_t nnz = 0;
    for (int e = 0; e < 2 * N; e++) {
        int i = (int)(test_random(&seed) % N), j = (int)(test_random(&seed) % N);
        if (i == j) continue;
        stored[i][j] = 1;
        if (mirrored) stored[j][i] = 1;
    }
    for (int i = 0; i < N; i++) {
        if (loops && i % 3) stored[i][i] = 1;
        for (int j = 0; j < N; j++)
            if (stored[i][j]) entries[nnz++] = (test_entry){i, j, 1 + i + 100 * j};
    }
    return nnz;
}

static void same_perm(spry_context *context, const spry_matrix *A, const spry_matrix *B, const char *method)
{
    ordered a = order(context, A, method), b = order(context, B, method);
    check_ordering(&a, N, N);
    assert_memory_equal(a.info.row_perm, b.info.row_perm, N * sizeof(int64_t));
    assert_int_equal(a.info.components, b.info.components);
    spry_ordering_destroy(a.handle);
    spry_ordering_destroy(b.handle);
}

static void unsymmetric_is_made_symmetric(void **state)
{
    test_entry one[N * N], both[N * N];
    const test_form csr = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    for (uint64_t seed = 1; seed < 20; seed++) {
        /* Only the matrix of `one` has a diagonal, which must not change the ordering. */
        int64_t nnz = random_entries(one, seed, 0, 1), all = random_entries(both, seed, 1, 0);
        for (int f = 0; f < TEST_FORMS; f++) {
            test_form form = test_form_number(f);
            qsort(one, (size_t)nnz, sizeof *one, form.layout == SPRY_CSC ? by_column : by_row);
            spry_matrix *A = test_matrix(*state, N, N, one, nnz, form), *B = test_matrix(*state, N, N, both, all, csr);
            for (int m = 0; m < METHODS; m++)
                if (strcmp(methods[m], "degree") != 0) same_perm(*state, A, B, methods[m]);
            spry_matrix_destroy(A);
            spry_matrix_destroy(B);
        }
    }
}

static void forms_of_symmetric(void **state)
{
    test_entry entries[N * N];
    const test_form csr = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    int64_t nnz = random_entries(entries, 5, 1, 1);
    spry_matrix *A = test_matrix(*state, N, N, entries, nnz, csr);
    for (int f = 0; f < TEST_FORMS; f++) {
        test_form form = test_form_number(f);
        qsort(entries, (size_t)nnz, sizeof *entries, form.layout == SPRY_CSC ? by_column : by_row);
        spry_matrix *B = test_matrix(*state, N, N, entries, nnz, form);
        for (int m = 0; m < METHODS; m++) same_perm(*state, A, B, methods[m]);
        spry_matrix_destroy(B);
    }
    spry_matrix_destroy(A);
}

/*
 * Tests matrices with false fields (sorted, unique, symmetry), and repeated and unsorted entries. Orderings may be bad,
 * but must be permutations.
 */
static void odd_input(void **state)
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        int32_t offsets[N + 1] = {0}, columns[N * 6];
        uint64_t random = seed;
        for (int i = 0; i < N; i++) {
            offsets[i + 1] = offsets[i] + (int32_t)(test_random(&random) % 6);
            for (int32_t k = offsets[i]; k < offsets[i + 1]; k++) columns[k] = (int32_t)(test_random(&random) % N);
        }
        spry_arrays a = csr_arrays(N, N, offsets, columns, NULL, SPRY_PATTERN);
        for (int claim = 0; claim < 2; claim++) {
            a.symmetry = claim ? SPRY_SYMMETRIC : SPRY_GENERAL;
            spry_matrix *A = create_matrix(*state, &a);
            for (int m = 0; m < METHODS; m++) {
                spry_ordering_options how = SPRY_INIT(spry_ordering_options);
                how.method = methods[m];
                if (m == 1) how.srs = 4, how.ssrs = 3;
                ordered o = order_with(*state, A, how);
                check_ordering(&o, N, N);
                spry_ordering_destroy(o.handle);
            }
            spry_matrix_destroy(A);
        }
    }
}

/* Row r has columns s .. s+2, where s is its position in a chain. Ordered rows must follow the chain. */
static void rectangular_rows_follow_columns(void **state)
{
    enum { ROWS = 50, COLS = ROWS + 2 };
    test_entry entries[3 * ROWS];
    int64_t place[ROWS];
    for (int r = 0; r < ROWS; r++) {
        place[r] = (r * 17) % ROWS;
        for (int c = 0; c < 3; c++) entries[3 * r + c] = (test_entry){r, place[r] + c, 1};
    }
    spry_matrix *A =
        test_matrix(*state, ROWS, COLS, entries, 3 * ROWS, (test_form){SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32});
    ordered o = order(*state, A, "rcm");
    check_ordering(&o, ROWS, COLS);
    for (int p = 1; p < ROWS; p++) /* two rows of one level may swap */
        assert_in_range(llabs(place[o.info.row_perm[p]] - place[o.info.row_perm[p - 1]]), 1, 4);
    spry_ordering_destroy(o.handle);
    o = order(*state, A, "bandk");
    check_ordering(&o, ROWS, COLS);
    spry_ordering_destroy(o.handle);
    spry_matrix_destroy(A);
}

static void degrees_fall(void **state)
{
    spry_matrix *A = test_generate(*state, "rmat16,scale=8", NULL);
    ordered o = order(*state, A, "degree");
    spry_arrays a = arrays_of(A);
    int64_t before = INT64_MAX, before_row = -1;
    for (int64_t p = 0; p < a.rows; p++) {
        const int64_t i = o.info.row_perm[p];
        int64_t entries = test_offset(&a, i + 1) - test_offset(&a, i);
        for (int64_t k = 0; k < a.nnz; k++) entries += test_index(&a, k) == i;
        assert_true(entries < before || (entries == before && i > before_row));
        before = entries;
        before_row = i;
    }
    spry_ordering_destroy(o.handle);
    spry_matrix_destroy(A);
}

/* ---- the permuted matrix ------------------------------------------------------------------------ */

static double entry_at(const spry_arrays *a, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t k = test_offset(a, i); k < test_offset(a, i + 1); k++)
        if (test_index(a, k) == j) sum += test_value(a, k);
    return sum;
}

static void entry_by_entry(void **state)
{
    enum { ROWS = 9, COLS = 7 };
    static const int64_t row_perm[ROWS] = {4, 0, 8, 2, 7, 1, 3, 6, 5}, col_perm[COLS] = {6, 1, 0, 5, 2, 4, 3};
    test_entry entries[ROWS * COLS];
    for (int f = 0; f < TEST_FORMS; f++)
        for (int sides = 0; sides < 4; sides++) {
            test_form form = test_form_number(f);
            int64_t nnz = 0;
            for (int i = 0; i < ROWS; i++)
                for (int j = 0; j < COLS; j++)
                    if ((i * 5 + j * 3) % 4 == 0) entries[nnz++] = (test_entry){i, j, 1 + i + 16 * j};
            if (form.layout == SPRY_CSC) qsort(entries, (size_t)nnz, sizeof *entries, by_column);
            spry_matrix *A = test_matrix(*state, ROWS, COLS, entries, nnz, form);
            spry_matrix *B = permuted(*state, A, sides & 1 ? row_perm : NULL, sides & 2 ? col_perm : NULL);
            spry_arrays b = arrays_of(B);
            assert_int_equal(spry_matrix_check(B, NULL, SPRY_CHECK_ALL, NULL), SPRY_OK);
            assert_int_equal(b.layout, SPRY_CSR);
            assert_int_equal(b.nnz, nnz);
            assert_int_equal(b.sorted, SPRY_KNOWN_YES);
            assert_int_equal(b.value_type, form.value_type);
            assert_int_equal(b.index_type, form.index_type);
            for (int i = 0; i < ROWS; i++)
                for (int j = 0; j < COLS; j++) {
                    const int64_t from_i = sides & 1 ? row_perm[i] : i, from_j = sides & 2 ? col_perm[j] : j;
                    const int stored = (from_i * 5 + from_j * 3) % 4 == 0;
                    const double value = form.value_type == SPRY_PATTERN ? 1 : (double)(1 + from_i + 16 * from_j);
                    assert_true(entry_at(&b, i, j) == (stored ? value : 0));
                }
            spry_matrix_destroy(A);
            spry_matrix_destroy(B);
        }
}

static void symmetry_and_figures(void **state)
{
    spry_matrix *A = test_generate(*state, "laplace7,x=9,y=8,z=7,shuffle=3", NULL);
    spry_arrays a = arrays_of(A);
    a.symmetry = SPRY_SYMMETRIC;
    spry_matrix *claimed = create_matrix(*state, &a);
    for (int m = 0; m < METHODS; m++) {
        ordered o = order(*state, claimed, methods[m]);
        spry_matrix *B = permuted(*state, claimed, o.info.row_perm, o.info.column_perm);
        spry_matrix_stats before = SPRY_INIT(spry_matrix_stats), after = SPRY_INIT(spry_matrix_stats);
        assert_int_equal(spry_matrix_check(B, NULL, SPRY_CHECK_ALL, NULL), SPRY_OK); /* the claim holds */
        assert_int_equal(arrays_of(B).symmetry, SPRY_SYMMETRIC);
        assert_int_equal(spry_matrix_get_stats(A, &before, NULL), SPRY_OK);
        assert_int_equal(spry_matrix_get_stats(B, &after, NULL), SPRY_OK);
        spry_ordering_stats f = figures_of(&o, A);
        assert_int_equal(f.bandwidth_before, before.bandwidth);
        assert_int_equal(f.profile_before, before.profile);
        assert_int_equal(f.bandwidth_after, after.bandwidth);
        assert_int_equal(f.profile_after, after.profile);
        ordered again = order(*state, B, methods[m]);
        assert_true(figures_of(&again, B).sectors_before == f.sectors_after);
        spry_ordering_destroy(again.handle);
        spry_matrix_destroy(B);
        B = permuted(*state, claimed, o.info.row_perm, NULL); /* only rows are permuted, so B is not symmetric */
        assert_int_equal(arrays_of(B).symmetry, SPRY_GENERAL);
        spry_matrix_destroy(B);
        spry_ordering_destroy(o.handle);
    }
    spry_matrix_destroy(claimed);
    spry_matrix_destroy(A);
}

static void product_in_the_users_numbering(void **state)
{
    static const char *const specs[] = {"rgg20,scale=10,shuffle=2", "rmat16,scale=9",
                                        "random,rows=300,cols=200,density=0.02"};
    for (int s = 0; s < TEST_COUNT(specs); s++) {
        spry_read_options pattern = SPRY_INIT(spry_read_options);
        pattern.value_type = SPRY_PATTERN;
        spry_matrix *A = test_generate(*state, specs[s], &pattern);
        spry_arrays a = arrays_of(A);
        const size_t m = (size_t)a.rows, n = (size_t)a.columns;
        double *x = calloc(n, 8), *y = calloc(m, 8), *x2 = calloc(n, 8), *y2 = calloc(m, 8);
        for (size_t j = 0; j < n; j++) x[j] = (double)((j * 7919) % 1001); /* integers, so sums are exact */
        assert_int_equal(spry_spmv(*state, spry_vector_f64(y, a.rows), NULL, A, spry_const_vector_f64(x, a.columns),
                                   NULL, NULL),
                         SPRY_OK);
        for (int method = 0; method < 3; method++) {
            ordered o = order(*state, A, methods[method]);
            spry_matrix *B = permuted(*state, A, o.info.row_perm, o.info.column_perm);
            for (size_t j = 0; j < n; j++) x2[j] = x[o.info.column_perm ? (size_t)o.info.column_perm[j] : j];
            assert_int_equal(spry_spmv(*state, spry_vector_f64(y2, a.rows), NULL, B,
                                       spry_const_vector_f64(x2, a.columns), NULL, NULL),
                             SPRY_OK);
            for (size_t i = 0; i < m; i++) assert_true(y2[i] == y[o.info.row_perm[i]]);
            spry_matrix_destroy(B);
            spry_ordering_destroy(o.handle);
        }
        free(x);
        free(y);
        free(x2);
        free(y2);
        spry_matrix_destroy(A);
    }
}

/* ---- refusals ----------------------------------------------------------------------------------- */

static void mistakes(void **state)
{
    spry_matrix *A = test_generate(*state, "grid5,x=4,y=3", NULL),
                *other = test_generate(*state, "grid5,x=4,y=4", NULL);
    static const struct {
        spry_ordering_options o;
        spry_status status;
        const char *argument, *message;
    } cases[] =
        {{{.method = "rmc"},
          SPRY_UNKNOWN_NAME,
          "method",
          "no method is called 'rmc'; there are rcm, bandk, degree and bfs"},
         {{.method = "bandk", .tuning = "fast"}, SPRY_UNKNOWN_NAME, "tuning", "no tuning is called 'fast'"},
         {{.method = "bandk", .k = 5}, SPRY_INVALID_ARGUMENT, "k", "k is 5, expected 2, 3 or 4"},
         {{.method = "bandk", .sssrs = 8},
          SPRY_INVALID_ARGUMENT,
          "sssrs",
          "with k = 3 there are no groups of super-sup"},
         {{.method = "bandk", .k = 4, .sssrs = -1}, SPRY_INVALID_ARGUMENT, "sssrs", "sssrs is -1, expected 1 to 32768"},
         {{.method = "bandk", .srs = -1}, SPRY_INVALID_ARGUMENT, "srs", "srs is -1, expected 1 to 32768"},
         {{.method = "bandk", .ssrs = 40000}, SPRY_INVALID_ARGUMENT, "ssrs", "ssrs is 40000, expected 1 to 32768"},
         {{.method = "bandk", .k = 2, .ssrs = 4}, SPRY_INVALID_ARGUMENT, "ssrs", "there are no super-super-rows"},
         {{.method = "rcm", .srs = 8}, SPRY_INVALID_ARGUMENT, "method", "rcm has no groups"},
         {{.k = 2}, SPRY_INVALID_ARGUMENT, "method", "rcm has no groups"}};
    spry_ordering *none = NULL;
    spry_error err = {0};
    for (int c = 0; c < TEST_COUNT(cases); c++) {
        spry_ordering_options how = cases[c].o;
        how.struct_size = sizeof how;
        assert_int_equal(spry_ordering_create(*state, &none, A, &how, &err), cases[c].status);
        assert_string_equal(err.argument, cases[c].argument);
        if (!strstr(err.message, cases[c].message)) fail_msg("'%s' in: %s", cases[c].message, err.message);
        assert_null(none);
    }
    spry_ordering_options unsized = {0};
    assert_int_equal(spry_ordering_create(*state, &none, A, &unsized, NULL), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_ordering_create(NULL, &none, A, NULL, NULL), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_ordering_create(*state, NULL, A, NULL, NULL), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_ordering_create(*state, &none, NULL, NULL, NULL), SPRY_INVALID_ARGUMENT);

    ordered o = order(*state, A, NULL);
    assert_string_equal(o.info.method, "rcm");
    spry_ordering_stats f = SPRY_INIT(spry_ordering_stats);
    assert_int_equal(spry_ordering_get_stats(o.handle, &f, other, &err), SPRY_INVALID_SIZE);
    assert_int_equal(spry_ordering_get_info(o.handle, NULL, NULL), SPRY_INVALID_ARGUMENT);
    spry_ordering_destroy(o.handle);
    spry_ordering_destroy(NULL);

    spry_matrix_destroy(A);
    spry_matrix_destroy(other);
}

/* ---- memory ------------------------------------------------------------------------------------- */

typedef struct memory_case {
    const char *spec, *method;
    spry_layout layout;
} memory_case;

static spry_status order_and_permute(spry_context *context, const void *input, spry_error *err)
{
    const memory_case *c = input;
    spry_matrix *A = NULL, *source = NULL, *B = NULL;
    spry_ordering *ordering = NULL;
    spry_ordering_options how = SPRY_INIT(spry_ordering_options);
    spry_matrix_options as = SPRY_INIT(spry_matrix_options);
    spry_ordering_info info = SPRY_INIT(spry_ordering_info);
    spry_ordering_stats figures = SPRY_INIT(spry_ordering_stats);
    how.method = c->method;
    as.layout = c->layout;
    spry_status status = spry_matrix_generate(context, &source, c->spec, NULL, err);
    if (status == SPRY_OK) status = spry_matrix_convert(context, &A, NULL, source, &as, err);
    if (status == SPRY_OK) status = spry_ordering_create(context, &ordering, A, &how, err);
    if (status == SPRY_OK) status = spry_ordering_get_info(ordering, &info, err);
    if (status == SPRY_OK) status = spry_ordering_get_stats(ordering, &figures, A, err);
    if (status == SPRY_OK) status = permute_matrix(context, &B, A, info.row_perm, info.column_perm, err);
    spry_matrix_destroy(B);
    spry_ordering_destroy(ordering);
    spry_matrix_destroy(A);
    spry_matrix_destroy(source);
    return status;
}

static void every_allocation(void **state)
{
    static const memory_case cases[] = {{"grid5,x=12,y=10,shuffle=1", "rcm", SPRY_CSR},
                                        {"grid5,x=30,y=10,shuffle=1", "bandk", SPRY_CSR},
                                        {"random,rows=80,cols=80,density=0.04", "bandk", SPRY_COO},
                                        {"random,rows=80,cols=30,density=0.1", "bandk", SPRY_CSC},
                                        {"random,rows=80,cols=80,density=0.04", "degree", SPRY_CSC}};
    for (int c = 0; c < TEST_COUNT(cases); c++) assert_true(fail_every_allocation(order_and_permute, &cases[c], 2) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kind_of_graph, test_setup, close_context),
        cmocka_unit_test_setup_teardown(sizes_of_groups, test_setup, close_context),
        cmocka_unit_test_setup_teardown(bandwidth_is_small, test_setup, close_context),
        cmocka_unit_test_setup_teardown(any_number_of_threads, test_setup, close_context),
        cmocka_unit_test_setup_teardown(unsymmetric_is_made_symmetric, test_setup, close_context),
        cmocka_unit_test_setup_teardown(forms_of_symmetric, test_setup, close_context),
        cmocka_unit_test_setup_teardown(odd_input, test_setup, close_context),
        cmocka_unit_test_setup_teardown(rectangular_rows_follow_columns, test_setup, close_context),
        cmocka_unit_test_setup_teardown(degrees_fall, test_setup, close_context),
        cmocka_unit_test_setup_teardown(entry_by_entry, test_setup, close_context),
        cmocka_unit_test_setup_teardown(symmetry_and_figures, test_setup, close_context),
        cmocka_unit_test_setup_teardown(product_in_the_users_numbering, test_setup, close_context),
        cmocka_unit_test_setup_teardown(mistakes, test_setup, close_context),
        cmocka_unit_test(every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
