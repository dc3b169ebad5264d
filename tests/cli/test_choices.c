/*
 * Tests of --policy measure and its file of choices. --cache or SPRY_CHOICES names the file, and spry tune lists or
 * clears it.
 */
#include "spawn.h"

#define GRID "gen:grid5,x=60,y=50"

static void remembers(void **state)
{
    expect("spmv " GRID " --policy measure --budget 20s --cache $D/c", 0, " us measured, ", NULL);
    expect("spmv " GRID " --policy measure --cache $D/c", 0, "; remembered from ", NULL);
    expect("explain " GRID " --policy measure --budget 20s --cache $D/c", 0, "measured", NULL);
    expect("tune --cache $D/c --list", 0, "\n1 choice in ", NULL);
    setenv("SPRY_CHOICES", "/none/such", 1);
    expect("spmv " GRID " --policy measure", 2, NULL, "/none/such");
    expect("spmv " GRID, 0, "correct", NULL); /* only the policy measure reads the file */
    expect("spmv " GRID " --policy measure --cache $D/c", 0, "; remembered from ", NULL);
    expect("tune --list", 2, NULL, "/none/such");
    unsetenv("SPRY_CHOICES");
    expect("tune --cache $D/c --clear", 0, NULL, NULL);
    expect("tune --cache $D/c --list", 0, "0 choices in ", NULL);
    outcome o = spry("spmv %s --policy measure --budget 20s --cache $D/c", GRID);
    assert_int_equal(o.status, 0);
    assert_null(strstr(o.out, "remembered"));
    release(&o);
}

/* Asserts that processes that share a file lose no choice. */
static void multiple_processes(void **state)
{
    outcome o = shell("for i in 1 2 3 4; do \"$SPRY\" spmv gen:grid5,x=4$i,y=50 --policy measure --budget 20s "
                      "--cache $D/shared >/dev/null & done; wait; \"$SPRY\" tune --cache $D/shared --list");
    if (!strstr(o.out, "\n4 choices in ")) fail_msg("%s%s", o.out, o.err);
    release(&o);
}

/* Asserts that the runner-up is a measured format whose time is not shorter than the time of the chosen format. */
static void runner_up(void **state)
{
    for (int counted = 0; counted < 2; counted++) {
        char next[32] = "", taken[32] = "", measured[80];
        double ratio = 0;
        outcome o = spry("explain %s --policy measure --budget 20s%s", GRID, counted ? " --calls 1000000" : "");
        const char *line = strstr(o.out, "  runner-up ");
        assert_int_equal(o.status, 0);
        if (!line ||
            sscanf(line, " runner-up %31s took %lf times as long a product as %31[a-z0-9]", next, &ratio, taken) != 3)
            fail_msg("%s", o.out);
        snprintf(measured, sizeof measured, "%s: ", taken);
        assert_non_null(strstr(o.out, measured));
        snprintf(measured, sizeof measured, ", %s ", next); /* the reason lists the runner-up */
        if (!strstr(o.out, measured) || (!counted && ratio < 0.99)) fail_msg("%s", o.out);
        const char *set_up = strstr(line, " times with set-up");
        assert_int_equal(counted, set_up && set_up < strchr(line, '\n'));
        release(&o);
    }
}

static void in_json(void **state)
{
    static const char *const texts[] = {"fingerprint", "op", "device", "types", "format", "kernel", "date"};
    static const char *const numbers[] = {"rows", "columns", "nnz", "calls", "measured_us", "predicted_us"};
    outcome o = spry("explain %s --policy measure --budget 20s --cache $D/j --json", GRID);
    assert_int_equal(o.status, 0);
    cJSON *line = json_line(o.out, 0);
    assert_non_null(line);
    assert_string_equal(cJSON_GetObjectItem(line, "policy")->valuestring, "measure");
    int measured = 0, candidates = 0;
    const cJSON *c;
    cJSON_ArrayForEach(c, cJSON_GetObjectItem(line, "candidates"))
    {
        const cJSON *us = cJSON_GetObjectItem(c, "measured_us");
        assert_true(cJSON_IsNumber(us) || cJSON_IsNull(us));
        measured += cJSON_IsNumber(us);
        candidates++;
    }
    assert_true(measured >= 2 && measured < candidates);
    cJSON_Delete(line);
    release(&o);
    o = spry("tune --cache $D/j --list --json");
    assert_int_equal(o.status, 0);
    assert_int_equal(count_lines(o.out), 1);
    line = json_line(o.out, 0);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        assert_true(cJSON_IsString(cJSON_GetObjectItem(line, texts[t])));
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        assert_true(cJSON_IsNumber(cJSON_GetObjectItem(line, numbers[n])));
    cJSON_Delete(line);
    release(&o);
}

static void refuses(void **state)
{
    write_file("thesis", "my thesis\n");
    expect("spmv " GRID " --policy measure --cache $D/thesis", 2, NULL, "thesis:1: not a file of choices");
    expect("tune --cache $D/thesis --list", 2, NULL, "thesis:1: not a file of choices");
    expect("tune --cache $D/thesis --clear", 2, NULL, "is not cleared");
    char *found = read_file("thesis");
    assert_string_equal(found, "my thesis\n");
    free(found);
    write_file("old", "spry-choices 0.1.0\nend 0\n");
    expect("explain " GRID " --policy measure --cache $D/old", 2, NULL, "old:1: the choices are of version 0.1.0");
    expect("tune --cache $D/old --clear", 0, NULL, NULL);
    expect("tune --cache $D/old --list", 0, "0 choices", NULL);
    expect("tune --cache $D/nothing --clear", 2, NULL, "cannot be cleared");
    expect("tune --list", 2, NULL, "SPRY_CHOICES is not set");
    expect("tune --cache $D/old", 2, NULL, "--cache requires --list or --clear");
    expect("tune --cache $D/old --list --clear", 2, NULL, "exclude each other");
    expect("tune --cache $D/old --list $D/small.mtx", 2, NULL, "one argument too many");
    expect("spmv " GRID " --budget 5ms", 2, NULL, "--budget requires --policy measure");
    expect("explain " GRID " --policy cost --cache $D/old", 2, NULL, "--cache requires --policy measure");
    expect("explain " GRID " --policy measure --device h200", 2, NULL, "needs a device of this machine");
    static const char *const times[] = {"5", "0ms", "-5ms", "5 ms", "ms", "5min", "1e30s", "nan", "infs"};
    for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
        outcome o = spry("spmv %s --policy measure '--budget=%s'", GRID, times[t]);
        if (o.status != 2 || !strstr(o.err, "expected a time above 0 such as 500us, 50ms or 2s"))
            fail_msg("%s: %d, %s", times[t], o.status, o.err);
        release(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(remembers), cmocka_unit_test(multiple_processes),
                                       cmocka_unit_test(runner_up), cmocka_unit_test(in_json),
                                       cmocka_unit_test(refuses)};
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
