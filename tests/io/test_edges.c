/*
 * Tests of edge lists: accepted and refused files, equal results for all thread counts, memory limits and failing
 * allocations.
 */
#include "files.h"

#include "matrix/matrix.h"
#include "spry/io.h"

typedef struct choice {
    int base, drop, undirected;
} choice;

static spry_read_options options_of(choice c)
{
    spry_read_options o = SPRY_INIT(spry_read_options);
    o.index_base = c.base;
    o.drop_duplicates = c.drop;
    o.undirected = c.undirected;
    return o;
}

/* ---- accepted files ---------------------------------------------------------------------------------- */

typedef struct good_list {
    const char *text;
    choice chosen;
    int64_t rows, nnz;
    spryi_field field;
    double dense[9];
} good_list;

static const good_list good_lists[] = {
    {"0 1\n1 2\n2 0\n", {0, 0, 0}, 3, 3, SPRYI_FIELD_PATTERN, {0, 1, 0, 0, 0, 1, 1, 0, 0}},
    {"0\t1\n2\t2", {0, 0, 0}, 3, 2, SPRYI_FIELD_PATTERN, {0, 1, 0, 0, 0, 0, 0, 0, 1}},
    {"1,2\n2,1\n", {1, 0, 0}, 2, 2, SPRYI_FIELD_PATTERN, {0, 1, 1, 0}},
    {"0,1,2.5\n1,0,-1e2\n1,1,3\n", {0, 0, 0}, 2, 3, SPRYI_REAL, {0, 2.5, -100, 3}},
    {"0;1;0.5\n", {0, 0, 0}, 2, 1, SPRYI_REAL, {0, 0.5, 0, 0}},
    {"source,target\n0,1\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 1, 0, 0}},
    {"# a graph\n% of two nodes\n\n  \nfrom to weight\n# here\n0 1 4\n\n1 1 8\n",
     {0, 0, 0},
     2,
     2,
     SPRYI_REAL,
     {0, 4, 0, 8}},
    {"\xef\xbb\xbf\"u\";\"v\"\r\n0;1\r\n1;0\r\n\r\n", {0, 0, 0}, 2, 2, SPRYI_FIELD_PATTERN, {0, 1, 1, 0}},
    {" 0 , 1 ,\t2 \n+1  00\t 7\n", {0, 0, 0}, 2, 2, SPRYI_REAL, {0, 2, 7, 0}},
    {"0 0 nan\n", {0, 0, 0}, 1, 1, SPRYI_REAL, {0}}, /* compared below as NaN */
    /* duplicates, in the order of the file */
    {"0 1 5\n1 0 1\n0 1 2\n0 1 4\n", {0, 0, 0}, 2, 2, SPRYI_REAL, {0, 11, 1, 0}},
    {"0 1 5\n1 0 1\n0 1 2\n0 1 4\n", {0, 1, 0}, 2, 2, SPRYI_REAL, {0, 5, 1, 0}},
    {"0 1\n0 1\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 2, 0, 0}},
    {"0 1\n0 1\n", {0, 1, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 1, 0, 0}},
    /* undirected: an edge becomes two entries, an edge from a node to itself one entry */
    {"0 1 5\n1 1 3\n", {0, 0, 1}, 2, 3, SPRYI_REAL, {0, 5, 5, 3}},
    {"0 1 5\n1 0 2\n", {0, 0, 1}, 2, 2, SPRYI_REAL, {0, 7, 7, 0}},
    {"0 1 5\n1 0 2\n", {0, 1, 1}, 2, 2, SPRYI_REAL, {0, 5, 5, 0}},
    {"2 1 5\n3 1 2\n", {1, 0, 1}, 3, 4, SPRYI_REAL, {0, 5, 2, 5, 0, 0, 2, 0, 0}},
    /* quotes, and integers in unusual notations */
    {"\"0\",\"1\",\"2.5\"\n\" 1 \" \"0\"\t4\n", {0, 0, 0}, 2, 2, SPRYI_REAL, {0, 2.5, 4, 0}},
    {"0.0,1.0\n1.,0\n", {0, 0, 0}, 2, 2, SPRYI_FIELD_PATTERN, {0, 1, 1, 0}},
    {"1.000000000000000000e+00 2.000000000000000000e+00\n20e-1 1\n",
     {1, 0, 0},
     2,
     2,
     SPRYI_FIELD_PATTERN,
     {0, 1, 1, 0}},
    {"0 1\n-0.0 0e400\n", {0, 0, 0}, 2, 2, SPRYI_FIELD_PATTERN, {1, 1, 0, 0}},
    /* columns by their names */
    {",source,target\n0,0,1\n7,1,0\n", {0, 0, 0}, 2, 2, SPRYI_FIELD_PATTERN, {0, 1, 1, 0}},
    {"\"\",\"Source\",\"TARGET\"\n\"1\",\"0\",\"1\"\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 1, 0, 0}},
    {",source,target,weight\n0,0,1,3\n", {0, 0, 0}, 2, 1, SPRYI_REAL, {0, 3, 0, 0}},
    {"weight;Target;source\n3;0;1\n4;1;1\n", {0, 0, 0}, 2, 2, SPRYI_REAL, {0, 0, 3, 4}},
    {"target source\n0 1\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 0, 1, 0}},
    {"id,source,target\n9,0,1\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 1, 0, 0}},
    {"0,source,target\n9,0,1\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 1, 0, 0}},
    {"Source,Target,Label,Weight\r\n0,1,\"a, \"\"b\"\"\",3\r\n1,0,John Smith,4\r\n1,1,,5\r\n",
     {0, 0, 0},
     2,
     3,
     SPRYI_REAL,
     {0, 3, 4, 5}},
    {"\xef\xbb\xbf# names\ntarget\tname\tsource\n0\tJohn Smith\t1\n0\t\t0\n",
     {0, 0, 0},
     2,
     2,
     SPRYI_FIELD_PATTERN,
     {1, 0, 1, 0}},
    /* the first column has no name: only additional blanks or a tab show this column */
    {"\tsource\ttarget\n7\t0\t1\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 1, 0, 0}},
    {" source target weight\n7 0 1 3\n", {0, 0, 0}, 2, 1, SPRYI_REAL, {0, 3, 0, 0}},
    {"   target  source\n7       0       1\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 0, 1, 0}},
    {" source target\n 0 1\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 1, 0, 0}},
    {" a b\n 0 1\n", {0, 0, 0}, 2, 1, SPRYI_FIELD_PATTERN, {0, 1, 0, 0}},
};

static void expect_list(const good_list *g, const spry_matrix *A, const char *how)
{
    spry_arrays a = arrays_of(A);
    if (a.rows != g->rows || a.columns != g->rows || a.nnz != g->nnz || A->field != g->field ||
        a.symmetry != (g->chosen.undirected ? SPRY_SYMMETRIC : SPRY_GENERAL))
        fail_msg("\"%s\", %s: %lld x %lld, %lld entries, field %d, symmetry %d", g->text, how, (long long)a.rows,
                 (long long)a.columns, (long long)a.nnz, (int)A->field, (int)a.symmetry);
    double *dense = dense_of(A);
    for (int64_t k = 0; k < g->rows * g->rows; k++)
        if (dense[k] != g->dense[k] && !(dense[k] != dense[k] && strstr(g->text, "nan")))
            fail_msg("\"%s\", %s: element %d is %g, expected %g", g->text, how, (int)k, dense[k], g->dense[k]);
    free(dense);
}

static void test_good_lists(void **state)
{
    for (size_t g = 0; g < sizeof good_lists / sizeof *good_lists; g++) {
        const good_list *list = &good_lists[g];
        const size_t bytes = strlen(list->text);
        const spry_read_options o = options_of(list->chosen);
        size_t packed_bytes;
        unsigned char *packed = gzip_of(list->text, bytes, &packed_bytes);
        char *exact = malloc(bytes); /* lets a sanitizer detect reads beyond the text */
        memcpy(exact, list->text, bytes);
        for (int threads = 1; threads <= 3; threads += 2) {
            spry_context *context = context_of(threads);
            spry_matrix *A[4] = {NULL};
            spry_error err = {0};
            if (spry_matrix_read_memory(context, &A[0], exact, bytes, "x.csv", &o, &err) != SPRY_OK ||
                spry_matrix_read(context, &A[1], temporary_file("g.EL", exact, bytes), &o, &err) != SPRY_OK ||
                spry_matrix_read(context, &A[2], temporary_file("g.txt.gz", packed, packed_bytes), &o, &err) !=
                    SPRY_OK ||
                spry_matrix_read_memory(context, &A[3], packed, packed_bytes, "x.edges", &o, &err) != SPRY_OK)
                fail_msg("\"%s\": %s", list->text, err.message);
            static const char *const how[] = {"memory", "file", "gzip", "gzip in memory"};
            for (int k = 0; k < 4; k++) {
                expect_list(list, A[k], how[k]);
                spry_matrix_destroy(A[k]);
            }
            if (context_bytes(context) != 0) fail_msg("\"%s\": memory is kept", list->text);
            spry_context_destroy(context);
        }
        free(exact);
        free(packed);
    }
}

/* A file is read as an edge list if its name says so. Other names, or a banner, mean Matrix Market. */
static void test_names(void **state)
{
    static const char text[] = "0 1\n", mtx[] = "%%MatrixMarket matrix coordinate pattern general\n3 4 1\n1 2\n";
    spry_read_options stated = SPRY_INIT(spry_read_options);
    static const char *const others[] = {"x", "x.mtx", "x.csv.zip", "txt", ".txt", "x.gz"};
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
        assert_int_equal(SPRY_BAD_FILE,
                         spry_matrix_read_memory(context, &A, text, sizeof text - 1, others[n], NULL, &err));
        assert_non_null(strstr(err.message, "expected a banner"));
        stated.input = "edges";
        assert_int_equal(SPRY_OK,
                         spry_matrix_read_memory(context, &A, text, sizeof text - 1, others[n], &stated, &err));
        assert_int_equal(2, A->a.rows);
        spry_matrix_destroy(A);
    }
    assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &A, mtx, sizeof mtx - 1, "x.tsv", NULL, &err));
    assert_int_equal(4, A->a.columns);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- refused files --------------------------------------------------------------------------------- */

#define WHOLE "; names of nodes are expected to be whole numbers"
#define MORE "; of more, the first line must name source and target"
#define NOT_BOTH ", but the columns of nodes are not named source and target; expected these names"
#define NAMELESS                                                                                                       \
    "the first column has no name, and no columns are named source and target; name them, or write the file without "  \
    "the first column (pandas: to_csv(index=False))"

static const struct bad_list {
    const char *text;
    int base;
    int64_t line;
    const char *message;
} bad_lists[] = {
    {"", 0, 0, "the file has no edges, expected lines such as '0 1' or '0,1,2.5'"},
    {"# nothing\n\n", 0, 0, "the file has no edges, expected lines such as '0 1' or '0,1,2.5'"},
    {"source,target\n", 0, 0, "the file has no edges, expected lines such as '0 1' or '0,1,2.5'"},
    {"alice bob\nbob carol\n", 0, 2, "expected the number of the source node, found 'bob'" WHOLE},
    {"0 1\n0 bob\n", 0, 2, "expected the number of the target node, found 'bob'" WHOLE},
    {"0 1\n0.5 1\n", 0, 2, "expected the number of the source node, found '0.5'" WHOLE},
    {"1.0,2.01\n", 0, 1, "expected the number of the target node, found '2.01'" WHOLE},
    {"1e-1,2\n", 0, 1, "expected the number of the source node, found '1e-1'" WHOLE},
    {"0,1.00000000000000000001\n", 0, 1,
     "expected the number of the target node, found '1.00000000000000000001'" WHOLE},
    {"0 1\n0 nan\n", 0, 2, "expected the number of the target node, found 'nan'" WHOLE},
    {"0,1\n\"\",1\n", 0, 2, "expected the number of the source node, found '\"'" WHOLE},
    {"0 1\n\"0 1\n", 0, 2, "expected the number of the source node, found '\"0'" WHOLE},
    {"0 1\n0 \"1\"2\n", 0, 2, "expected the number of the target node, found '\"1\"2'" WHOLE},
    {"0 1\n-1.0 1\n", 0, 2, "source node -1.0 is below 0, the first number"},
    {"0 1e18\n", 0, 1, "target node 1e18 is more than indices can hold, which is 144115188075855870"},
    {"1e400 0\n", 0, 1, "source node 1e400 is more than indices can hold, which is 144115188075855870"},
    {",a,b\n0,0,1\n", 0, 1, NAMELESS},
    {",0,1\n0,0,1\n", 0, 1, NAMELESS},
    {",source,to\n0,0,1\n", 0, 1, NAMELESS},
    {"\"\",\"from\",\"to\"\n\"1\",0,1\n", 0, 1, NAMELESS},
    {"\tfrom\tto\n0\t0\t1\n", 0, 1, NAMELESS},
    {" from to\n0 0 1\n", 0, 1, NAMELESS},
    {"target,from\n0,1\n", 0, 1, "column 1 is named target" NOT_BOTH},
    {"weight,from,to\n0,1,2\n", 0, 1, "column 1 is named weight" NOT_BOTH},
    {"id,source,to\n0,1,2\n", 0, 1, "column 2 is named source" NOT_BOTH},
    {"source,target,Source\n0,1,2\n", 0, 1, "two columns are named source, expected one"},
    {"id,source,target\n0,1\n", 0, 2, "expected 3 columns, as line 1 names them, found 2"},
    {"id,source,target\n0,0,1\n0,1\n", 0, 3, "expected 3 columns, as line 1 names them, found 2"},
    {"id,source,target\n0,0,1\n0,0,1,2\n", 0, 3, "expected 3 columns, as line 1 names them, found 4"},
    {"id,source,target\n0,0,1\n0,1,x\n", 0, 3, "expected the number of the target node, found 'x'" WHOLE},
    {"0,1\n0,,1\n", 0, 2, "expected the number of the target node, found ','" WHOLE},
    {"0,1\n,1\n", 0, 2, "expected the number of the source node, found ','" WHOLE},
    {"0 1\n\n2\n", 0, 3, "expected the number of the target node, found the end of the line"},
    {"7\n8\n", 0, 1, "expected two or three columns, source, target and perhaps a weight, found 1" MORE},
    {"0 1 2 3\n", 0, 1, "expected two or three columns, source, target and perhaps a weight, found 4" MORE},
    {"a,b,c,d\n0,1,2,3\n", 0, 2, "expected two or three columns, source, target and perhaps a weight, found 4" MORE},
    {"a,b,c\n0,1\n", 0, 2, "expected 3 columns, as line 1 names them, found 2"},
    {"0 1\n0 1 2\n", 0, 2,
     "expected the end of the line after the target node, as in the first line of edges, found '2'"},
    {"0,1\n0,1,\n", 0, 2,
     "expected the end of the line after the target node, as in the first line of edges, found another column"},
    {"0 1 2\n0 1 2 x\n", 0, 2,
     "expected the end of the line after the weight, as in the first line of edges, found 'x'"},
    {"0 1 2\n0 1\n", 0, 2, "expected a weight, as the first line of edges has one, found the end of the line"},
    {"0 1 2\n0 1 x\n", 0, 2, "expected a number as the weight, found 'x'"},
    {"0,1,2\n0,1,2e\n", 0, 2, "expected a number as the weight, found '2e'"},
    {"0 1\n-1 1\n", 0, 2, "source node -1 is below 0, the first number"},
    {"1 1\n1 0\n", 1, 2,
     "target node 0 is below 1, the first number; if the first number is 0, read with index_base 0"},
    {"0 144115188075855871\n", 0, 1,
     "target node 144115188075855871 is more than indices can hold, which is 144115188075855870"},
    {"0 99999999999999999999\n", 0, 1,
     "target node 99999999999999999999 is more than indices can hold, which is 144115188075855870"},
};

static void test_bad_lists(void **state)
{
    for (size_t b = 0; b < sizeof bad_lists / sizeof *bad_lists; b++) {
        const struct bad_list *bad = &bad_lists[b];
        const spry_read_options o = options_of((choice){.base = bad->base});
        for (int threads = 1; threads <= 3; threads += 2) {
            char expected[512];
            spry_context *context = context_of(threads);
            spry_matrix *A = NULL;
            spry_error err = {0};
            if (bad->line > 0)
                snprintf(expected, sizeof expected, "x.tsv:%lld: %s", (long long)bad->line, bad->message);
            else
                snprintf(expected, sizeof expected, "x.tsv: %s", bad->message);
            assert_int_equal(SPRY_BAD_FILE,
                             spry_matrix_read_memory(context, &A, bad->text, strlen(bad->text), "x.tsv", &o, &err));
            assert_string_equal(err.message, expected);
            assert_int_equal(err.line, bad->line);
            assert_null(A);
            assert_int_equal(0, context_bytes(context));
            spry_context_destroy(context);
        }
    }
}

/*
 * Asserts that an edge list with large gaps between node numbers is refused if it needs more memory than available. The
 * message must give this reason.
 */
static void test_gaps(void **state)
{
    static const char text[] = "0 1000000000000000\n";
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    assert_int_equal(SPRY_OUT_OF_MEMORY,
                     spry_matrix_read_memory(context, &A, text, sizeof text - 1, "x.el", NULL, &err));
    assert_string_equal(err.message, "x.el: node numbers go up to 1000000000000000, and that many rows need at least "
                                     "8 PB; expected numbers without large gaps");
    spry_read_options o = SPRY_INIT(spry_read_options);
    o.memory_limit_bytes = 1 << 20;
    assert_int_equal(SPRY_TOO_LARGE, spry_matrix_read_memory(context, &A, text, sizeof text - 1, "x.el", &o, &err));
    o.memory_limit_bytes = 0;
    o.index_type = o.offset_type = SPRY_I32;
    assert_int_equal(SPRY_BAD_FILE, spry_matrix_read_memory(context, &A, text, sizeof text - 1, "x.el", &o, &err));
    assert_non_null(strstr(err.message, "do not fit 32-bit indices"));
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Asserts that an option that does not apply to the kind of file is refused, and that the error names the option. */
static void test_options(void **state)
{
    static const char mtx[] = "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 1 2\n2 2 5\n";
    static const struct {
        choice chosen;
        const char *argument, *message;
    } refused[] = {
        {{1, 0, 0}, "index_base", "index_base is for edge lists, and this is a Matrix Market file"},
        {{0, 0, 1}, "undirected", "undirected is for edge lists, and this is a Matrix Market file"},
        {{2, 0, 0}, "index_base", "read: index_base is 2, expected 0 or 1"},
    };
    spry_context *context = context_of(1);
    spry_matrix *A = NULL, *B = NULL;
    spry_error err = {0};
    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++) {
        const spry_read_options o = options_of(refused[r].chosen);
        assert_int_equal(SPRY_INVALID_ARGUMENT,
                         spry_matrix_read_memory(context, &A, mtx, sizeof mtx - 1, "x.mtx", &o, &err));
        assert_non_null(strstr(err.message, refused[r].message));
        assert_string_equal(err.argument, refused[r].argument);
    }
    spry_read_options o = options_of((choice){.drop = 1});
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_generate(context, &A, "gen:grid5,x=3,y=3", &o, &err));
    assert_string_equal(err.message, "generate: drop_duplicates is for files");
    assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &A, mtx, sizeof mtx - 1, "x.mtx", &o, &err));
    assert_true(((const double *)A->a.values)[0] == 1);
    const char *path = temporary_path("a.spry");
    assert_int_equal(SPRY_OK, spry_matrix_write(A, path, NULL, &err));
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_read(context, &B, path, &o, &err));
    assert_non_null(strstr(err.message, "drop_duplicates is for text and npz files, and this is a container"));
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- long lists ------------------------------------------------------------------------------------ */

enum { LONG_LINES = 150000, NODES = 20000 };

/* Writes the same entries as an edge list or as Matrix Market. Line `at` of the list is replaced (0: none). */
static char *long_list(int matrix_market, int at, const char *line, size_t *bytes)
{
    char *text = malloc((size_t)LONG_LINES * 40 + 1000), *to = text;
    uint32_t random = 7;
    assert_non_null(text);
    if (matrix_market)
        to += sprintf(to, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", NODES, NODES, LONG_LINES);
    for (int l = 1; l <= LONG_LINES; l++) {
        random = random * 1664525u + 1013904223u;
        const int i = l == 1 ? NODES - 1 : (int)(random >> 8) % NODES, j = (int)(random >> 16) % 300;
        if (l == at)
            to += sprintf(to, "%s", line);
        else
            to += sprintf(to,
                          matrix_market ? "%d %d %.9g\n"
                          : l % 3       ? "%d,%d,%.9g\n"
                                        : "%d  %d\t%.9g \r\n",
                          i + matrix_market, j + matrix_market, random / 1e5);
    }
    *bytes = (size_t)(to - text);
    return text;
}

static void test_long_list(void **state)
{
    size_t bytes, mtx_bytes, packed_bytes;
    char *text = long_list(0, 0, "", &bytes), *mtx = long_list(1, 0, "", &mtx_bytes);
    unsigned char *packed = gzip_of(text, bytes, &packed_bytes);
    const char *path = temporary_file("long.csv", text, bytes),
               *gz = temporary_file("long.csv.gz", packed, packed_bytes);
    for (int wide = 0; wide < 2; wide++)
        for (int type = SPRY_TYPE_DEFAULT; type <= SPRY_F16; type++)
            for (int threads = 1; threads <= 5; threads += 2) {
                if (!TEST_FULL && (wide + type + threads / 2) % 3 != 0) continue; /* thread counts rotate */
                spry_context *context = context_of(threads);
                spry_matrix *A = NULL, *B = NULL, *C = NULL;
                spry_error err = {0};
                spry_read_options o = SPRY_INIT(spry_read_options);
                o.value_type = (spry_type)type;
                o.index_type = o.offset_type = wide ? SPRY_I64 : SPRY_INDEX_DEFAULT;
                if (spry_matrix_read_memory(context, &A, mtx, mtx_bytes, "x", &o, &err) != SPRY_OK ||
                    spry_matrix_read(context, &B, path, &o, &err) != SPRY_OK ||
                    spry_matrix_read(context, &C, gz, &o, &err) != SPRY_OK)
                    fail_msg("%s", err.message);
                assert_same_matrix(A, B);
                assert_same_matrix(A, C);
                spry_matrix_destroy(A);
                spry_matrix_destroy(B);
                spry_matrix_destroy(C);
                assert_int_equal(0, context_bytes(context));
                spry_context_destroy(context);
            }
    free(packed);
    free(mtx);
    free(text);
}

static void test_fault_of_a_long_list(void **state)
{
    static const int lines[] = {2, 40000, 77777, LONG_LINES};
    for (size_t l = 0; l < sizeof lines / sizeof *lines; l++) {
        size_t bytes;
        char *text = long_list(0, lines[l], "12,one,1\n", &bytes);
        for (int threads = 1; threads <= 5; threads += 2) {
            spry_context *context = context_of(threads);
            spry_matrix *A = NULL;
            spry_error err = {0};
            assert_int_equal(SPRY_BAD_FILE, spry_matrix_read_memory(context, &A, text, bytes, "x.csv", NULL, &err));
            assert_int_equal(lines[l], err.line);
            assert_non_null(strstr(err.message, "found 'one'"));
            assert_int_equal(0, context_bytes(context));
            spry_context_destroy(context);
        }
        free(text);
    }
}

/* ---- memory ---------------------------------------------------------------------------------------- */

static spry_status read_edges(spry_context *context, const void *input, spry_error *err)
{
    static const char text[] = "0 1 5\n2 0 2\n0 1 1\n";
    const spry_read_options o = options_of((choice){.undirected = 1});
    spry_matrix *A = NULL;
    const spry_status status = spry_matrix_read_memory(context, &A, text, sizeof text - 1, "x.el", &o, err);
    spry_matrix_destroy(A);
    return status;
}

static void test_every_allocation(void **state)
{
    assert_true(fail_every_allocation(read_edges, NULL, 2) > 10);
}

static void test_memory_limit(void **state)
{
    size_t bytes;
    char *text = long_list(0, 0, "", &bytes);
    spry_read_options o = SPRY_INIT(spry_read_options);
    int64_t most = 0;
    for (int try = 0; try < 3; try++) { /* limit: none, the peak of the first try, half of the peak */
        spry_context *context = context_of(1);
        spry_matrix *A = NULL;
        spry_error err = {0};
        o.memory_limit_bytes = try == 0 ? 0 : try == 1 ? most : most / 2;
        const spry_status status = spry_matrix_read_memory(context, &A, text, bytes, "x.el", &o, &err);
        assert_int_equal(try < 2 ? SPRY_OK : SPRY_TOO_LARGE, status);
        if (try == 0) most = context_peak_bytes(context);
        spry_matrix_destroy(A);
        assert_true(context_peak_bytes(context) <= most);
        spry_context_destroy(context);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_lists),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_long_list),
        cmocka_unit_test(test_fault_of_a_long_list),
        cmocka_unit_test(test_every_allocation),
        cmocka_unit_test(test_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
