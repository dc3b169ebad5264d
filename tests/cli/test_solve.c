/* Tests of spry solve and spry pagerank: output, files and refusals. */
#include "records.h"
#include "spawn.h"

static int make_files(void **state)
{
    make_matrices(state);
    write_file("cycle.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n2 1\n3 2\n1 3\n2 3\n");
    write_file("sink.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n2 1\n3 1\n3 2\n");
    write_file("minus.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 -1\n");
    write_file("indefinite.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 -3\n");
    write_file("hollow.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 1 -3\n");
    write_file("skewed.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1\n2 1 0.5\n");
    write_file("near.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n2 2 4\n"
                           "1 2 0.60000000000000009\n2 1 0.6\n");
    write_file("infinite.mtx",
               "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n2 2 4\n1 2 inf\n2 1 inf\n");
    write_file("b3.mtx", "%%MatrixMarket matrix array real general\n3 1\n3\n7\n12\n");
    write_file("b2.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n");
    write_file("b3small.mtx", "%%MatrixMarket matrix array real general\n3 1\n3e-162\n7e-162\n12e-162\n");
    write_file("b3large.mtx", "%%MatrixMarket matrix array real general\n3 1\n3e306\n7e306\n12e306\n");
    write_file("tiny.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1e-300\n2 2 2e-300\n");
    write_file("links.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 5\n1 2\n1 3\n2 3\n3 1\n3 4\n");
    write_file("badb.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\ntwo\n3\n");
    return 0;
}

/* Reads the elements of an n x 1 array file. */
static void read_array(const char *name, int n, double *x)
{
    char *text = read_file(name), *at = text ? strchr(text, '\n') : NULL;
    if (!at) fail();
    assert_memory_equal(text, "%%MatrixMarket matrix array real general\n", 41);
    assert_int_equal(strtol(at, &at, 10), n);
    assert_int_equal(strtol(at, &at, 10), 1);
    for (int i = 0; i < n; i++) x[i] = strtod(at, &at);
    assert_string_equal(at, "\n");
    free(text);
}

static const char *word(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(o, name);
    if (!cJSON_IsString(item)) fail_msg("%s is no text", name);
    return item->valuestring;
}

static void solve(void **state)
{
    static const char *const ways[] = {"", "--precond jacobi", "--type f32 --tol 1e-6", "--threads 1 --method cg"};
    for (int w = 0; w < 4; w++) {
        char command[128];
        double x[3];
        snprintf(command, sizeof command, "solve $D/sym.mtx -b $D/b3.mtx -o $D/x.mtx %s", ways[w]);
        expect(command, 0, "verdict         converged after ", NULL);
        read_array("x.mtx", 3, x);
        /* 4 x1 - x2 = 3, 4 x2 - x1 = 7, 4 x3 = 12 */
        assert_true(fabs(x[0] - 19.0 / 15) < 1e-5 && fabs(x[1] - 31.0 / 15) < 1e-5 && fabs(x[2] - 3) < 1e-5);
    }
    expect("solve gen:laplace5,x=20,y=20", 0, "convergence     ", NULL);
    expect("solve gen:laplace5,x=20,y=20 -b random", 0, "of ||b||, computed from x at the end", NULL);
    expect("solve $D/sym.mtx -o -", 0, "%%MatrixMarket matrix array real general\n3 1\n0.3333333", NULL);
    outcome o = spry("solve gen:laplace5,x=20,y=20 --json --tol 1e-9");
    assert_int_equal(o.status, 0);
    assert_int_equal(count_lines(o.out), 1);
    cJSON *line = json_line(o.out, 0);
    assert_string_equal(word(line, "command"), "solve");
    assert_string_equal(word(line, "verdict"), "converged");
    assert_true(number_of(line, "true_residual") <= 1e-9 && number_of(line, "iterations") > 5);
    assert_true(number_of(line, "rows") == 400 && number_of(line, "iteration_us") > number_of(line, "product_us"));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "reason")));
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(line, "convergence")) >= 5);
    cJSON_Delete(line);
    release(&o);
}

/* Converts a time such as "12.98 ms" to microseconds. */
static double microseconds(double time, const char *unit)
{
    const char *const units[] = {"us", "ms", "s"};
    for (int u = 0; u < 3; u++)
        if (strcmp(unit, units[u]) == 0) return time * pow(1000, u);
    fail_msg("%s is no unit of time", unit);
    return 0;
}

/* Asserts that the figures in the last line of a report with --time agree, within their rounding. */
static void check_floor(const char *command, int rows, int wanted, int bytes)
{
    double iteration, ratio, floor_us, product, gbps;
    char units[3][8], after = 0;
    int numbers = 0;
    outcome o = spry("%s --time", command);
    assert_int_equal(o.status, 0);
    const char *line = strstr(o.out, "\n  iteration ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, " iteration %lf %7s", &iteration, units[0]), 2);
    units[0][strcspn(units[0], ",")] = 0;
    assert_non_null(strstr(line, ", "));
    assert_int_equal(sscanf(strstr(line, ", "),
                            ", %lf of its floor of %lf %7s (product %lf %7[a-z], %d numbers a row at "
                            "%lf GB/s)%c",
                            &ratio, &floor_us, units[1], &product, units[2], &numbers, &gbps, &after),
                     8);
    assert_int_equal(after, '\n');
    assert_string_equal(strchr(line + 1, '\n'), "\n"); /* last line of the report */
    assert_int_equal(numbers, wanted);
    iteration = microseconds(iteration, units[0]);
    floor_us = microseconds(floor_us, units[1]);
    product = microseconds(product, units[2]);
    assert_true(fabs(ratio - iteration / floor_us) < 0.02 * ratio + 0.01);
    assert_true(fabs(floor_us - product - wanted * bytes * rows / gbps * 1e-3) < (0.03 + 0.06 / gbps) * floor_us);
    release(&o);
}

static void iterations_against_their_floor(void **state)
{
    static const char *const commands[] = {"solve gen:laplace5,x=9,y=9", "pagerank $D/cycle.mtx"};
    check_floor("solve gen:laplace5,x=200,y=200 --tol 0.1", 40000, 9, 8);
    check_floor("solve gen:laplace5,x=200,y=200 --tol 0.1 --type f32", 40000, 9, 4);
    check_floor("solve gen:laplace5,x=200,y=200 --tol 0.1 --precond jacobi", 40000, 11, 8);
    check_floor("pagerank gen:road,side=200", 40000, 4, 8);
    check_floor("pagerank gen:road,side=200 --type pattern --top 0", 40000, 4, 8);
    check_floor("pagerank gen:diagonal,rows=40000 --type pattern", 40000, 3, 8); /* all columns sum to 1 */
    for (int c = 0; c < 2; c++)
        for (int time = 0; time < 2; time++) {
            outcome o = spry("%s --json%s", commands[c], time ? " --time" : "");
            assert_int_equal(o.status, 0);
            cJSON *line = json_line(o.out, 0);
            if (time)
                assert_true(number_of(line, "floor_us") > number_of(line, "product_us"));
            else
                assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "floor_us")));
            cJSON_Delete(line);
            release(&o);
        }
    outcome o = spry("solve gen:laplace5,x=9,y=9");
    assert_null(strstr(o.out, "floor"));
    release(&o);
    /* The report compares no times if no iteration was needed or started. */
    write_file("zeros.mtx", "%%MatrixMarket matrix array real general\n3 1\n0\n0\n0\n");
    o = spry("solve $D/sym.mtx -b $D/zeros.mtx --time");
    assert_int_equal(o.status, 0);
    assert_null(strstr(o.out, "floor"));
    release(&o);
    o = spry("pagerank $D/sink.mtx --dangling refuse --json --time");
    assert_int_equal(o.status, 1);
    cJSON *line = json_line(o.out, 0);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "floor_us")));
    cJSON_Delete(line);
    release(&o);
    expect("solve --help", 0, "compare the time of an iteration", NULL);
}

/* Tests elements whose squares f64 cannot hold, and the default tolerance of each type. */
static void solve_extremes(void **state)
{
    static const struct {
        const char *b;
        double size;
    } cases[] = {{"b3small.mtx", 1e-162}, {"b3large.mtx", 1e306}};
    for (int c = 0; c < 2; c++)
        for (int jacobi = 0; jacobi < 2; jacobi++) {
            char command[160];
            double x[3];
            snprintf(command, sizeof command, "solve $D/sym.mtx -b $D/%s -o $D/x.mtx --tol 1e-14%s", cases[c].b,
                     jacobi ? " --precond jacobi" : "");
            expect(command, 0, "verdict         converged after ", NULL);
            read_array("x.mtx", 3, x);
            for (int i = 0; i < 3; i++) x[i] /= cases[c].size;
            assert_true(fabs(x[0] - 19.0 / 15) < 1e-12 && fabs(x[1] - 31.0 / 15) < 1e-12 && fabs(x[2] - 3) < 1e-12);
        }
    double x[2];
    expect("solve $D/tiny.mtx -o $D/x.mtx", 0, "verdict         converged after ", NULL);
    read_array("x.mtx", 2, x);
    assert_true(fabs(x[0] / 1e300 - 1) < 1e-8 && fabs(x[1] / 1e300 - 0.5) < 1e-8);
    write_file("b2huge.mtx", "%%MatrixMarket matrix array real general\n2 1\n1e20\n1e20\n");
    expect("solve $D/tiny.mtx -b $D/b2huge.mtx >/dev/null", 1, NULL,
           "out of range: the largest element of x is about 9.9e+319, which f64 does not hold");
    static const char *const types[] = {"f32", "f64"};
    for (int t = 0; t < 2; t++) {
        outcome o = spry("solve gen:laplace5,x=60,y=60 --type %s --json", types[t]);
        assert_int_equal(o.status, 0);
        cJSON *line = json_line(o.out, 0);
        assert_true(number_of(line, "tol") == (t == 0 ? 1e-3 : 1e-8));
        assert_true(number_of(line, "true_residual") <= number_of(line, "tol"));
        cJSON_Delete(line);
        release(&o);
    }
}

static void solve_verdicts(void **state)
{
    static const struct {
        const char *command, *verdict;
    } cases[] = {{"$D/skewed.mtx", "not symmetric"},
                 {"--symmetry-tol 0 $D/near.mtx", "not symmetric"},
                 {"$D/infinite.mtx", "not finite: the entry of A at (1, 2), counted from 1, is inf"},
                 {"$D/indefinite.mtx", "negative curvature"},
                 {"--precond jacobi $D/hollow.mtx", "bad diagonal: entry (2, 2), counted from 1"},
                 {"--max-iterations 3 gen:laplace5,x=20,y=20", "iteration limit after 3 iterations"},
                 {"--type f32 --tol 1e-12 gen:laplace5,x=20,y=20", "stagnation after "}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char command[160];
        snprintf(command, sizeof command, "solve %s >/dev/null", cases[c].command);
        expect(command, 1, NULL, cases[c].verdict);
        snprintf(command, sizeof command, "solve --json %s", cases[c].command);
        outcome o = spry("%s", command);
        assert_int_equal(o.status, 1);
        cJSON *line = json_line(o.out, 0);
        assert_non_null(strstr(word(line, "reason"), cases[c].verdict));
        assert_string_not_equal(word(line, "verdict"), "converged");
        cJSON_Delete(line);
        release(&o);
    }
}

/* Asserts that a refusal prints only the message: no kernel, no residual, no x. */
static void solve_refusals(void **state)
{
    static const char *const commands[][2] =
        {{"$D/skewed.mtx", "not symmetric"},
         {"$D/infinite.mtx", "the entry of A at (1, 2), counted from 1, is inf"},
         {"$D/infinite.mtx --symmetric", "the entry of A at (1, 2), counted from 1, is inf"},
         {"$D/nan.mtx", "the entry of A at (1, 2), counted from 1, is nan"},
         {"$D/nan.mtx --precond jacobi --type f32", "the entry of A at (1, 2), counted from 1, is nan"},
         {"$D/nan.mtx --precision f32 --time", "the entry of A at (1, 2), counted from 1, is nan"},
         {"$D/block.mtx --precond block-jacobi", "bad block"},
         {"$D/hollow.mtx --precond chebyshev", "bad diagonal"},
         {"$D/near.mtx -b $D/bnan.mtx", "element 2 of b, counted from 1, is nan"}};
    write_file("nan.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 nan\n2 2 4\n");
    write_file("block.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 1\n");
    write_file("bnan.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\nnan\n");
    const int files = count_files();
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        outcome o = spry("solve %s -o $D/never.mtx", commands[c][0]);
        assert_int_equal(o.status, 1);
        assert_string_equal(o.out, "");
        if (!strstr(o.err, commands[c][1])) fail_msg("%s: %s", commands[c][0], o.err);
        assert_int_equal(count_lines(o.err), 1);
        release(&o);
        assert_int_equal(count_files(), files);
    }
}

/*
 * Tests a matrix that is symmetric except for rounding. Also tests the options that allow or skip larger differences.
 */
static void solve_near_symmetric(void **state)
{
    expect("solve $D/near.mtx", 0, "converged", NULL);
    expect("solve $D/skewed.mtx >/dev/null", 1, NULL,
           "up to 1000 eps: --symmetry-tol allows larger differences, --symmetric skips the check");
    expect("solve $D/skewed.mtx --symmetry-tol 1e16 --max-iterations 1 >/dev/null", 1, NULL, "iteration limit");
    expect("solve $D/skewed.mtx --symmetric --max-iterations 1 >/dev/null", 1, NULL, "iteration limit");
}

static void solve_mistakes(void **state)
{
    expect("solve $D/sym.mtx --symmetry-tol -1", 2, NULL, "--symmetry-tol is -1, expected 0 or more");
    expect("solve $D/small.mtx", 2, NULL, "small.mtx: the matrix is 4 x 5, expected a square matrix");
    expect("solve $D/bad.mtx", 2, NULL, "bad.mtx:4");
    expect("solve $D/none.mtx", 2, NULL, "none.mtx");
    expect("solve $D/sym.mtx -b $D/b2.mtx", 2, NULL, "b2.mtx: the vector has 2 elements, expected 3");
    expect("solve $D/sym.mtx -b $D/badb.mtx", 2, NULL, "badb.mtx:4");
    expect("solve $D/sym.mtx -b $D/none.mtx", 2, NULL, "none.mtx");
    expect("solve $D/sym.mtx -b $D/sym.mtx", 2, NULL, "the matrix is 3 x 3 and symmetric, expected a vector");
    expect("solve $D/sym.mtx -b $D/small.mtx", 2, NULL, "small.mtx: the vector has 4 elements, expected 3");
    expect("solve $D/sym.mtx --tol 0", 2, NULL, "--tol is 0, expected a number above 0");
    expect("solve $D/sym.mtx --max-iterations 0", 2, NULL, "--max-iterations is 0, expected 1 to");
    expect("solve $D/sym.mtx --method gmres", 2, NULL, "--method is 'gmres', expected one of: cg");
    expect("solve $D/sym.mtx --precond ilu", 2, NULL, "--precond is 'ilu', expected one of: none, jacobi");
    expect("solve $D/sym.mtx --type pattern", 2, NULL, "expected one of: f32, f64");
    expect("solve $D/sym.mtx -o x.mtx.gz", 2, NULL, "expected a name that ends in .mtx or .csv");
    expect("solve $D/sym.mtx -o - --json", 2, NULL, "both write to standard output");
    expect("solve $D/sym.mtx -o $D/none/x.mtx", 2, NULL, "none/x.mtx");
    expect("solve $D/sym.mtx -b $D/b3.mtx -o $D/b3.mtx", 2, NULL, "b3.mtx");
    expect("solve $D/sym.mtx -o $D/sym.mtx", 2, NULL, "sym.mtx");
    int files = count_files();
    expect("solve $D/skewed.mtx -o $D/never.mtx >/dev/null", 1, NULL, "not symmetric");
    assert_int_equal(count_files(), files);
}

/* Ranks a graph file: 1 -> {2, 3}, 2 -> 3, 3 -> {1, 4}, and 4, which has no links. */
static void pagerank_of_a_file(void **state)
{
    double x[4], explicit[4];
    expect("pagerank $D/links.mtx --tol 1e-14 -o $D/x.mtx", 0,
           "row-to-column (assumed): entry (i, j) is a link from i to j", NULL);
    read_array("x.mtx", 4, x);
    double rest = 0.15 / 4 + 0.85 * x[3] / 4;
    assert_true(fabs(x[0] + x[1] + x[2] + x[3] - 1) < 1e-13);
    assert_true(fabs(x[0] - rest - 0.425 * x[2]) < 1e-13);
    assert_true(fabs(x[1] - rest - 0.425 * x[0]) < 1e-13);
    assert_true(fabs(x[2] - rest - 0.85 * (x[0] / 2 + x[1])) < 1e-13);
    assert_true(fabs(x[3] - rest - 0.425 * x[2]) < 1e-13);
    expect("pagerank $D/links.mtx", 0, "1 without links out, teleport (assumed): count as linking everywhere", NULL);
    expect("pagerank $D/links.mtx --tol 1e-14 --edges row-to-column --dangling teleport -o $D/x.mtx", 0,
           "edges           row-to-column: entry (i, j)", NULL);
    read_array("x.mtx", 4, explicit);
    assert_memory_equal(x, explicit, sizeof x);
    /* if standard output holds only ranks, the assumptions go to standard error */
    expect("pagerank $D/links.mtx -o -", 0, "%%MatrixMarket matrix array real general\n4 1\n",
           "row-to-column (assumed): entry (i, j) is a link from i to j; nodes without links out: teleport (assumed)");
    outcome o = spry("pagerank $D/links.mtx -o - --edges row-to-column --dangling drop");
    assert_int_equal(o.status, 0);
    assert_string_equal(o.err, "");
    release(&o);
    o = spry("pagerank $D/links.mtx --json");
    cJSON *line = json_line(o.out, 0);
    assert_string_equal(word(line, "edges"), "row-to-column");
    assert_string_equal(word(line, "dangling"), "teleport");
    assert_int_equal(number_of(line, "dangling_nodes"), 1);
    cJSON_Delete(line);
    release(&o);
    expect("pagerank --help", 0, "is a link from i to j, or from j to i (default: row-to-column)", NULL);
    expect("pagerank --help", 0, "(default: teleport)", NULL);
}

/* Ranks the same graph with a personalization: jumps go to node 2 (1/4) and node 4 (3/4). */
static void pagerank_personalization(void **state)
{
    double x[4], again[4];
    write_file("mine.mtx", "%%MatrixMarket matrix array real general\n4 1\n0\n1\n0\n3\n");
    write_file("none.mtx", "%%MatrixMarket matrix coordinate real general\n4 1 0\n");
    write_file("below.mtx", "%%MatrixMarket matrix coordinate real general\n4 1 1\n3 1 -2\n");
    expect("pagerank $D/links.mtx --tol 1e-14 --personalization $D/mine.mtx -o $D/x.mtx", 0, "  personalization by ",
           NULL);
    read_array("x.mtx", 4, x);
    const double rest = 0.15 + 0.85 * x[3];
    assert_true(fabs(x[0] + x[1] + x[2] + x[3] - 1) < 1e-13);
    assert_true(fabs(x[0] - 0.425 * x[2]) < 1e-13);
    assert_true(fabs(x[1] - rest / 4 - 0.425 * x[0]) < 1e-13);
    assert_true(fabs(x[2] - 0.85 * (x[0] / 2 + x[1])) < 1e-13);
    assert_true(fabs(x[3] - 3 * rest / 4 - 0.425 * x[2]) < 1e-13);
    expect("pagerank $D/links.mtx --tol 1e-12 --personalization $D/mine.mtx --start $D/x.mtx -o $D/y.mtx", 0,
           "converged after 1 iterations", NULL);
    read_array("y.mtx", 4, again);
    for (int i = 0; i < 4; i++) assert_true(fabs(x[i] - again[i]) < 1e-13);
    outcome o = spry("pagerank $D/links.mtx --json --start $D/x.mtx");
    cJSON *line = json_line(o.out, 0);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "personalization")));
    assert_non_null(strstr(word(line, "start"), "x.mtx"));
    assert_true(cJSON_IsNumber(cJSON_GetObjectItem(line, "upload_us")));
    cJSON_Delete(line);
    release(&o);
    expect("pagerank $D/links.mtx --personalization $D/b3.mtx", 2, NULL,
           "b3.mtx: the array is 3 x 1, expected 4 x 1, an element for each node");
    expect("pagerank $D/links.mtx --personalization $D/none.mtx", 2, NULL,
           "pagerank: the elements of personalization sum to 0, expected a finite sum above 0");
    expect("pagerank $D/links.mtx --start $D/below.mtx", 2, NULL,
           "pagerank: element 3 of x (counted from 1) is -2, expected finite numbers >= 0");
    expect("pagerank $D/links.mtx --start $D/nowhere.mtx", 2, NULL, "nowhere.mtx");
    expect("pagerank $D/links.mtx --start $D/x.mtx -o $D/x.mtx", 2, NULL, "x.mtx");
    expect("pagerank $D/links.mtx --personalization $D/mine.mtx -o $D/mine.mtx", 2, NULL, "mine.mtx");
}

/* Asserts the lines of a file of the folder: `head`, then one line for each row, numbered from `base`. */
static void expect_table(const char *name, const char *head, int base, int rows)
{
    char *text = read_file(name), *at = text;
    if (!text) fail();
    assert_int_equal(strncmp(at, head, strlen(head)), 0);
    at += strlen(head);
    for (int row = 0; row < rows; row++) {
        double value;
        int number, length;
        assert_int_equal(sscanf(at, "%d,%lf\n%n", &number, &value, &length), 2);
        assert_int_equal(number, row + base);
        at += length;
    }
    assert_int_equal(*at, '\0');
    free(text);
}

/*
 * Asserts that the format of a vector follows its file ending. Unknown endings are refused before the matrix is read.
 */
static void tables(void **state)
{
    static const char *const commands[] = {"pagerank", "solve", "spmv"};
    char command[120];
    expect("pagerank $D/links.mtx -o $D/ranks.csv", 0, "ranks.csv", NULL);
    expect_table("ranks.csv", "node,rank\n", 1, 4);
    expect("solve $D/sym.mtx -o $D/x.csv", 0, "x.csv", NULL);
    expect_table("x.csv", "row,value\n", 1, 3);
    expect("spmv $D/sym.mtx -o $D/y.csv", 0, "sym", NULL);
    expect_table("y.csv", "row,value\n", 1, 3);
    for (int c = 0; c < 3; c++) {
        snprintf(command, sizeof command, "%s $D/missing.mtx -o $D/x.txt", commands[c]);
        expect(command, 2, NULL,
               "x.txt': a vector is written as plain text, expected a name that ends in .mtx or .csv");
    }
    write_file("pairs.csv", "0,1\n1,2\n2,0\n");
    expect("pagerank $D/pairs.csv -o $D/ranks.csv", 0, "ranks.csv", NULL);
    expect_table("ranks.csv", "node,rank\n", 0, 3);
}

/* Selects a node by its number, in the base of the file. */
static void pagerank_of_node(void **state)
{
    double x[4], y[4];
    write_file("third.mtx", "%%MatrixMarket matrix coordinate real general\n4 1 1\n3 1 1\n");
    write_file("from0.csv", "0,1\n1,2\n");
    expect("pagerank $D/links.mtx --personalization 3 -o $D/x.mtx", 0, "  personalization by node 3\n", NULL);
    expect("pagerank $D/links.mtx --personalization $D/third.mtx -o $D/y.mtx", 0, "third.mtx", NULL);
    read_array("x.mtx", 4, x);
    read_array("y.mtx", 4, y);
    for (int i = 0; i < 4; i++) assert_true(x[i] == y[i]);
    expect("pagerank $D/links.mtx --personalization 0", 2, NULL,
           "--personalization is 0, expected a node from 1 to 4 (counted from 1) or a file");
    expect("pagerank $D/links.mtx --personalization 5", 2, NULL, "expected a node from 1 to 4");
    expect("pagerank $D/from0.csv --personalization 0", 0, "by node 0\n", NULL);
    expect("pagerank $D/from0.csv --personalization 3", 2, NULL,
           "expected a node from 0 to 2 (counted from 0) or a file");
}

/* Runs the example of the tutorial. With --edges column-to-row, the file contains B. */
static void pagerank(void **state)
{
    double x[3], y[3];
    expect("pagerank $D/cycle.mtx --edges column-to-row --dangling refuse -o $D/x.mtx", 0,
           "verdict         converged after ", NULL);
    read_array("x.mtx", 3, x);
    /* 1 -> 2 -> 3 -> {1, 2}: x1 = .05 + .85 x3/2, x2 = .05 + .85 (x1 + x3/2), x3 = .05 + .85 x2 */
    assert_true(fabs(x[0] + x[1] + x[2] - 1) < 1e-12);
    assert_true(fabs(x[0] - 0.05 - 0.425 * x[2]) < 1e-8);
    assert_true(fabs(x[1] - 0.05 - 0.85 * (x[0] + x[2] / 2)) < 1e-8);
    assert_true(fabs(x[2] - 0.05 - 0.85 * x[1]) < 1e-8);
    expect("pagerank $D/cycle.mtx --edges column-to-row", 0, "column-to-row: entry (i, j) is a link from j to i", NULL);
    expect("pagerank $D/cycle.mtx --norm inf -o $D/y.mtx", 0, "a link from i to j", NULL);
    read_array("y.mtx", 3, y);
    /* reversed: 2 -> 1, 3 -> 2, 1 -> 3, 2 -> 3 */
    assert_true(fabs(y[0] - 0.05 - 0.425 * y[1]) < 1e-7);
    assert_true(fabs(y[1] - 0.05 - 0.85 * y[2]) < 1e-7);
    expect("pagerank $D/cycle.mtx --alpha 0.5 --top 1 --type f32 --tol 1e-6 --norm 2", 0,
           "||x_k - x_(k-1)||_2 = ", NULL);
    expect("pagerank $D/sink.mtx --edges column-to-row --dangling refuse >/dev/null", 1, NULL,
           "nodes without outgoing links: 1, the first is 3");
    expect("pagerank $D/sink.mtx --dangling refuse >/dev/null", 1, NULL,
           "nodes without outgoing links: 1, the first is 1");
    expect("pagerank $D/sink.mtx --dangling teleport", 0, "1 without links out, teleport", NULL);
    expect("pagerank $D/sink.mtx --dangling drop", 0, " was lost; ", NULL);
    expect("pagerank $D/cycle.mtx --max-iterations 2 >/dev/null", 1, NULL, "not converged (iteration limit) after 2");
}

static void pagerank_records(void **state)
{
    outcome o = spry("pagerank $D/sink.mtx --edges column-to-row --dangling drop --json --top 2");
    assert_int_equal(o.status, 0);
    cJSON *line = json_line(o.out, 0), *top = cJSON_GetObjectItem(line, "top");
    assert_int_equal(count_lines(o.out), 1);
    assert_string_equal(word(line, "dangling"), "drop");
    assert_string_equal(word(line, "edges"), "column-to-row");
    assert_int_equal(number_of(line, "dangling_nodes"), 1);
    /* x1 = .05, x2 = .05 + .425 x1, x3 = x2 + .85 x2 */
    double x3 = 0.07125 * 1.85, mass = 0.05 + 0.07125 + x3;
    assert_true(fabs(number_of(line, "mass") - mass) < 1e-12 &&
                fabs(number_of(line, "lost_mass") - (1 - mass)) < 1e-12);
    assert_true(fabs(number_of(line, "dangling_mass") - x3) < 1e-12);
    assert_int_equal(cJSON_GetArraySize(top), 2);
    assert_int_equal(number_of(cJSON_GetArrayItem(top, 0), "node"), 3);
    assert_int_equal(number_of(cJSON_GetArrayItem(top, 1), "node"), 2);
    assert_true(fabs(number_of(cJSON_GetArrayItem(top, 0), "rank") - x3) < 1e-12);
    cJSON_Delete(line);
    release(&o);
    o = spry("pagerank $D/sink.mtx --dangling refuse --json");
    assert_int_equal(o.status, 1);
    line = json_line(o.out, 0);
    assert_string_equal(word(line, "verdict"), "dangling node");
    assert_non_null(strstr(word(line, "reason"), "'teleport'"));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "mass")));
    cJSON_Delete(line);
    release(&o);
    o = spry("pagerank gen:laplace5,x=9,y=9 --json");
    assert_int_equal(o.status, 2); /* the matrix has negative entries */
    assert_non_null(strstr(o.err, "expected finite numbers >= 0"));
    assert_non_null(strstr(o.err, "with --type pattern the value of every entry is 1"));
    release(&o);
    expect("pagerank $D/minus.mtx --type pattern", 0, "verdict         converged after ", NULL);
}

/* Ranks generated graphs with their weights and as patterns. The highest ranks differ, since not all weights are 1. */
static void pagerank_of_generated_graphs(void **state)
{
    static const char *const graphs[] = {"rmat,scale=8", "rmat:d,scale=8", "uni18,rows=2000",  "road,side=30",
                                         "rgg,scale=9",  "rgg21p,scale=9", "debruijn,length=9"};
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
        double highest[2];
        for (int pattern = 0; pattern < 2; pattern++) {
            outcome o = spry("pagerank gen:%s --json --top 1%s", graphs[g], pattern ? " --type pattern" : "");
            assert_int_equal(o.status, 0);
            cJSON *line = json_line(o.out, 0);
            assert_string_equal(word(line, "type"), pattern ? "pattern" : "f64");
            assert_true(fabs(number_of(line, "mass") - 1) < 1e-12);
            highest[pattern] = number_of(cJSON_GetArrayItem(cJSON_GetObjectItem(line, "top"), 0), "rank");
            cJSON_Delete(line);
            release(&o);
        }
        assert_true(highest[0] != highest[1]);
    }
}

/* Compares --top N with a sort of all ranks. */
static void highest_ranks(void **state)
{
    enum { N = 40, TOP = 7 };
    char text[8192] = "";
    size_t used = (size_t)snprintf(text, sizeof text, "%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n",
                                   N, N, 3 * N);
    for (int j = 1; j <= N; j++)
        for (int e = 0; e < 3; e++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%d %d\n", 1 + (j * j * (e + 2) + 5 * e) % N, j);
    write_file("graph.mtx", text);
    double x[N];
    outcome o = spry("pagerank $D/graph.mtx --top %d --json -o $D/x.mtx", TOP);
    assert_int_equal(o.status, 0);
    read_array("x.mtx", N, x);
    cJSON *line = json_line(o.out, 0), *item;
    int t = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(line, "top"))
    {
        int node = (int)number_of(item, "node") - 1, better = 0;
        for (int i = 0; i < N; i++) better += x[i] > x[node] || (x[i] == x[node] && i < node);
        assert_int_equal(better, t++);
        assert_true(number_of(item, "rank") == x[node]);
    }
    assert_int_equal(t, TOP);
    cJSON_Delete(line);
    release(&o);
}

static void pagerank_mistakes(void **state)
{
    static const char *const alphas[] = {"0", "1", "-0.5", "1.5"};
    for (int a = 0; a < 4; a++) {
        char command[64], message[96];
        snprintf(command, sizeof command, "pagerank $D/cycle.mtx --alpha=%s", alphas[a]);
        snprintf(message, sizeof message, "--alpha is %s, expected a number between 0 and 1, neither included",
                 alphas[a]);
        expect(command, 2, NULL, message);
    }
    expect("pagerank $D/cycle.mtx --alpha nan", 2, NULL, "--alpha is 'nan', expected a finite number");
    expect("pagerank $D/cycle.mtx --norm 3", 2, NULL, "--norm is '3', expected one of: 1, 2, inf");
    expect("pagerank $D/cycle.mtx --edges both", 2, NULL, "expected one of: row-to-column, column-to-row");
    expect("pagerank $D/cycle.mtx --personalised 1", 2, NULL,
           "unknown option --personalised; did you mean --personalization?");
    expect("solve $D/spd.mtx --inside f32", 2, NULL, "unknown option --inside; did you mean --precision?");
    expect("pagerank $D/spd.mtx --damping 0.9", 2, NULL, "unknown option --damping; did you mean --alpha?");
    expect("solve $D/spd.mtx --tolerance 1e-3", 2, NULL, "unknown option --tolerance; did you mean --tol?");
    expect("solve $D/spd.mtx --maxiter 9", 2, NULL, "unknown option --maxiter; did you mean --max-iterations?");
    expect("pagerank $D/cycle.mtx --dangling keep", 2, NULL, "expected one of: teleport, refuse, drop");
    expect("pagerank $D/cycle.mtx --tol -1", 2, NULL, "--tol is -1, expected a number above 0");
    expect("pagerank $D/small.mtx", 2, NULL, "the matrix is 4 x 5, expected a square one");
    expect("pagerank $D/minus.mtx", 2, NULL, "entry (2, 1) (counted from 1) is -1, expected finite numbers >= 0");
    expect("pagerank $D/bad.mtx", 2, NULL, "bad.mtx:4");
    expect("pagerank $D/cycle.mtx -o $D", 2, NULL, "irectory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solve),
        cmocka_unit_test(iterations_against_their_floor),
        cmocka_unit_test(solve_extremes),
        cmocka_unit_test(solve_verdicts),
        cmocka_unit_test(solve_refusals),
        cmocka_unit_test(solve_near_symmetric),
        cmocka_unit_test(solve_mistakes),
        cmocka_unit_test(pagerank_of_a_file),
        cmocka_unit_test(pagerank_personalization),
        cmocka_unit_test(tables),
        cmocka_unit_test(pagerank_of_node),
        cmocka_unit_test(pagerank),
        cmocka_unit_test(pagerank_records),
        cmocka_unit_test(pagerank_of_generated_graphs),
        cmocka_unit_test(highest_ranks),
        cmocka_unit_test(pagerank_mistakes),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
