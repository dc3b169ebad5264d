/*
 * Tests of the base (0 or 1), from which nodes and rows are counted. The base is that of the file, or --base. Also
 * tests edge lists.
 */
#include "spawn.h"

#define EDGES "0,1\n1,2\n2,0\n0,2\n3,2\n"

static double number(const cJSON *o, const char *name)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(o, name));
}

static int make_graph(void **state)
{
    static const char *const copies[] = {"links.mtx", "links.spry", "sell.spry --format sell"};
    write_file("links.csv", EDGES);
    for (int c = 0; c < 3; c++) {
        outcome o = spry("convert $D/links.csv -o $D/%s", copies[c]);
        assert_int_equal(0, o.status);
        assert_int_equal(c == 0, strstr(o.err, "node k of the input is row k + 1") != NULL);
        release(&o);
    }
    write_file("one.txt", "1 2\n2 3\n3 1\n1 3\n4 3\n");
    expect("convert $D/one.txt --base 1 -o $D/one.spry", 0, "4 x 4", NULL);
    return make_matrices(state);
}

/* Asserts that node 2 of links.csv ranks first, in text and in JSON, from every file of the graph. */
static void ranks(void **state)
{
    static const struct {
        const char *file;
        int base;
    } cases[] = {{"links.csv", 0}, {"links.csv --base 0", 0}, {"links.spry", 0},      {"links.spry --base 1", 1},
                 {"links.mtx", 1}, {"links.mtx --base 0", 0}, {"sell.spry", 0},       {"sell.spry --base 1", 1},
                 {"one.spry", 1},  {"one.spry --base 0", 0},  {"one.txt --base 1", 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char command[128], said[80];
        snprintf(command, sizeof command, "pagerank $D/%s --top 1", cases[c].file);
        snprintf(said, sizeof said, "nodes count from %d\n                   %d  0.", cases[c].base, 2 + cases[c].base);
        expect(command, 0, said, NULL);
        outcome o = spry("%s --json", command);
        cJSON *line = json_line(o.out, 0);
        assert_int_equal(cases[c].base, number(line, "index_base"));
        assert_int_equal(2 + cases[c].base, number(cJSON_GetArrayItem(cJSON_GetObjectItem(line, "top"), 0), "node"));
        cJSON_Delete(line);
        release(&o);
    }
}

static void other_commands(void **state)
{
    expect("info $D/links.csv", 0, "max 2 (row 0, counted from 0)", NULL);
    expect("info $D/links.csv --base 1", 2, NULL, "if the first number is 0, read with --base 0");
    expect("info $D/links.spry --base 1 --json", 0, "\"index_base\":1,\"longest_row\":1,", NULL);
    expect("solve $D/links.csv >/dev/null", 1, NULL, "counted from 0, but nothing stored at ");
    expect("solve $D/links.mtx >/dev/null", 1, NULL, "counted from 1, but nothing stored at ");
    expect("solve $D/links.mtx --base 0 >/dev/null", 1, NULL, "counted from 0, but nothing stored at ");
    write_file("minus.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 -1\n");
    expect("pagerank $D/minus.mtx --base 0", 2, NULL, "entry (1, 0) (counted from 0) is -1");
    expect("spgemm $D/links.csv -o $D/c.mtx", 0, "C written to",
           "note: Matrix Market counts from 1: node k of the input is row k + 1 in ");
    expect("spgemm $D/links.csv -o $D/c.spry", 0, "C written to", NULL);
    expect("convert $D/c.spry --json -o $D/c2.spry", 0, "\"index_base\":0,", NULL);
    expect("convert $D/links.mtx --base 0 --json -o $D/c2.spry", 0, "\"index_base\":0,", NULL);
    expect("reorder $D/links.csv --perm $D/p.mtx -o $D/r.spry", 0, "is in", NULL);
    char *perm = read_file("p.mtx");
    assert_non_null(strstr(perm, "both counted from 1"));
    assert_null(strstr(perm, "\n0\n"));
    free(perm);
    expect("reorder $D/links.csv --perm $D/p.csv", 0, "is in", NULL);
    perm = read_file("p.csv");
    assert_non_null(strstr(perm, "row,before\n0,"));
    free(perm);
    expect("pagerank $D/links.spry -o $D/ranks.csv", 0, "converged", NULL);
    char *table = read_file("ranks.csv");
    assert_non_null(strstr(table, "node,rank\n0,"));
    free(table);
    expect("pagerank $D/links.spry --personalization 3 --base 1 --top 1", 0, "by node 3", NULL);
    expect("pagerank $D/links.spry --personalization 4", 2, NULL, "expected a node from 0 to 3 (counted from 0)");
}

static void edges_of_any_name(void **state)
{
    write_file("links", EDGES);
    expect("pagerank $D/links --input edges --top 1", 0, "nodes count from 0\n                   2", NULL);
    expect("info $D/links --input edges --undirected", 0, "4 x 4, 8 entries", NULL);
    expect("info $D/links --undirected", 2, NULL, "or --input edges");
    expect("info $D/links.mtx --input edges", 2, NULL, "input is 'edges', but this is a Matrix Market file");
    expect("info gen:grid5,x=3,y=3 --input edges", 0, "9 x 9", NULL);
    outcome o = spry_with_input(EDGES, "pagerank - --input edges --top 1");
    assert_int_equal(0, o.status);
    assert_non_null(strstr(o.out, "nodes count from 0\n                   2"));
    release(&o);
    static const char *const texts[] = {EDGES, "source,target\n0,1\n", "\"0\",\"1\"\n", "# links\n0\t1\t0.5\n"};
    for (int t = 0; t < 4; t++) {
        o = spry_with_input(texts[t], "pagerank -");
        assert_int_equal(2, o.status);
        assert_non_null(strstr(o.err, "edge list"));
        assert_non_null(strstr(o.err, "--input edges"));
        release(&o);
    }
    o = spry_with_input("1 2\n2 1\n", "pagerank - --input edges --base 1 --json");
    assert_int_equal(0, o.status);
    assert_non_null(strstr(o.out, "\"rows\":2,"));
    release(&o);
}

/* Asserts that a column that is not read is reported. */
static void columns(void **state)
{
    write_file("d3.csv", "source,target,value\n0,1,3\n1,0,4\n");
    expect("info $D/d3.csv", 0, "source, target of 3 columns (not read: value), pattern",
           "note: columns are not read: value; a column named weight would be read as weights");
    write_file("index.csv", ",source,target\n0,0,1\n1,1,0\n");
    outcome o = spry("info $D/index.csv");
    assert_int_equal(0, o.status);
    assert_string_equal("", o.err);
    assert_non_null(strstr(o.out, "2 x 2, 2 entries"));
    release(&o);
    write_file("nameless.csv", ",from,to\n0,0,1\n1,1,0\n");
    expect("info $D/nameless.csv", 2, NULL, "nameless.csv:1: the first column has no name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks), cmocka_unit_test(other_commands),
                                       cmocka_unit_test(edges_of_any_name), cmocka_unit_test(columns)};
    return cmocka_run_group_tests(tests, make_graph, remove_folder);
}
