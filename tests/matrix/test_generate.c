#include "spry/io.h"
#include "spry/matrix.h"
#include "support.h"

/* ---- small matrices by hand ------------------------------------------------------------------ */

/*
 * Compares a matrix of at most 4 x 5 with the drawing, which shows it row by row. "." marks positions without entries.
 */
static void check_drawing(spry_context *context, const char *spec, int64_t rows, int64_t cols, const char *drawing)
{
    spry_matrix *A = test_generate(context, spec, NULL);
    spry_arrays a = arrays_of(A);
    assert_int_equal(a.rows, rows);
    assert_int_equal(a.columns, cols);
    char got[1024] = "";
    for (int64_t i = 0; i < rows; i++) {
        int64_t k = test_offset(&a, i);
        for (int64_t j = 0; j < cols; j++) {
            int stored = k < test_offset(&a, i + 1) && test_index(&a, k) == j;
            strcat(got, stored ? "x" : ".");
            k += stored;
        }
        assert_int_equal(k, test_offset(&a, i + 1));
        strcat(got, i + 1 < rows ? " " : "");
    }
    assert_string_equal(got, drawing);
    spry_matrix_destroy(A);
}

static void drawings(void **state)
{
    check_drawing(*state, "diagonal,rows=3", 3, 3, "x.. .x. ..x");
    check_drawing(*state, "diagonal,rows=0", 0, 0, "");
    check_drawing(*state, "banded,rows=5,half=1", 5, 5, "xx... xxx.. .xxx. ..xxx ...xx");
    check_drawing(*state, "banded,rows=3,half=0", 3, 3, "x.. .x. ..x");
    check_drawing(*state, "banded,rows=2,half=72057594037927936", 2, 2, "xx xx");
    check_drawing(*state, "arrow,rows=5", 5, 5, "xxxxx xx... x.x.. x..x. x...x");
    check_drawing(*state, "arrow,rows=4,width=2", 4, 4, "xxxx xxxx xxx. xx.x");
    check_drawing(*state, "arrow,rows=3,width=0", 3, 3, "x.. .x. ..x");
    check_drawing(*state, "arrow,rows=2,width=9", 2, 2, "xx xx");
    check_drawing(*state, "debruijn,symbols=2,length=2", 4, 4, "xx.. ..xx xx.. ..xx");
    check_drawing(*state, "debruijn,symbols=3,length=1", 3, 3, "xxx xxx xxx");
    check_drawing(*state, "debruijn,symbols=1,length=5", 1, 1, "x");
#ifdef SPRY_STUDIES
    check_drawing(*state, "debr,rows=4,entries=10", 4, 4, ".xx. x.xx xx.x .xx.");
    check_drawing(*state, "debr,rows=8,entries=26", 8, 8,
                  ".x..x... x.xxx... .x..xx.. .x...xxx xxx...x. ..xx..x. ...xxx.x ...x..x.");
#endif
    check_drawing(*state, "dense,rows=2,cols=3", 2, 3, "xxx xxx");
    check_drawing(*state, "dense,rows=0,cols=3", 0, 3, "");
    check_drawing(*state, "empty,rows=2,cols=3", 2, 3, "... ...");
    check_drawing(*state, "random,rows=2,cols=3,density=1", 2, 3, "xxx xxx");
    check_drawing(*state, "random,rows=2,cols=3,density=0", 2, 3, "... ...");
    check_drawing(*state, "random,rows=2,cols=0,density=0.5", 2, 0, " ");
    check_drawing(*state, "uniform,rows=3,degree=0", 3, 3, "... ... ...");
    check_drawing(*state, "circuit,rows=0", 0, 0, "");
    check_drawing(*state, "grid9,x=2,y=2", 4, 4, "xxxx xxxx xxxx xxxx");
    check_drawing(*state, "laplace5,x=2,y=2", 4, 4, "xxx. xx.x x.xx .xxx");
    check_drawing(*state, "grid5,x=2,y=1", 2, 2, "xx xx");
}

static void laplace_values(void **state)
{
    static const double expected[] = {4, -1, -1, -1, 4, -1, -1, 4, -1, -1, -1, 4};
    spry_matrix *A = test_generate(*state, "laplace5,x=2,y=2", NULL);
    spry_arrays a = arrays_of(A);
    assert_int_equal(a.nnz, TEST_COUNT(expected));
    assert_memory_equal(a.values, expected, sizeof expected);
    assert_int_equal(a.symmetry, SPRY_SYMMETRIC);
    spry_matrix_destroy(A);

    static const double uneven[] = {2.5, -1, -0.25, -1, 2.5, -0.25, -0.25, 2.5, -1, -0.25, -1, 2.5};
    A = test_generate(*state, "grid5a,x=2,y=2,ay=0.25", NULL);
    a = arrays_of(A);
    assert_int_equal(a.nnz, TEST_COUNT(uneven));
    assert_memory_equal(a.values, uneven, sizeof uneven);
    spry_matrix_destroy(A);

    static const double upright[] = {6, -1, -1, 6};
    A = test_generate(*state, "laplace7,x=1,y=1,z=2", NULL);
    a = arrays_of(A);
    assert_int_equal(a.nnz, 4);
    assert_memory_equal(a.values, upright, sizeof upright);
    spry_matrix_destroy(A);
}

/* The sum of a Laplacian's row equals the number of missing neighbours, for any order of the unknowns. */
static void relabelling_keeps_given_values(void **state)
{
    static const char *const specs[] = {"laplace7,x=6,y=7,z=8", "laplace7,x=6,y=7,z=8,shuffle=5",
                                        "laplace7:d,x=6,y=7,z=8", "laplace7,x=6,y=7,z=8,order=degree,shuffle=9"};
    for (int s = 0; s < TEST_COUNT(specs); s++) {
        spry_matrix *A = test_generate(*state, specs[s], NULL);
        spry_arrays a = arrays_of(A);
        for (int64_t i = 0; i < a.rows; i++) {
            double sum = 0, diagonal = 0;
            for (int64_t k = test_offset(&a, i); k < test_offset(&a, i + 1); k++) {
                sum += test_value(&a, k);
                if (test_index(&a, k) == i) diagonal = test_value(&a, k);
            }
            assert_true(diagonal == 6);
            assert_true(sum == 7 - (double)(test_offset(&a, i + 1) - test_offset(&a, i)));
        }
        spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
        assert_int_equal(spry_matrix_get_stats(A, &stats, NULL), SPRY_OK);
        assert_int_equal(stats.value_symmetric, SPRY_KNOWN_YES);
        spry_matrix_destroy(A);
    }
}

static void random_density(void **state)
{
    static const struct {
        const char *spec;
        double expected, deviation;
    } cases[] = {
        {"random,rows=1000,cols=1000,density=0.5", 500000, 500},
        {"random,rows=1000,cols=1003,density=0.97", 972910, 171},
        {"random,rows=300,cols=2000,density=0.03", 18000, 133},
        {"random,rows=20000,cols=70,density=0.001", 1400, 38},
        {"random,rows=100000,cols=100000,density=0.000001,seed=1", 10000, 100},
    };
    for (int c = 0; c < TEST_COUNT(cases); c++) {
        spry_matrix *A = test_generate(*state, cases[c].spec, NULL);
        spry_arrays a = arrays_of(A);
        double away = (double)a.nnz - cases[c].expected;
        if (!(away < 5 * cases[c].deviation && away > -5 * cases[c].deviation))
            fail_msg("%s: %lld entries", cases[c].spec, (long long)a.nnz);
        /* Columns are equally likely: the first and the last tenth have about a tenth of the entries each. */
        int64_t head = 0, tail = 0;
        for (int64_t k = 0; k < a.nnz; k++) {
            head += test_index(&a, k) < a.columns / 10;
            tail += test_index(&a, k) >= a.columns - a.columns / 10;
        }
        double tenth = (double)a.nnz * (double)(a.columns / 10) / (double)a.columns;
        assert_true((double)head > tenth * 0.8 && (double)head < tenth * 1.2);
        assert_true((double)tail > tenth * 0.8 && (double)tail < tenth * 1.2);
        spry_matrix_destroy(A);
    }
}

/* ---- every generator of the list --------------------------------------------------------------- */

/* Writes "NAME,key=value,..." with a small value for each size parameter of the generator. */
static void small_spec(char *spec, size_t size, const spry_generator_info *info)
{
    static const char *const small[] = {"x=5",       "y=4",      "z=3",         "dof=2",      "side=7",
                                        "scale=6",   "edges=4",  "rows=60",     "cols=40",    "degree=5",
                                        "symbols=3", "length=3", "density=0.2", "entries=200"};
    size_t used = (size_t)snprintf(spec, size, "%s", info->name);
    for (int s = 0; s < TEST_COUNT(small); s++) {
        char key[16], framed[200];
        snprintf(key, sizeof key, ",%.*s=", (int)strcspn(small[s], "="), small[s]);
        snprintf(framed, sizeof framed, ",%s", info->parameters);
        if (strstr(framed, key)) used += (size_t)snprintf(spec + used, size - used, ",%s", small[s]);
    }
}

static void each_generator_is_sound(void **state)
{
    assert_true(generator_count() >= 30);
    for (int g = 0; g < generator_count(); g++) {
        spry_generator_info info = SPRY_INIT(spry_generator_info);
        assert_int_equal(spry_generator_get_info(&info, g, NULL), SPRY_OK);
        assert_true(strlen(info.description) > 5);
        char spec[256];
        small_spec(spec, sizeof spec, &info);
        for (int pattern = 0; pattern < 2; pattern++) {
            spry_read_options options = SPRY_INIT(spry_read_options);
            options.value_type = pattern ? SPRY_PATTERN : SPRY_F64;
            spry_matrix *A = test_generate(*state, spec, &options);
            spry_matrix_report report = SPRY_INIT(spry_matrix_report);
            assert_int_equal(spry_matrix_check(A, &report, SPRY_CHECK_ALL, NULL), SPRY_OK);
            assert_int_equal(report.unsorted + report.duplicates + report.not_finite, 0);
            spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
            assert_int_equal(spry_matrix_get_stats(A, &stats, NULL), SPRY_OK);
            if (arrays_of(A).symmetry == SPRY_SYMMETRIC) assert_int_equal(stats.value_symmetric, SPRY_KNOWN_YES);
            if (stats.nnz == 0) assert_non_null(strstr(spec, "empty"));
            spry_matrix_destroy(A);
        }
    }
    spry_generator_info info = SPRY_INIT(spry_generator_info);
    assert_int_equal(spry_generator_get_info(&info, generator_count(), NULL), SPRY_UNKNOWN_NAME);
    assert_int_equal(spry_generator_get_info(&info, -1, NULL), SPRY_UNKNOWN_NAME);
    assert_int_equal(spry_generator_get_info(NULL, 0, NULL), SPRY_INVALID_ARGUMENT);
}

/* Returns 1 if the generator makes a graph, whose values are weights of edges. */
static int makes_a_graph(const spry_generator_info *info)
{
    static const char *const beginnings[] = {"road", "rgg", "rmat", "uni", "debruijn"};
    int found = 0;
    for (int b = 0; b < TEST_COUNT(beginnings); b++)
        found |= strncmp(info->name, beginnings[b], strlen(beginnings[b])) == 0;
    return found;
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void few_values(void **state)
{
    static const struct {
        const char *spec;
        int distinct; /* 0: all differ */
        int bits;
    } cases[] = {{"dense,rows=60,cols=60", 0, 53},
                 {"dense,rows=60,cols=60,distinct=7", 7, 53},
                 {"dense,rows=60,cols=60,distinct=1", 1, 53},
                 {"dense,rows=60,cols=60,bits=24", 0, 24},
                 {"dense,rows=60,cols=60,bits=3", 8, 3},
                 {"rmat,scale=9,distinct=5,bits=8", 5, 8}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_matrix *A = test_generate(*state, cases[c].spec, NULL);
        spry_arrays a = arrays_of(A);
        double *values = malloc((size_t)a.nnz * sizeof *values);
        assert_non_null(values);
        for (int64_t k = 0; k < a.nnz; k++) values[k] = test_value(&a, k);
        qsort(values, (size_t)a.nnz, sizeof *values, by_number);
        int64_t distinct = 1;
        for (int64_t k = 0; k < a.nnz; k++) {
            const double steps = values[k] * (double)(1LL << cases[c].bits);
            assert_true(steps == (double)(int64_t)steps);
            distinct += k > 0 && values[k] != values[k - 1];
        }
        assert_int_equal(distinct, cases[c].distinct > 0 ? cases[c].distinct : a.nnz);
        free(values);
        spry_matrix_destroy(A);
    }
}

/*
 * Asserts that graphs have values above 0 and at most 1, for any order of the nodes. Other matrices with 40 or more
 * entries must have a value outside this range.
 */
static void graphs_have_weights(void **state)
{
    int graphs = 0;
    for (int g = 0; g < generator_count(); g++) {
        spry_generator_info info = SPRY_INIT(spry_generator_info);
        assert_int_equal(spry_generator_get_info(&info, g, NULL), SPRY_OK);
        const int graph = makes_a_graph(&info), relabelled = strstr(info.parameters, "order=") != NULL;
        graphs += graph;
        for (int form = 0; form < (relabelled ? 4 : 2); form++) {
            char spec[256];
            spry_read_options options = SPRY_INIT(spry_read_options);
            options.value_type = form % 2 ? SPRY_F32 : SPRY_F64;
            small_spec(spec, sizeof spec, &info);
            if (form / 2) strcat(spec, ",order=degree");
            spry_matrix *A = test_generate(*state, spec, &options);
            spry_arrays a = arrays_of(A);
            int64_t weights = 0;
            for (int64_t k = 0; k < a.nnz; k++) weights += test_value(&a, k) > 0 && test_value(&a, k) <= 1;
            if (graph ? weights != a.nnz : a.nnz >= 40 && weights == a.nnz)
                fail_msg("%s: %lld of %lld values are above 0 and at most 1", spec, (long long)weights,
                         (long long)a.nnz);
            spry_matrix_destroy(A);
        }
    }
    assert_int_equal(graphs, 15);
}

#ifdef SPRY_STUDIES
/*
 * Asserts that matrices of the generator "twin", of every kind and size, have no more entries and no longer rows than
 * requested.
 */
static void twins_of_any_size(void **state)
{
    static const char *const kinds[] = {"mesh2", "mesh3", "kkt",     "triangles", "hexagons", "road",    "words",
                                        "ball2", "ball3", "circuit", "web",       "social",   "citation"};
    static const char *const sizes[] = {"rows=0,entries=0,longest=0",
                                        "rows=1,entries=1,longest=1",
                                        "rows=1,entries=1,longest=1,dof=3",
                                        "rows=2,entries=4,longest=2,symmetry=50",
                                        "rows=7,entries=49,longest=7,symmetry=0,diagonal=0",
                                        "rows=100,entries=100,longest=99,symmetry=0,diagonal=0",
                                        "rows=1000,entries=9000,longest=999,dof=3,symmetry=30"};
    for (int k = 0; k < TEST_COUNT(kinds); k++)
        for (int s = 0; s < TEST_COUNT(sizes); s++) {
            char spec[160];
            spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
            spry_matrix_report report = SPRY_INIT(spry_matrix_report);
            snprintf(spec, sizeof spec, "twin,kind=%s,%s", kinds[k], sizes[s]);
            spry_matrix *A = test_generate(*state, spec, NULL);
            assert_int_equal(spry_matrix_check(A, &report, SPRY_CHECK_ALL, NULL), SPRY_OK);
            assert_int_equal(spry_matrix_get_stats(A, &stats, NULL), SPRY_OK);
            long long entries = atoll(strstr(spec, "entries=") + 8), longest = atoll(strstr(spec, "longest=") + 8);
            if (stats.nnz > entries || stats.max_row > longest || (s > 4 && stats.max_row != longest))
                fail_msg("%s: %lld entries, longest row %lld", spec, (long long)stats.nnz, (long long)stats.max_row);
            spry_matrix_destroy(A);
        }
}
#endif

/* Asserts that the parameters that a generator's info shows are the defaults. */
static void shown_parameters_are_the_defaults(void **state)
{
    if (RACES_ALONE) skip(); /* sequential */
    static const char *const names[] = {"rmat16", "laplace5", "diagonal"};
    for (int n = 0; n < TEST_COUNT(names); n++)
        for (int g = 0; g < generator_count(); g++) {
            spry_generator_info info = SPRY_INIT(spry_generator_info);
            assert_int_equal(spry_generator_get_info(&info, g, NULL), SPRY_OK);
            if (strcmp(info.name, names[n]) != 0) continue;
            char spec[256];
            snprintf(spec, sizeof spec, "%s,%s", info.name, info.parameters);
            spry_matrix *A = test_generate(*state, names[n], NULL), *B = test_generate(*state, spec, NULL);
            spry_arrays a = arrays_of(A), b = arrays_of(B);
            assert_int_equal(test_structure_hash(&a), test_structure_hash(&b));
            assert_int_equal(test_value_hash(&a), test_value_hash(&b));
            spry_matrix_destroy(A);
            spry_matrix_destroy(B);
        }
}

static void presets_are_their_parameters(void **state)
{
    if (RACES_ALONE) skip(); /* sequential */
    static const char *const same[][2] = {{"rmat16", "rmat,scale=16,edges=16"},
                                          {"rmat16:d", "rmat,scale=16,order=degree"},
                                          {"fem3s", "fem3,x=40,y=40,z=40"},
                                          {"circuit1,rows=9000", "circuit,rows=9000"},
                                          {"grid7p,x=20,y=20,z=20", "grid7,x=20,y=20,z=20,shuffle=23"}};
    for (int s = SAMPLED ? 3 : 0; s < TEST_COUNT(same); s++) { /* the first three are large */
        spry_matrix *A = test_generate(*state, same[s][0], NULL), *B = test_generate(*state, same[s][1], NULL);
        spry_arrays a = arrays_of(A), b = arrays_of(B);
        assert_int_equal(test_structure_hash(&a), test_structure_hash(&b));
        assert_int_equal(test_value_hash(&a), test_value_hash(&b));
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
    }
}

static void same_for_any_thread_count(void **state)
{
    static const char *const specs[] = {"grid7,x=30,y=31,z=32",
                                        "rmat,scale=14",
                                        "rgg,scale=14",
                                        "road,side=200",
                                        "random,rows=20000,cols=30000,density=0.001",
                                        "circuit,rows=50000",
                                        "uniform,rows=20000,degree=60",
                                        "rmat:d,scale=14,shuffle=4",
#ifdef SPRY_STUDIES
                                        "twin,rows=20000,entries=100000,kind=social,symmetry=40,longest=900",
#endif
                                        "arrow,rows=40000,width=3"};
    for (int s = 0; s < TEST_COUNT(specs); s++) {
        uint64_t structure = 0, values = 0;
        static const int threads[] = {1, 2, 5};
        for (int t = SAMPLED ? 1 : 0; t < TEST_COUNT(threads); t++) {
            test_memory memory = {0};
            spry_context *context = counted_context(&memory, threads[t]);
            spry_matrix *A = test_generate(context, specs[s], NULL);
            spry_arrays a = arrays_of(A);
            if (t > SAMPLED) {
                assert_int_equal(test_structure_hash(&a), structure);
                assert_int_equal(test_value_hash(&a), values);
            }
            structure = test_structure_hash(&a);
            values = test_value_hash(&a);
            spry_matrix_destroy(A);
            spry_context_destroy(context);
            assert_int_equal(memory.blocks, 0);
        }
    }
}

static void types_as_asked(void **state)
{
    static const char *const specs[] = {"grid7,x=9,y=8,z=7", "rmat,scale=9", "laplace5,x=8,y=9,shuffle=3",
                                        "rgg,scale=9", "uniform,rows=300,degree=50"};
    for (int s = 0; s < TEST_COUNT(specs); s++) {
        spry_matrix *plain = test_generate(*state, specs[s], NULL);
        spry_arrays p = arrays_of(plain);
        for (int f = 0; f < TEST_FORMS; f += 3) {
            test_form form = test_form_number(f);
            spry_read_options options = SPRY_INIT(spry_read_options);
            options.value_type = form.value_type;
            options.offset_type = form.offset_type;
            options.index_type = form.index_type;
            spry_matrix *A = test_generate(*state, specs[s], &options);
            spry_arrays a = arrays_of(A);
            assert_int_equal(a.value_type, form.value_type);
            assert_int_equal(a.offset_type, form.offset_type);
            assert_int_equal(a.index_type, form.index_type);
            assert_int_equal(test_structure_hash(&a), test_structure_hash(&p));
            for (int64_t k = 0; k < a.nnz && form.value_type != SPRY_PATTERN; k++)
                assert_true(test_value(&a, k) ==
                            (form.value_type == SPRY_F32 ? (double)(float)test_value(&p, k) : test_value(&p, k)));
            spry_matrix_destroy(A);
        }
        spry_matrix_destroy(plain);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void bad_specifications(void **state)
{
    static const struct {
        const char *spec;
        spry_status status;
        const char *message; /* or the beginning of the message */
    } cases[] = {
        {"", SPRY_UNKNOWN_NAME, "no generator ''; there are grid5 grid7 grid7p grid9 "},
        {"grid", SPRY_UNKNOWN_NAME, "no generator 'grid'; there are grid5 grid7 grid7p grid9 "},
        {"grid55", SPRY_UNKNOWN_NAME, "no generator 'grid55'; there are "},
        {"rmat99:d", SPRY_UNKNOWN_NAME, "no generator 'rmat99'; there are "},
        {":d", SPRY_UNKNOWN_NAME, "no generator ':d'; there are "},
        {"grid5,z=3", SPRY_INVALID_ARGUMENT,
         "gen:grid5: no key 'z'; keys and defaults are x=2000,y=2000,seed=3,order=natural,shuffle=0"},
        {"grid5,,x=3", SPRY_INVALID_ARGUMENT,
         "gen:grid5: no key ''; keys and defaults are x=2000,y=2000,seed=3,order=natural,shuffle=0"},
        {"grid5,x", SPRY_INVALID_ARGUMENT, "gen:grid5: x is '', expected a whole number from 1 to 72057594037927936"},
        {"grid5,x=", SPRY_INVALID_ARGUMENT, "gen:grid5: x is '', expected a whole number from 1 to 72057594037927936"},
        {"grid5,x=0", SPRY_INVALID_ARGUMENT,
         "gen:grid5: x is '0', expected a whole number from 1 to 72057594037927936"},
        {"grid5,x=-3", SPRY_INVALID_ARGUMENT,
         "gen:grid5: x is '-3', expected a whole number from 1 to 72057594037927936"},
        {"grid5,x=3.5", SPRY_INVALID_ARGUMENT,
         "gen:grid5: x is '3.5', expected a whole number from 1 to 72057594037927936"},
        {"grid5,x=99999999999999999999999", SPRY_INVALID_ARGUMENT,
         "gen:grid5: x is '99999999999999999999999', expected a whole number from 1 to 72057594037927936"},
        {"grid5,x=3,x=4", SPRY_INVALID_ARGUMENT, "gen:grid5: x is given twice"},
        {"grid5,", SPRY_INVALID_ARGUMENT, "gen:grid5: nothing behind the last comma"},
        {"grid5,order=random", SPRY_INVALID_ARGUMENT, "gen:grid5: order is 'random', expected natural or degree"},
        {"rmat,scale=31", SPRY_INVALID_ARGUMENT, "gen:rmat: scale is '31', expected a whole number from 1 to 30"},
        {"random,density=1.5", SPRY_INVALID_ARGUMENT, "gen:random: density is '1.5', expected a number from 0 to 1"},
        {"random,density=nan", SPRY_INVALID_ARGUMENT, "gen:random: density is 'nan', expected a number from 0 to 1"},
        {"random,density=0.5x", SPRY_INVALID_ARGUMENT, "gen:random: density is '0.5x', expected a number from 0 to 1"},
        {"random,density=", SPRY_INVALID_ARGUMENT, "gen:random: density is '', expected a number from 0 to 1"},
        {"laplace5,ax=inf", SPRY_INVALID_ARGUMENT, "gen:laplace5: ax is 'inf', expected a number from 1e-30 to 1e+30"},
        {"laplace5,ax=0", SPRY_INVALID_ARGUMENT, "gen:laplace5: ax is '0', expected a number from 1e-30 to 1e+30"},
#ifdef SPRY_STUDIES
        {"twin,rows=10,entries=5,longest=6", SPRY_INVALID_ARGUMENT,
         "gen:twin: 5 entries in 10 rows, the longest of 6: expected a longest row of at most 10, and entries from"},
        {"twin,rows=2147483648", SPRY_INVALID_ARGUMENT,
         "gen:twin: rows is '2147483648', expected a whole number from 0 to 2147483647"},
        {"twin,kind=star", SPRY_INVALID_ARGUMENT, "gen:twin: kind is 'star', expected mesh2, mesh3, kkt, triangles,"},
#endif
        {"dense:d", SPRY_INVALID_ARGUMENT, "gen:dense has no order, so no ':d'"},
        {"circuit,rows=2147483648", SPRY_INVALID_ARGUMENT,
         "gen:circuit: rows is '2147483648', expected a whole number from 0 to 2147483647"},
    };
    for (int c = 0; c < TEST_COUNT(cases); c++) {
        spry_matrix *A = NULL;
        spry_error err = {0};
        spry_status status = spry_matrix_generate(*state, &A, cases[c].spec, NULL, &err);
        if (status != cases[c].status || strncmp(err.message, cases[c].message, strlen(cases[c].message)) != 0)
            fail_msg("%s: status %d, %s", cases[c].spec, (int)status, err.message);
        assert_int_equal(err.status, status);
        assert_null(A);
        assert_int_equal(spry_matrix_generate(*state, &A, cases[c].spec, NULL, NULL), status);
    }
    spry_matrix *A = NULL;
    assert_int_equal(spry_matrix_generate(NULL, &A, "grid5", NULL, NULL), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_matrix_generate(*state, NULL, "grid5", NULL, NULL), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_matrix_generate(*state, &A, NULL, NULL, NULL), SPRY_INVALID_ARGUMENT);
}

static void bad_options(void **state)
{
    spry_matrix *A = NULL;
    spry_read_options options = {0};
    assert_int_equal(spry_matrix_generate(*state, &A, "diagonal,rows=3", &options, NULL), SPRY_INVALID_ARGUMENT);
    options = SPRY_INIT(spry_read_options);
    options.value_type = (spry_type)9;
    assert_int_equal(spry_matrix_generate(*state, &A, "diagonal,rows=3", &options, NULL), SPRY_INVALID_ARGUMENT);
    options = SPRY_INIT(spry_read_options);
    options.index_type = (spry_index_type)9;
    assert_int_equal(spry_matrix_generate(*state, &A, "diagonal,rows=3", &options, NULL), SPRY_INVALID_ARGUMENT);
    options = SPRY_INIT(spry_read_options);
    options.offset_type = SPRY_I32;
    options.index_type = SPRY_I64;
    assert_int_equal(spry_matrix_generate(*state, &A, "diagonal,rows=3", &options, NULL), SPRY_INVALID_ARGUMENT);
    options = SPRY_INIT(spry_read_options);
    options.index_type = SPRY_I32;
    assert_int_equal(spry_matrix_generate(*state, &A, "diagonal,rows=3000000000", &options, NULL), SPRY_TOO_LARGE);
    options.offset_type = SPRY_I32;
    assert_int_equal(spry_matrix_generate(*state, &A, "dense,rows=50000,cols=50000", &options, NULL), SPRY_TOO_LARGE);
    assert_null(A);
}

/* Refused immediately for any generator. */
static void too_large_for_memory(void **state)
{
    static const char *const specs[] = {"grid7,x=100000,y=100000,z=100000",
                                        "grid7,x=72057594037927936,y=72057594037927936",
                                        "fem3,x=4000000000,y=4000000000,z=4,dof=1024",
                                        "dense,rows=1000000000,cols=1000000000",
                                        "dense,rows=72057594037927936,cols=72057594037927936",
                                        "diagonal,rows=72057594037927936",
                                        "banded,rows=1000000000000,half=1000000000000",
                                        "arrow,rows=1000000000000,width=1000000000000",
                                        "debruijn,symbols=65536,length=62",
                                        "debruijn,symbols=2,length=45",
                                        "empty,rows=72057594037927936",
                                        "random,rows=1000000000,cols=1000000000,density=0.5",
                                        "road,side=268435456",
                                        "uniform,rows=1000000000000,degree=10",
                                        "rmat,scale=30,edges=65536"};
    for (int s = 0; s < TEST_COUNT(specs); s++) {
        spry_matrix *A = NULL;
        spry_error err = {0};
        spry_status status = spry_matrix_generate(*state, &A, specs[s], NULL, &err);
        if (status != SPRY_OUT_OF_MEMORY) fail_msg("%s: status %d, %s", specs[s], (int)status, err.message);
        assert_non_null(strstr(err.message, "out of memory: "));
        assert_null(A);
    }
}

static spry_status generate_and_drop(spry_context *context, const void *spec, spry_error *err)
{
    spry_matrix *A = NULL;
    spry_status status = spry_matrix_generate(context, &A, spec, NULL, err);
    if (status != SPRY_OK) assert_null(A);
    spry_matrix_destroy(A);
    return status;
}

static void every_allocation_fails(void **state)
{
    for (int g = 0; g < generator_count(); g++) {
        spry_generator_info info = SPRY_INIT(spry_generator_info);
        assert_int_equal(spry_generator_get_info(&info, g, NULL), SPRY_OK);
        char spec[256];
        small_spec(spec, sizeof spec, &info);
        assert_true(fail_every_allocation(generate_and_drop, spec, 2) > 0);
        if (!strstr(info.parameters, "order=")) continue;
        if (!strstr(info.parameters, "shuffle=23")) strcat(spec, ",shuffle=3");
        strcat(spec, ",order=degree");
        assert_true(fail_every_allocation(generate_and_drop, spec, 2) > 0);
    }
    assert_true(fail_every_allocation(generate_and_drop, "uniform,rows=300,degree=100", 2) > 0);
    assert_true(fail_every_allocation(generate_and_drop, "rmat:d,scale=11,edges=20", 2) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawings),
        cmocka_unit_test(laplace_values),
        cmocka_unit_test(relabelling_keeps_given_values),
        cmocka_unit_test(random_density),
        cmocka_unit_test(each_generator_is_sound),
        cmocka_unit_test(few_values),
        cmocka_unit_test(graphs_have_weights),
#ifdef SPRY_STUDIES
        cmocka_unit_test(twins_of_any_size),
#endif
        cmocka_unit_test(shown_parameters_are_the_defaults),
        cmocka_unit_test(presets_are_their_parameters),
        cmocka_unit_test(same_for_any_thread_count),
        cmocka_unit_test(types_as_asked),
        cmocka_unit_test(bad_specifications),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(too_large_for_memory),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, test_setup, close_context);
}
