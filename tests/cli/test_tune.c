/* Tests of spry tune: its options, and the tables that it writes. */
#include "spawn.h"

static void command(void **state)
{
    write_file("t.tuning", "spry-tuning 3\ncpu csr2 48\nend 1\n");
    char name[512];
    snprintf(name, sizeof name, "%s/t.tuning", folder());
    setenv("SPRY_TUNING", name, 1);
    expect("spmv $D/small.mtx --format csr2 --time", 0, ": correct", "note: ");
    setenv("SPRY_TUNING", "/none/such", 1);
    expect("spmv $D/small.mtx", 2, NULL, "/none/such: cannot be read");
    write_file("bad.tuning", "cpu csr2 96\n");
    snprintf(name, sizeof name, "%s/bad.tuning", folder());
    setenv("SPRY_TUNING", name, 1);
    expect("info $D/small.mtx", 2, NULL, "bad.tuning:1: cpu is not a line of a tuning table");
    unsetenv("SPRY_TUNING");
    expect("tune $D/none.mtx", 2, NULL, "none.mtx");
    expect("tune --json", 2, NULL, "--json requires --list");
    expect("tune --device gqu", 2, NULL, "--device is 'gqu', expected one of: cpu, cuda");
    expect("tune $D/small.mtx -o $D/small.mtx", 2, NULL, "small.mtx");
    setenv("SPRY_CUDA_PLUGIN", "/none/such.so", 1);
    expect("tune $D/small.mtx --device cuda", 1, NULL, "--device cuda: ");
    unsetenv("SPRY_CUDA_PLUGIN");
}

/*
 * Writes a table of rates from measurements on this machine, which spry explain must accept. Then writes a table of
 * rates from records of spry bench.
 */
static void rates(void **state)
{
    char name[512];
    expect("tune --accept-disturbed gen:grid5,x=40,y=40 gen:rgg,scale=10 --threads 1 --runs 2 -o "
           "$D/r.tuning",
           0, "2 matrices and types, ", "wrote ");
    char *table = read_file("r.tuning");
    assert_non_null(table);
    assert_int_equal(strncmp(table, "spry-tuning 3\nclass ", 20), 0);
    assert_non_null(strstr(table, "\nrate csr launch "));
    assert_null(strstr(table, "cpu csr2"));
    free(table);
    snprintf(name, sizeof name, "%s/r.tuning", folder());
    setenv("SPRY_TUNING", name, 1);
    expect("explain gen:rgg,scale=12", 0, "(fitted to ", NULL);
    unsetenv("SPRY_TUNING");
    expect("bench gen:rgg,scale=10 --threads 1 --device cpu --runs 2 --formats csr,sell,packed --json=$D/r.jsonl", 0,
           "packed", "note: ");
    expect("tune --accept-disturbed gen:rgg,scale=10 --from $D/r.jsonl --class avx2 -o $D/f.tuning", 0, "3 times",
           "wrote ");
    table = read_file("f.tuning");
    assert_non_null(table);
    assert_non_null(strstr(table, "class avx2 cpu\n"));
    assert_non_null(strstr(table, "fitted to records of 1 file, 20"));
    free(table);
    expect("tune --accept-disturbed gen:grid5,x=9,y=9 --from $D/r.jsonl", 1, NULL, "nothing to fit");
    expect("tune --accept-disturbed gen:grid5,x=9,y=9 --from $D/none.jsonl", 2, NULL, "none.jsonl cannot be read");
    expect("tune --from $D/r.jsonl", 2, NULL, "expected the matrix FILEs");
    expect("tune --class h200", 2, NULL, "--class requires --from");
    expect("tune --accept-disturbed gen:rgg,scale=10 --from $D/r.jsonl --class abacus", 2, NULL,
           "no device class \"abacus\"");
    expect("tune --accept-disturbed gen:rgg,scale=10 --from $D/r.tuning", 2, NULL, "line 1 is not a JSON object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command),
        cmocka_unit_test(rates),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
