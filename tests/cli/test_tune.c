/* spry tune: what is fitted to known best sizes, and the command. */
#include "spawn.h"

#include "cli/tune_fit.h"

static void sizes(void **state)
{
    tune_trial trials[TUNE_MOST_SIZES];
    assert_int_equal(tune_cpu_sizes(trials, 2), 18);
    assert_int_equal(trials[0].srs, 8);
    assert_int_equal(trials[1].srs, 12);
    assert_int_equal(trials[17].srs, 3072);
    assert_int_equal(trials[17].ssrs, 1);
    assert_int_equal(tune_cpu_sizes(trials, 3), 90);
    assert_int_equal(tune_gpu_sizes(trials), 64);
    assert_int_equal(trials[63].srs, 48);
    assert_int_equal(trials[63].ssrs, 48);
}

static void best(void **state)
{
    /* 4 and 16 are within 1 % of the fastest; what has no time does not count. */
    const tune_trial trials[] = {{4, 2, 100}, {8, 2, 120}, {16, 8, 100.5}, {32, 1, NAN}, {64, 1, 0}};
    tune_point p = {0};
    tune_best(&p, trials, 5);
    assert_true(fabs(p.srs - 8) < 1e-9 && fabs(p.ssrs - 4) < 1e-9 && p.best_us == 100);
    const tune_point points[] = {{5, 8, 1, 1}, {7, 32, 1, 1}};
    assert_int_equal(tune_constant(points, 2, 0), 16);
    assert_int_equal(tune_constant(points, 2, 1), 1);
}

/* Times that are least at the sizes of a known formula: the search finds them, and what it misses is told. */
static void search(void **state)
{
    static const double densities[] = {3, 5, 7, 9, 13, 20, 27, 40, 76};
    enum { MATRICES = sizeof densities / sizeof *densities };
    static tune_trial trials[MATRICES][TUNE_MOST_SIZES];
    const tune_formula by_ssrs = {.constant = 44, .fall = 8}, by_srs = {.constant = -12, .fall = -12};
    tune_sweep sweeps[MATRICES];
    for (int i = 0; i < MATRICES; i++) {
        sweeps[i] = (tune_sweep){densities[i], trials[i], tune_gpu_sizes(trials[i])};
        for (int k = 0; k < sweeps[i].count; k++)
            trials[i][k].us = 50 + abs(trials[i][k].srs - tune_size(&by_srs, densities[i])) +
                              abs(trials[i][k].ssrs - tune_size(&by_ssrs, densities[i]));
    }
    tune_formula ssrs = {0}, srs = {0};
    assert_true(fabs(tune_search(&ssrs, &srs, sweeps, MATRICES) - 1) < 1e-12);
    for (int i = 0; i < MATRICES; i++) {
        assert_int_equal(tune_size(&by_ssrs, densities[i]), tune_size(&ssrs, densities[i]));
        assert_int_equal(tune_size(&by_srs, densities[i]), tune_size(&srs, densities[i]));
    }
    assert_int_equal(tune_size(&srs, 1e9), 32);
    assert_int_equal(tune_size(&ssrs, 1e9), 8);
    for (int k = 0; k < sweeps[1].count; k++) /* no formula has 32 at 5, and 8 at 3 and 7 */
        trials[1][k].us = 50 + abs(trials[1][k].srs - 32);
    assert_true(tune_search(&ssrs, &srs, sweeps, MATRICES) > 1.01);
    for (int k = 0; k < sweeps[3].count; k++)
        if (trials[3][k].srs == 16 && trials[3][k].ssrs == 24) trials[3][k].us = 0;
    assert_true(isnan(tune_search(&ssrs, &srs, sweeps, MATRICES)));
}

static void command(void **state)
{
    expect("tune --accept-disturbed gen:grid5,x=40,y=40 gen:banded,rows=900 --threads 1 --what sizes --format csr2 -o "
           "$D/t.tuning --json",
           0, "\"levels\":2", "wrote ");
    char *table = read_file("t.tuning");
    assert_non_null(table);
    assert_int_equal(strncmp(table, "spry-tuning 3\n# ", 16), 0);
    assert_non_null(strstr(table, "fitted over 2 matrices"));
    assert_non_null(strstr(table, "\ncpu csr2 "));
    assert_non_null(strstr(table, "\nend 1\n"));
    free(table);
    char name[512];
    snprintf(name, sizeof name, "%s/t.tuning", folder());
    setenv("SPRY_TUNING", name, 1);
    expect("spmv $D/small.mtx --format csr2 --time", 0, ": correct", "note: ");
    setenv("SPRY_TUNING", "/none/such", 1);
    expect("spmv $D/small.mtx", 2, NULL, "/none/such: cannot be read");
    write_file("bad.tuning", "cpu csr2 96\n");
    snprintf(name, sizeof name, "%s/bad.tuning", folder());
    setenv("SPRY_TUNING", name, 1);
    expect("info $D/small.mtx", 2, NULL, "bad.tuning:1: cpu is no line of a tuning table");
    unsetenv("SPRY_TUNING");
    expect("tune $D/none.mtx", 2, NULL, "none.mtx");
    expect("tune --device cuda --format csr2", 2, NULL, "there csr2 has no sizes to fit");
    expect("tune --device gqu", 2, NULL, "--device is 'gqu', expected one of: cpu, cuda");
    expect("tune $D/small.mtx -o $D/small.mtx", 2, NULL, "small.mtx");
    setenv("SPRY_CUDA_PLUGIN", "/none/such.so", 1);
    expect("tune $D/small.mtx --device cuda", 1, NULL, "--device cuda: ");
    unsetenv("SPRY_CUDA_PLUGIN");
}

/* Rates of this machine, and of records of spry bench: tables that are taken. */
static void rates(void **state)
{
    char name[512];
    expect("tune --accept-disturbed gen:grid5,x=40,y=40 gen:rgg,scale=10 --threads 1 --what rates --runs 2 -o "
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
    expect("tune --from $D/r.jsonl", 2, NULL, "name the matrices");
    expect("tune --class h200", 2, NULL, "--class without --from");
    expect("tune --accept-disturbed gen:rgg,scale=10 --from $D/r.jsonl --class abacus", 2, NULL,
           "no device class \"abacus\"");
    expect("tune --accept-disturbed gen:rgg,scale=10 --from $D/r.jsonl --what sizes", 2, NULL,
           "records tell rates alone");
    expect("tune --accept-disturbed gen:rgg,scale=10 --from $D/r.tuning", 2, NULL, "line 1 is no JSON object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),   cmocka_unit_test(best),  cmocka_unit_test(search),
        cmocka_unit_test(command), cmocka_unit_test(rates),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
