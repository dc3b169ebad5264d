/* Twins of the CSR-k study: the figures that its table prints, and every kind on a smaller scale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum { SCALE = 128, SMALL = 3090000 }; /* smaller ones are made in full size */

static spry_matrix *generate(spry_context *context, const bench_study_matrix *m)
{
    char spec[256];
    spry_matrix *A = NULL;
    spry_error err = {0};
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = SPRY_PATTERN;
    bench_twin_spec(spec, sizeof spec, m);
    if (spry_matrix_generate(context, &A, spec, &options, &err) != SPRY_OK) fail_msg("%s: %s", m->name, err.message);
    return A;
}

static int is_stored(const int32_t *offsets, const int32_t *columns, int32_t i, int32_t j)
{
    int32_t low = offsets[i], high = offsets[i + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (columns[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < offsets[i + 1] && columns[low] == j;
}

/* The share of the entries off the diagonal whose mirror image is stored, in per cent. */
static double mirrored(const spry_arrays *a)
{
    const int32_t *offsets = a->offsets, *columns = a->indices;
    int64_t off = 0, both = 0;
    for (int32_t i = 0; i < (int32_t)a->rows; i++)
        for (int32_t k = offsets[i]; k < offsets[i + 1]; k++) {
            if (columns[k] == i) continue;
            off++;
            both += is_stored(offsets, columns, columns[k], i);
        }
    return off > 0 ? 100.0 * (double)both / (double)off : 100;
}

static void check_twin(spry_context *context, const bench_study_matrix *m, int full_size)
{
    spry_matrix *A = generate(context, m);
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    assert_int_equal(spry_matrix_get_arrays(A, &a, NULL), SPRY_OK);
    assert_int_equal(spry_matrix_get_stats(A, &stats, NULL), SPRY_OK);
    const double missing = (double)(m->entries - a.nnz), part = missing / (double)m->entries;
    if (a.rows != m->rows || part < 0 || part > (full_size ? 0.0005 : 0.02) || stats.max_row != m->longest ||
        (full_size && (stats.variance_row <= 10) != (m->id[0] == 'r')))
        fail_msg("%s %s: %lld rows, %lld entries of %lld, longest row %lld of %lld, variance %g", m->id, m->name,
                 (long long)a.rows, (long long)a.nnz, (long long)m->entries, (long long)stats.max_row,
                 (long long)m->longest, stats.variance_row);
    const double symmetry = mirrored(&a);
    if (symmetry < m->symmetry - 0.5 || symmetry > m->symmetry + 0.5 ||
        (m->symmetry == 100 && stats.pattern_symmetric != SPRY_KNOWN_YES))
        fail_msg("%s %s: %g %% have a mirror image, expected %d", m->id, m->name, symmetry, m->symmetry);
    assert_int_equal(stats.diagonal_entries, m->diagonal ? m->rows : 0);
    spry_matrix_destroy(A);
}

static void every_twin(void **state)
{
    spry_context *context = NULL;
    const int large = getenv("SPRY_TEST_LARGE") != NULL;
    (void)state;
    assert_int_equal(spry_context_create(&context, NULL, NULL), SPRY_OK);
    for (int t = 0; t < BENCH_CSRK64; t++) {
        bench_study_matrix m = bench_csrk64[t];
        const int full_size = large || m.entries < SMALL;
        if (!full_size) {
            m.rows = m.rows / SCALE / m.dof * m.dof;
            m.entries = m.entries / SCALE / 2 * 2 + (m.diagonal ? m.rows % 2 : 0);
            while (m.entries > m.rows * m.longest) m.entries -= 2;
            if (m.longest > m.rows / 4) m.longest = m.rows / 4;
        }
        check_twin(context, &m, full_size);
    }
    spry_context_destroy(context);
}

/* Rows, entries and their quotient as the paper prints them, in millions; its rows of thermal2 contradict the mean. */
static void figures(void **state)
{
    static const struct {
        const char *name;
        double rows, entries, mean;
    } printed[] = {
        {"belgium_osm", 1.44, 3.10, 2.15},   {"hugetric-00000", 5.82, 17.47, 3.00}, {"debr", 1.05, 4.19, 4.00},
        {"G3_circuit", 1.59, 7.66, 4.83},    {"ecology1", 1.00, 5.00, 5.00},        {"333SP", 3.71, 22.22, 5.98},
        {"delaunay_n22", 4.19, 25.17, 6.00}, {"atmosmodd", 1.27, 8.81, 6.94},       {"thermal2", 1.23, 8.58, 6.99},
        {"af_shell10", 1.51, 52.26, 34.65},  {"Hamrle3", 1.45, 5.51, 3.81},         {"FullChip", 2.99, 26.62, 8.91},
        {"circuit5M", 5.56, 59.52, 10.71},   {"nlpkkt80", 1.06, 28.19, 26.54},      {"wiki-Talk", 2.39, 5.02, 2.10},
        {"soc-Pokec", 1.63, 30.62, 18.75},   {"vas_stokes_1M", 1.09, 34.77, 31.88},
    };
    (void)state;
    for (size_t p = 0; p < sizeof printed / sizeof *printed; p++) {
        const bench_study_matrix *m = bench_csrk64;
        while (m < bench_csrk64 + BENCH_CSRK64 && strcmp(m->name, printed[p].name) != 0) m++;
        assert_true(m < bench_csrk64 + BENCH_CSRK64);
        const double rows = (double)m->rows, entries = (double)m->entries;
        assert_true(rows > (printed[p].rows - .005) * 1e6 && rows < (printed[p].rows + .005) * 1e6);
        assert_true(entries > (printed[p].entries - .005) * 1e6 && entries < (printed[p].entries + .005) * 1e6);
        assert_true(entries / rows > printed[p].mean - .0055 && entries / rows < printed[p].mean + .0055);
    }
}

static bench_record record(const char *matrix, const char *type, const char *kernel, const char *ordering, double us)
{
    bench_record r;
    bench_record_init(&r);
    snprintf(r.matrix, sizeof r.matrix, "%s", matrix);
    snprintf(r.kernel, sizeof r.kernel, "%s", kernel);
    snprintf(r.ordering, sizeof r.ordering, "%s", ordering);
    snprintf(r.device, sizeof r.device, "cpu");
    snprintf(r.format, sizeof r.format, "%.4s", kernel);
    r.peer = strncmp(kernel, "csr", 3) != 0;
    r.twin = strcmp(matrix, "debr") == 0;
    r.nnz = 1000000;
    r.type = type;
    r.time_us = r.mean_us = us;
    r.status = BENCH_OK;
    return r;
}

/* 2 GFLOP/s take 1000 us. Hamrle3 is regular and unsymmetric, FullChip irregular and symmetric. */
static void tables(void **state)
{
    const bench_record r[] = {
        record("debr", "f64", "csr2_portable_cpu", "none", 1000),
        record("debr", "f64", "csr3_portable_cpu", "none", 2000),
        record("debr", "f64", "mkl_csr", "none", 2000),
        record("debr", "f64", "mkl_csr", "rcm", 500),
        record("Hamrle3", "f64", "csr2_portable_cpu", "none", 2000),
        record("Hamrle3", "f64", "csr3_portable_cpu", "none", 2000),
        record("FullChip", "f64", "mkl_csr", "none", 4000),
        record("FullChip", "f64", "mkl_csr", "rcm", 8000),
        record("elsewhere", "f64", "mkl_csr", "none", 1),
    };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    assert_non_null(out);
    bench_print_csrk64(out, r, sizeof r / sizeof *r);
    bench_print_csrk64(out, r, 0);
    fclose(out);
    static const char *const expected[] = {
        "3 matrices, 1 of them twins",
        "\nNo twins: Hamrle3 FullChip.\nLeft out: belgium_osm netherlands_osm ",
        "  csr2_portable_cpu         mkl_csr                0.50 ( 1)           -   0.50 ( 1)\n",
        "  csr2_portable_cpu         none      1    2.00   1    1.00   2    1.50           -           -           -\n",
        "  mkl_csr                   none      1    1.00           -   1    1.00   1    0.50           -   1    0.50\n",
        "  mkl_csr                   better    1    4.00           -   1    4.00   1    0.50           -   1    0.50\n",
        "csr2 1.50 and csr3 1.00 GFLOP/s over 2 matrices; csr2 is ahead by over 5 % on 1 of them: debr\n",
        "No tables: nothing was timed.",
    };
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++)
        if (!strstr(text, expected[e])) fail_msg("not found: %s in\n%s", expected[e], text);
    free(text);
}

static bench_record scaled(const char *matrix, const char *kernel, int threads, double us)
{
    bench_record r = record(matrix, "f64", kernel, "none", us);
    r.threads = threads;
    r.fewer_threads = threads < 4;
    return r;
}

/* Speed-up over MKL at the fewest threads; what ran with fewer is no part of the tables by class. */
static void scalability(void **state)
{
    const bench_record r[] = {
        scaled("debr", "mkl_csr", 4, 2000),    scaled("debr", "csr2_portable_cpu", 4, 1000),
        scaled("debr", "mkl_csr", 1, 8000),    scaled("debr", "csr2_portable_cpu", 1, 4000),
        scaled("Hamrle3", "mkl_csr", 1, 2000), scaled("Hamrle3", "csr2_portable_cpu", 4, 2000),
        scaled("nothing", "mkl_csr", 2, 1),
    };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    assert_non_null(out);
    bench_print_csrk64(out, r, sizeof r / sizeof *r);
    fclose(out);
    static const char *const expected[] = {
        "speed-up over mkl_csr at 1 thread, geometric mean (matrices)\n"
        "  threads                            1           4\n"
        "  mkl_csr                    1.00 ( 2)   4.00 ( 1)\n"
        "  csr2_portable_cpu          2.00 ( 1)   2.83 ( 2)\n",
        "  csr2_portable_cpu         none      1    2.00   1    1.00   2    1.50",
    };
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++)
        if (!strstr(text, expected[e])) fail_msg("not found: %s in\n%s", expected[e], text);
    free(text);
}

/* A file that is there comes before its twin. */
static void sources(void **state)
{
    bench_source *list = NULL;
    int count = 0, twins = 0;
    (void)state;
    assert_int_equal(bench_suite_sources("csrk64", NULL, &list, &count), 1);
    assert_int_equal(count, BENCH_CSRK64);
    for (int s = 0; s < count; s++) twins += list[s].twin && strncmp(list[s].path, "gen:twin,rows=", 14) == 0;
    assert_int_equal(twins, BENCH_CSRK64);
    assert_string_equal(list[10].name, "G3_circuit");
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_twin),  cmocka_unit_test(figures), cmocka_unit_test(tables),
        cmocka_unit_test(scalability), cmocka_unit_test(sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
