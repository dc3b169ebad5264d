/*
 * Tests of the format "windowed", whose words windowed.h explains: groups of rows with equal columns, runs of columns,
 * windows of rows, and orders of the rows. Also tests bad parameters, and equal results for all thread counts.
 */
#include "support.h"

#include "base/context.h"
#include "catalogue/catalogue.h"
#include "formats/windowed/windowed_reader.h"
#include "plan/plan.h"

/* A plan of the sketch and its storage. */
typedef struct windowed_plan {
    spry_context *context;
    spry_matrix *A;
    spry_spmv_plan *plan;
    spryi_windowed *s;
} windowed_plan;

static windowed_plan plan_of(const sketch *k, const char *format, const char *kernel, int threads)
{
    windowed_plan p = {0};
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = format;
    options.kernel = kernel;
    options.threads = threads;
    p.context = context_of(threads);
    assert_int_equal(spry_matrix_borrow_csr_f64(p.context, &p.A, k->rows, k->cols, k->Ap, k->Aj, k->Ax, &err), SPRY_OK);
    MUST(spry_spmv_plan_create(p.context, &p.plan, p.A, &options, err));
    p.s = p.plan->forward.stored.storage;
    if (spryi_format_windowed.check(p.context, p.s, &err) != SPRY_OK) fail_msg("%s", err.message);
    return p;
}

static void plan_free(windowed_plan *p)
{
    spry_spmv_plan_destroy(p->plan);
    spry_matrix_destroy(p->A);
    spry_context_destroy(p->context);
}

static const char *const kernels[] = {"windowed_portable_cpu", "windowed_avx2_cpu", "windowed_avx512_cpu"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* Checks that to_csr returns the sketch, entry by entry. */
static void comes_back(const sketch *k, spry_context *context, const spryi_windowed *s)
{
    spry_matrix *back = NULL;
    spry_error err = SPRY_ERROR_INIT;
    if (spryi_format_windowed.to_csr(context, &back, s, &err) != SPRY_OK) fail_msg("%s", err.message);
    check_sketch(k, back);
}

/*
 * Checks y of all kernels, and converts the storage back to CSR. All values are small integers, so y is exact. x is NaN
 * in columns without entries.
 */
static void multiply(const sketch *k, const char *format)
{
    double *x = sketch_x(k), *y = malloc((size_t)(k->rows + 1) * 8);
    assert_non_null(y);
    for (int n = 0; n < KERNELS && kernel_is_here(kernels[n]); n++) {
        windowed_plan p = plan_of(k, format, kernels[n], 2);
        multiply_f64(p.plan, y, k->rows, x, k->cols);
        check_sketch_product(k, x, y, kernels[n]);
        comes_back(k, p.context, p.s);
        plan_free(&p);
    }
    free(x);
    free(y);
}

/* ---- layout --------------------------------------------------------------------------------------------- */

/* Compares each array with the matrix drawn in windowed.h, including its empty rows. */
static void layout(void **state)
{
    static const double values[] = {1, 4, 6, 2, 5, 7, 3, 0};
    static const uint16_t columns[] = {0, 3, 6, 0, 0, 0, 0, 0};
    static const uint32_t rows[] = {0, 2, 4, 1, 3};
    sketch k = sketch_of(5, 7);
    for (int j = 0; j < 7; j += 3) sketch_put(&k, 0, j);
    sketch_put(&k, 2, 3);
    sketch_put(&k, 2, 6);
    sketch_put(&k, 4, 0);
    sketch_put(&k, 4, 6);
    sketch_finish(&k);
    windowed_plan p = plan_of(&k, "windowed", NULL, 1);
    const spryi_windowed *s = p.s;
    assert_true(s->window == SPRYI_WINDOWED_LEAST_ROWS && s->cells == 0 && s->run == 1 && s->stride == 1 &&
                s->staged == 3);
    assert_true(s->window_count == 1 && s->slice_count == 1 && s->page_count == 1 && s->numbers == 8);
    assert_true(s->slots == 8 && s->units == 4 && s->long_rows.count == 0 && s->long_rows.piece_count == 0);
    const spryi_windowed_window *w = s->windows;
    assert_true(w->slice == 0 && w->dictionary == 0 && w->page == 0 && w->columns == 3 && w->run == 1 && w->bits == 12);
    assert_true(w[1].slice == 1 && w[1].dictionary == 1 && w[1].page == 1 && w[1].columns == 0 && w[1].run == 0);
    assert_true(s->pages[0].first == 0 && s->pages[0].high == 0);
    assert_memory_equal(s->dictionary, columns, sizeof columns);
    assert_memory_equal(s->rows, rows, sizeof rows);
    for (int l = 5; l < SPRYI_WINDOWED_LANES; l++) assert_true(s->rows[l] == SPRYI_WINDOWED_NO_ROW);
    const spryi_windowed_slice *t = s->slices;
    assert_true(t->width == 3 && t->whole == 0 && t->groups == 5 && t->values == 0);
    assert_true(t[1].values == 2 && t[1].indices == 4 && t[1].width == 0 && t[1].groups == 0);
    const spryi_windowed_view v = spryi_windowed_view_of(s, w, 0);
    for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) assert_int_equal(v.group[l], l < 3 ? l : l < 5 ? 3 : 4);
    static const uint16_t lengths[] = {3, 2, 2, 0, 0, 0};
    static const uint32_t words[] = {2 << 24 | 1 << 12 | 0, 2 << 12 | 1, 2 << 12 | 0, 2 >> 8};
    assert_memory_equal(v.length, lengths, sizeof lengths);
    assert_memory_equal(v.words, words, sizeof words);
    assert_memory_equal(s->values, values, sizeof values);
    plan_free(&p);
    multiply(&k, "windowed");
    sketch_free(&k);
}

/* ---- runs ----------------------------------------------------------------------------------------------- */

/* Returns the column of unknown c of node n, in a matrix with `nodes` nodes of `run` unknowns each. */
static int64_t unknown(int64_t n, int64_t c, int64_t run, int64_t nodes, int by_component)
{
    return by_component ? c * nodes + n : n * run + c;
}

/*
 * Builds a chain of nodes with `run` unknowns each. If by_component, all first unknowns come first, then all second
 * unknowns, and so on. Otherwise the unknowns of a node are adjacent. A node has entries for itself and for every
 * second node, `reach` nodes on each side. Row `broken` (-1: none) lacks its last entry.
 */
static sketch chain_of(int64_t nodes, int64_t run, int64_t reach, int by_component, int64_t broken)
{
    sketch k = sketch_of(nodes * run, nodes * run);
    for (int64_t i = 0; i < k.rows; i++) {
        const int64_t n = by_component ? i % nodes : i / run, count = (2 * reach + 1) * run;
        int64_t columns[64];
        assert_true(count <= 64);
        for (int64_t t = 0; t <= 2 * reach; t++) { /* ascending nodes */
            const int64_t last = nodes - 4 * reach - 1, from = n - 2 * reach,
                          low = from < 0      ? 0
                                : from > last ? last
                                              : from;
            for (int64_t c = 0; c < run; c++)
                columns[by_component ? c * (2 * reach + 1) + t : t * run + c] =
                    unknown(low + 2 * t, c, run, nodes, by_component);
        }
        for (int64_t e = 0; e < count - (i == broken); e++) sketch_put(&k, i, columns[e]);
    }
    sketch_finish(&k);
    return k;
}

/*
 * Checks the length `run` and the stride of the runs that a plan finds. A run is a sequence of `run` columns with one
 * stored index. run 1: the plan has no runs. rows_of_others: number of rows that do not consist of runs.
 */
static void expect_runs(const sketch *k, int64_t run, int64_t stride, int64_t rows_of_others)
{
    windowed_plan p = plan_of(k, "windowed:window=32:order=natural", NULL, 1);
    int64_t others = 0;
    assert_int_equal(p.s->run, run);
    assert_int_equal(p.s->stride, stride);
    for (int64_t w = 0; w < p.s->window_count; w++) {
        const spryi_windowed_window *own = &p.s->windows[w];
        assert_true(own->run == run || own->run == 1);
        assert_true(w == 0 || own->run <= own[-1].run); /* rows that consist of runs come first */
        assert_int_equal(own->bits, own->run > 1 ? 16 : 12);
        for (int64_t l = own->slice * 32LL; run > 1 && own->run == 1 && l < own[1].slice * 32LL; l++)
            others += p.s->rows[l] != SPRYI_WINDOWED_NO_ROW;
    }
    assert_int_equal(others, rows_of_others);
    plan_free(&p);
    multiply(k, "windowed:window=32:order=natural");
    multiply(k, "windowed");
    multiply(k, "windowed:order=cells");
}

static void runs(void **state)
{
    for (int64_t run = 2; run <= 5; run++)
        for (int by_component = 0; by_component < 2; by_component++) {
            const int64_t nodes = 211;
            sketch k = chain_of(nodes, run, 2, by_component, -1);
            expect_runs(&k, run, by_component ? nodes : 1, 0);
            sketch_free(&k);
            k = chain_of(nodes, run, 2, by_component, 3 * run + 1); /* one row that does not consist of runs */
            expect_runs(&k, run, by_component ? nodes : 1, 1);
            sketch_free(&k);
            k = chain_of(nodes, run, 2, by_component, nodes * run - 1); /* the last row does not consist of runs */
            expect_runs(&k, run, by_component ? nodes : 1, 1);
            sketch_free(&k);
        }
}

/*
 * Tests rows whose columns belong to three adjacent nodes. With two unknowns per node, a row has six adjacent columns,
 * which must become three runs of two and not two runs of three.
 */
static void runs_of_unknowns(void **state)
{
    for (int64_t run = 2; run <= 4; run++) {
        const int64_t nodes = 211;
        sketch k = sketch_of(nodes * run, nodes * run);
        for (int64_t i = 0; i < k.rows; i++) {
            const int64_t n = i / run, first = n == 0 ? 0 : n > nodes - 2 ? nodes - 3 : n - 1;
            for (int64_t j = first * run; j < (first + 3) * run; j++) sketch_put(&k, i, j);
        }
        sketch_finish(&k);
        expect_runs(&k, run, 1, 0);
        sketch_free(&k);
    }
}

/*
 * Asserts that a band gets no runs. Each row has three adjacent columns, but runs need groups of rows with equal
 * columns, and no two rows of a band have equal columns.
 */
static void no_runs_without_groups(void **state)
{
    sketch k = sketch_of(300, 302);
    for (int64_t i = 0; i < 300; i++)
        for (int64_t j = 0; j < 3; j++) sketch_put(&k, i, i + j);
    sketch_finish(&k);
    expect_runs(&k, 1, 1, 0);
    sketch_free(&k);
}

/* ---- windows -------------------------------------------------------------------------------------------- */

/* Builds rows of `length` columns that no other row has. */
static sketch lonely_rows(int64_t rows, int64_t length)
{
    sketch k = sketch_of(rows, rows * length);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t e = 0; e < length; e++) sketch_put(&k, i, i + e * rows);
    sketch_finish(&k);
    return k;
}

static void expect_windows(const sketch *k, const char *format, int64_t window, int64_t count, const int64_t *rows)
{
    windowed_plan p = plan_of(k, format, NULL, 1);
    assert_int_equal(p.s->window, window);
    assert_int_equal(p.s->window_count, count);
    for (int64_t w = 0; w < count; w++) {
        int64_t own = 0;
        for (int64_t l = p.s->windows[w].slice * 32LL; l < p.s->windows[w + 1].slice * 32LL; l++)
            own += p.s->rows[l] != SPRYI_WINDOWED_NO_ROW;
        if (own != rows[w]) fail_msg("%s: window %lld: %lld rows", format, (long long)w, (long long)own);
    }
    plan_free(&p);
    multiply(k, format);
}

static void windows_are_halved(void **state)
{
    sketch k = lonely_rows(700, 16);
    expect_windows(&k, "windowed:window=1024:order=natural", 1024, 3, (const int64_t[]){256, 256, 188});
    expect_windows(&k, "windowed:window=257:order=natural", 288, 5, (const int64_t[]){160, 128, 160, 128, 124});
    expect_windows(&k, "windowed:window=1:order=natural", 32, 22,
                   (const int64_t[]){32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
                                     32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 28});
    sketch_free(&k);
    k = lonely_rows(256, 16); /* exactly the number of columns that a window may have */
    expect_windows(&k, "windowed:window=256", 256, 1, (const int64_t[]){256});
    sketch_free(&k);
    k = lonely_rows(70, 512); /* each window has only one slice, but more columns than larger windows may have */
    expect_windows(&k, "windowed:window=256", 256, 3, (const int64_t[]){32, 32, 6});
    windowed_plan p = plan_of(&k, "windowed", NULL, 1);
    assert_true(p.s->staged == 32 * 512 && p.s->long_rows.count == 0 && p.s->windows[0].bits == 16);
    plan_free(&p);
    sketch_free(&k);
}

/* Tests columns with 90 different values of the high bits. The storage has one page for each value. */
static void pages(void **state)
{
    sketch k = sketch_of(90, (int64_t)90 << 16);
    for (int64_t i = 0; i < 90; i++)
        for (int64_t e = 0; e < 3; e++) sketch_put(&k, i, i << 16 | ((e == 2 ? 65535 : e) ^ (i % 5 == 0)));
    sketch_finish(&k);
    windowed_plan p = plan_of(&k, "windowed:window=64", NULL, 1);
    assert_int_equal(p.s->page_count, 90);
    plan_free(&p);
    multiply(&k, "windowed:window=64");
    sketch_free(&k);
}

static void lengths(void **state)
{
    sketch k = sketch_of(400, 5000); /* 400 x 5000, with rows that are long, almost long, empty and short */
    for (int64_t i = 0; i < 400; i++) {
        const int64_t length = i % 50 == 7 ? 513 + 600 * (i / 50) : i % 3 == 0 ? 0 : i == 200 ? 512 : 1 + i * 7 % 40;
        for (int64_t e = 0; e < length; e++) sketch_put(&k, i, (i * 11 + e * 3) % 5000);
    }
    sketch_finish(&k);
    windowed_plan p = plan_of(&k, "windowed", NULL, 1);
    assert_int_equal(p.s->long_rows.count, 8);
    assert_int_equal(p.s->long_rows.rows[1], 57);
    assert_true(p.s->long_rows.piece_count > 8 && p.s->cells == 0);
    plan_free(&p);
    multiply(&k, "windowed");
    multiply(&k, "windowed:window=32");
    multiply(&k, "windowed:order=cells");
    sketch_free(&k);
    const int64_t shapes[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {33, 7}};
    for (int n = 0; n < 5; n++) {
        k = sketch_of(shapes[n][0], shapes[n][1]);
        sketch_finish(&k);
        multiply(&k, "windowed");
        sketch_free(&k);
    }
}

/* Entries keep their order, and entries at one position are not merged. */
static void unsorted(void **state)
{
    sketch k = sketch_of(100, 60);
    for (int64_t i = 0; i < 100; i++)
        for (int64_t e = 0; e < 6; e++) sketch_put(&k, i, (i / 4 * 13 + e * 7 % 5 * 9 + (e == 4) * 3) % 60);
    for (int64_t e = 0; e < 6; e += 2) k.Aj[90 + e] = k.Aj[90];
    sketch_finish(&k);
    multiply(&k, "windowed");
    multiply(&k, "windowed:window=32");
    sketch_free(&k);
}

/* ---- order ---------------------------------------------------------------------------------------------- */

/* Builds the matrix of a grid with the 5-point stencil. The nodes have random indices. */
static sketch shuffled_grid(int64_t side)
{
    const int64_t n = side * side;
    int32_t *name = malloc((size_t)n * 4), *node = malloc((size_t)n * 4);
    assert_true(name && node);
    for (int64_t i = 0; i < n; i++) name[i] = (int32_t)i;
    uint64_t seed = 12345;
    for (int64_t i = n - 1; i > 0; i--) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const int64_t j = (int64_t)((seed >> 33) % (uint64_t)(i + 1));
        const int32_t kept = name[i];
        name[i] = name[j];
        name[j] = kept;
    }
    for (int64_t i = 0; i < n; i++) node[name[i]] = (int32_t)i;
    sketch k = sketch_of(n, n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = node[i], row = at / side, column = at % side;
        sketch_put(&k, i, i);
        if (row > 0) sketch_put(&k, i, name[at - side]);
        if (row < side - 1) sketch_put(&k, i, name[at + side]);
        if (column > 0) sketch_put(&k, i, name[at - 1]);
        if (column < side - 1) sketch_put(&k, i, name[at + 1]);
    }
    sketch_finish(&k);
    free(name);
    free(node);
    return k;
}

static void cells(void **state)
{
    sketch k = shuffled_grid(90);
    windowed_plan natural = plan_of(&k, "windowed:order=natural", NULL, 1);
    windowed_plan in_cells = plan_of(&k, "windowed:order=cells", NULL, 1), own = plan_of(&k, "windowed", NULL, 1);
    assert_true(natural.s->cells == 0 && in_cells.s->cells == 1 && own.s->cells == 1);
    for (int64_t l = 1; l < 32; l++) assert_true(natural.s->rows[l] < 256);
    assert_true(in_cells.s->numbers * 2 < natural.s->numbers);
    assert_int_equal(own.s->numbers, in_cells.s->numbers);
    plan_free(&natural);
    plan_free(&in_cells);
    plan_free(&own);
    multiply(&k, "windowed");
    multiply(&k, "windowed:order=natural");
    sketch_free(&k);
    k = chain_of(3000, 1, 2, 0, -1); /* already in an order that order=cells would not improve */
    own = plan_of(&k, "windowed", NULL, 1);
    assert_int_equal(own.s->cells, 0);
    plan_free(&own);
    sketch_free(&k);
    k = lonely_rows(2000, 3); /* not square: order=cells has no effect */
    own = plan_of(&k, "windowed:order=cells", NULL, 1);
    assert_int_equal(own.s->cells, 0);
    plan_free(&own);
    sketch_free(&k);
}

/* Storage and y are bitwise equal for all thread counts. */
static void any_number_of_threads(void **state)
{
    sketch k = shuffled_grid(120);
    for (int64_t e = 0; e < k.nnz; e++) k.Ax[e] = 1 / k.Ax[e];
    double *x = malloc((size_t)k.cols * 8), *y = malloc((size_t)k.rows * 8), *first = malloc((size_t)k.rows * 8);
    assert_true(x && y && first);
    for (int64_t j = 0; j < k.cols; j++) x[j] = 1 / (double)(j + 3);
    for (int n = 0; n < KERNELS && kernel_is_here(kernels[n]); n++) {
        windowed_plan one = plan_of(&k, "windowed", kernels[n], 1);
        for (int threads = 1; threads <= 7; threads += 2) {
            windowed_plan p = plan_of(&k, "windowed", kernels[n], threads);
            spryi_section a[SPRYI_WINDOWED_ARRAYS], b[SPRYI_WINDOWED_ARRAYS];
            spryi_windowed_arrays(one.s, a);
            spryi_windowed_arrays(p.s, b);
            for (int c = 0; c < SPRYI_WINDOWED_ARRAYS; c++) {
                assert_int_equal(a[c].count, b[c].count);
                if (a[c].count > 0)
                    assert_memory_equal(*a[c].array, *b[c].array, (size_t)(a[c].count * a[c].item_bytes));
            }
            multiply_f64(p.plan, y, k.rows, x, k.cols);
            if (threads == 1) memcpy(first, y, (size_t)k.rows * 8);
            assert_memory_equal(first, y, (size_t)k.rows * 8);
            plan_free(&p);
        }
        plan_free(&one);
    }
    free(x);
    free(y);
    free(first);
    sketch_free(&k);
}

static void new_values(void **state)
{
    sketch k = chain_of(100, 3, 1, 0, 200);
    windowed_plan p = plan_of(&k, "windowed", NULL, 1);
    double x[300], y[300];
    for (int j = 0; j < 300; j++) x[j] = j % 5 - 2;
    for (int64_t e = 0; e < k.nnz; e++) k.Ax[e] = -2 * k.Ax[e] + 1;
    assert_int_equal(spry_spmv_plan_update(p.plan, NULL, NULL), SPRY_OK);
    multiply_f64(p.plan, y, 300, x, 300);
    for (int i = 0; i < 300; i++) {
        double sum = 0;
        for (int32_t e = k.Ap[i]; e < k.Ap[i + 1]; e++) sum += k.Ax[e] * x[k.Aj[e]];
        assert_true(y[i] == sum);
    }
    plan_free(&p);
    sketch_free(&k);
}

/* Tests parameters that are out of range, and names of orders that do not exist. */
static void bad_parameters(void **state)
{
    static const char *const bad[] = {"windowed:window=0", "windowed:window=1025", "windowed:order=random",
                                      "windowed:order=3"};
    spry_context *context = context_of(0);
    spry_matrix *A = generate_matrix(context, "grid5,x=5,y=5");
    for (int n = 0; n < 4; n++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        spry_spmv_plan *plan = NULL;
        options.format = bad[n];
        assert_int_equal(spry_spmv_plan_create(context, &plan, A, &options, NULL), SPRY_INVALID_ARGUMENT);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),
        cmocka_unit_test(runs),
        cmocka_unit_test(runs_of_unknowns),
        cmocka_unit_test(no_runs_without_groups),
        cmocka_unit_test(windows_are_halved),
        cmocka_unit_test(pages),
        cmocka_unit_test(lengths),
        cmocka_unit_test(unsorted),
        cmocka_unit_test(cells),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(new_values),
        cmocka_unit_test(bad_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
