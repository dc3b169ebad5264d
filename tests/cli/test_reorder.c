/* Tests of spry reorder on the command line. */
#include "records.h"
#include "spawn.h"

/*
 * A path 1-4-2-5-3 in a scattered order. Reordered, its bandwidth is 1. The file is a symmetric pattern with its
 * diagonal.
 */
static const char path[] = "%%MatrixMarket matrix coordinate pattern symmetric\n"
                           "5 5 9\n1 1\n2 2\n3 3\n4 4\n5 5\n4 1\n4 2\n5 2\n5 3\n";

static void says_what_it_did(void **state)
{
    write_file("path.mtx", path);
    expect("reorder $D/path.mtx --method rcm", 0, "path: 5 x 5, 13 entries, reordered by rcm", NULL);
    expect("reorder $D/path.mtx --method rcm", 0, "bandwidth                         3                    1", NULL);
    expect("reorder $D/path.mtx --method rcm", 0, "profile                           6                    4", NULL);
    expect("reorder $D/path.mtx", 0, "reordered by rcm", NULL);
    expect("reorder $D/path.mtx --method degree", 0, "reordered by degree", NULL);
    expect("reorder $D/path.mtx --method bfs", 0, "reordered by bfs", NULL);
    expect("reorder $D/path.mtx --method bandk --srs 2 --ssrs 2", 0, "super-rows: 3 of about 2 rows", NULL);
    expect("reorder $D/path.mtx --method bandk --k 2 --srs 2 --threads 2", 0, "super-rows: 3 of about 2 rows", NULL);
    expect("reorder $D/path.mtx --method bandk --k 4 --srs 2 --ssrs 1 --sssrs 3", 0,
           "groups of super-super-rows: 1 of about 3", NULL);
    expect("reorder $D/small.mtx", 0, "not square: only rows were reordered", NULL);
    expect("reorder gen:empty,rows=0,cols=0", 0, "0 x 0, 0 entries", NULL);
}

static void writes_what_it_read(void **state)
{
    write_file("path.mtx", path);
    expect("reorder $D/path.mtx -o $D/out.mtx --perm $D/perm.mtx", 0, "reordered", NULL);
    char *out = read_file("out.mtx"), *perm = read_file("perm.mtx");
    assert_non_null(out);
    assert_non_null(perm);
    /* Field and symmetry do not change. The new order follows the path from one of its two ends. */
    assert_non_null(strstr(out, "%%MatrixMarket matrix coordinate pattern symmetric\n"));
    assert_non_null(strstr(out, "\n5 5 9\n1 1\n2 1\n2 2\n3 2\n3 3\n4 3\n4 4\n5 4\n5 5\n"));
    const char *numbers = strstr(perm, "\n5 1\n");
    assert_non_null(numbers);
    if (strcmp(numbers, "\n5 1\n1\n4\n2\n5\n3\n") != 0) assert_string_equal(numbers, "\n5 1\n3\n5\n2\n4\n1\n");
    assert_int_equal(strncmp(perm, "%%MatrixMarket matrix array integer general\n", 44), 0);
    free(out);
    free(perm);
    expect("reorder $D/path.mtx --method bandk --k 4 --srs 2 --ssrs 1 --sssrs 3 --groups $D/groups", 0, "super-rows",
           NULL);
    char *groups = read_file("groups");
    assert_non_null(groups);
    assert_int_equal(strncmp(groups, "sr_ptr 0 ", 9), 0);
    assert_non_null(strstr(groups, " 5\nssr_ptr 0 1 2 3\nsssr_ptr 0 3\n"));
    free(groups);
    expect("reorder $D/path.mtx -o - 2>/dev/null", 0, "pattern symmetric\n", NULL);
    expect("reorder $D/sym.mtx -o - 2>/dev/null", 0, "symmetric\n3 3 ", NULL);
    expect("reorder $D/small.mtx -o $D/rows.spry", 0, "reordered", NULL);
    expect("info $D/rows.spry", 0, "4 x 5, 6 entries", NULL);
}

static void json(void **state)
{
    outcome o = spry("reorder gen:grid5,x=60,y=50,shuffle=2 --method bandk --srs 20 --ssrs 4 --threads 2 --json");
    assert_int_equal(o.status, 0);
    assert_int_equal(count_lines(o.out), 1);
    cJSON *line = json_line(o.out, 0);
    assert_string_equal(cJSON_GetObjectItem(line, "method")->valuestring, "bandk");
    assert_int_equal(number_of(line, "rows"), 3000);
    assert_int_equal(number_of(line, "threads"), 2);
    assert_int_equal(number_of(line, "components"), 1);
    assert_int_equal(number_of(line, "srs"), 20);
    assert_int_equal(number_of(line, "ssrs"), 4);
    assert_true(number_of(line, "bandwidth_before") > 2500);
    assert_true(number_of(line, "bandwidth_after") < 300);
    assert_true(number_of(line, "profile_after") < number_of(line, "profile_before"));
    assert_true(number_of(line, "sectors_after") < number_of(line, "sectors_before"));
    assert_in_range(number_of(line, "super_rows"), 75, 300);
    assert_in_range(number_of(line, "super_super_rows"), 12, 150);
    assert_true(number_of(line, "reorder_us") > 0 && number_of(line, "product_before_us") > 0);
    assert_true(number_of(line, "product_after_us") > 0 && number_of(line, "permute_us") > 0);
    cJSON_Delete(line);
    release(&o);
    expect("reorder gen:grid5,x=6,y=5 --json=$D/r.jsonl", 0, "reordered", NULL);
    char *text = read_file("r.jsonl");
    assert_non_null(text);
    assert_non_null(strstr(text, "\"super_rows\":null"));
    free(text);
}

/* Asserts that the picture is a PNG of the documented size, or that a message names the package to install. */
static void picture(void **state)
{
    outcome o = spry("reorder gen:grid5,x=30,y=30,shuffle=2 --spy $D/spy.png");
    if (o.status == 1) {
        assert_non_null(strstr(o.err, "install libpng-dev"));
        assert_null(read_file("spy.png"));
        release(&o);
        return;
    }
    assert_int_equal(o.status, 0);
    release(&o);
    char name[4200];
    unsigned char head[24] = {0};
    snprintf(name, sizeof name, "%s/spy.png", folder());
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
    assert_memory_equal(head + 16, "\0\0\x04\0\0\0", 6); /* width 1024 */
    expect("reorder $D/small.mtx --spy $D/small.png", 0, "reordered", NULL);
    expect("reorder gen:empty,rows=0,cols=3 --spy $D/empty.png", 0, "reordered", NULL);
    expect("reorder gen:dense,rows=1,cols=900 --spy $D/flat.png", 0, "reordered", NULL);
}

static void mistakes(void **state)
{
    write_file("path.mtx", path);
    expect("reorder $D/path.mtx --method rmc", 2, NULL, "--method is 'rmc'");
    expect("reorder $D/none.mtx --method rcm", 2, NULL, "none.mtx");
    expect("reorder --method rcm", 2, NULL, "a matrix FILE is missing");
    expect("reorder $D/path.mtx --methd rcm", 2, NULL, "unknown option --methd; did you mean --method?");
    expect("reorder $D/path.mtx --srs 8", 2, NULL, "require --method bandk; rcm has no groups");
    expect("reorder $D/path.mtx --method bandk --k 2 --ssrs 8", 2, NULL, "--ssrs requires --k 3 or 4");
    expect("reorder $D/path.mtx --method bandk --k 5", 2, NULL, "--k");
    expect("reorder $D/path.mtx --groups $D/groups", 2, NULL, "--groups require --method bandk");
    expect("reorder $D/path.mtx --method bandk --groups $D/one -o $D/one", 2, NULL, "--out and --groups both write");
    expect("reorder $D/path.mtx --perm - -o -", 2, NULL, "--out and --perm both write '-'");
    expect("reorder $D/path.mtx --method bandk --sssrs 8", 2, NULL, "--sssrs requires --k 4");
    expect("reorder $D/path.mtx --threads 0", 2, NULL, "--threads");
    expect("reorder $D/path.mtx -o $D/path.mtx", 2, NULL, "the input matrix: expected another file");
    expect("reorder $D/path.mtx --perm $D/path.mtx", 2, NULL, "the input matrix: expected another file");
    expect("reorder $D/path.mtx -o - --json", 2, NULL, "both write to standard output");
    expect("reorder $D/path.mtx -o $D/none/out.mtx", 2, NULL, "none/out.mtx: cannot be written: No such file");
    expect("reorder $D/path.mtx --perm /dev/full", 2, NULL, "No space left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_what_it_did), cmocka_unit_test(writes_what_it_read),
                                       cmocka_unit_test(json), cmocka_unit_test(picture), cmocka_unit_test(mistakes)};
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
