/* Tests of spry bench --regret: its JSON lines, the kernels that it measures, and wrong options. */
#include "records.h"
#include "spawn.h"

/* Counts the JSON lines of text that have the field `name`. Calls see for each of these fields, unless see is NULL. */
static int each(const char *text, const char *name, void (*see)(const cJSON *in))
{
    int found = 0;
    for (int l = 0; l < count_lines(text); l++) {
        cJSON *o = json_line(text, l);
        const cJSON *in = cJSON_GetObjectItem(o, name);
        found += in != NULL;
        if (in && see) see(in);
        cJSON_Delete(o);
    }
    return found;
}

static void see_choice(const cJSON *in)
{
    static const char *const texts[] = {"op",       "matrix", "type",   "index",  "device",
                                        "ordering", "policy", "format", "kernel", "csr_kernel"};
    static const char *const numbers[] = {"setup_us",     "time_us",      "spread_us",    "baseline_us",
                                          "predicted_us", "csr_time_us",  "csr_setup_us", "csr_spread_us",
                                          "upload_us",    "csr_upload_us"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) assert_true(text_of(in, texts[t])[0] != '\0');
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) assert_true(number_of(in, numbers[n]) >= 0);
    assert_true(number_of(in, "time_us") > 0 && number_of(in, "csr_time_us") > 0);
    assert_memory_equal(text_of(in, "csr_kernel"), "csr", 3);
}

/*
 * Checks the lines for one matrix and type. First come the records, then five choices of policy cost, one for each
 * number of `calls`, then the choice of policy tree.
 */
static void lines(void **state)
{
    static const int calls[] = {1, 10, 100, 1000, 0, 0};
    outcome o =
        spry("bench gen:grid5,x=60,y=60 gen:rmat,scale=9 --regret --device cpu --type all --runs 3 --json=$D/r.jsonl");
    if (o.status != 0) fail_msg("%d\n%s\n%s", o.status, o.out, o.err);
    assert_non_null(strstr(o.out, "sell:c=8:sigma=512"));
    release(&o);
    char *text = read_file("r.jsonl");
    assert_non_null(text);
    int choices = 0, records = 0;
    for (int l = 0; l < count_lines(text); l++) {
        cJSON *one = json_line(text, l);
        const cJSON *in = cJSON_GetObjectItem(one, "regret");
        if (in) {
            see_choice(in);
            assert_near(number_of(in, "calls"), calls[choices % 6], 0);
            assert_string_equal(text_of(in, "policy"), choices % 6 == 5 ? "tree" : "cost");
            choices++;
        } else {
            assert_true(choices % 6 == 0 && cJSON_GetObjectItem(one, "status") != NULL);
            records++;
        }
        cJSON_Delete(one);
    }
    assert_int_equal(choices, 2 * 2 * 6);
    assert_true(records > 4 * 20);
    free(text);
}

/* Returns 1 if one of the first `before` lines has the kernel, format and time of the choice. */
static int has_record(const char *text, int before, const cJSON *in)
{
    int found = 0;
    for (int k = 0; k < before && !found; k++) {
        cJSON *o = json_line(text, k);
        found = strcmp(text_of(o, "kernel"), text_of(in, "kernel")) == 0 &&
                strcmp(text_of(o, "format"), text_of(in, "format")) == 0 &&
                number_of(o, "time_us") == number_of(in, "time_us");
        cJSON_Delete(o);
    }
    return found;
}

/*
 * Asserts that a choice has the kernel, format and time of a record, and that no kernel has two records of one format.
 * Formats with published sizes (sell:c=8:sigma=1) have records. Nondeterministic kernels have no records.
 */
static void kernels(void **state)
{
    outcome o = spry("bench gen:grid5,x=40,y=40 --regret --device cpu --runs 1 --json");
    int sell = 0;
    if (o.status != 0) fail_msg("%d\n%s", o.status, o.err);
    for (int l = 0; l < count_lines(o.out); l++) {
        cJSON *one = json_line(o.out, l);
        const cJSON *choice = cJSON_GetObjectItem(one, "regret");
        const char *format = text_of(one, "format");
        assert_true(!choice || has_record(o.out, l, choice));
        assert_false(cJSON_IsFalse(cJSON_GetObjectItem(one, "deterministic")));
        sell += strcmp(format, "sell:c=8:sigma=1") == 0;
        for (int k = 0; k < l; k++) {
            cJSON *other = json_line(o.out, k);
            if (strcmp(format, "csr") != 0 && strcmp(text_of(one, "status"), "ok") == 0 &&
                strcmp(text_of(other, "format"), format) == 0 && strcmp(text_of(other, "status"), "ok") == 0)
                assert_string_not_equal(text_of(one, "kernel"), text_of(other, "kernel"));
            cJSON_Delete(other);
        }
        cJSON_Delete(one);
    }
    assert_int_equal(sell, 1);
    assert_int_equal(each(o.out, "regret", see_choice), 6);
    release(&o);
}

static void other_policies(void **state)
{
    outcome o = spry("bench gen:grid5,x=30,y=30 --regret --policy tree --device cpu --runs 1 --json");
    assert_int_equal(o.status, 0);
    assert_int_equal(each(o.out, "regret", NULL), 5); /* without the additional lines of policy tree */
    release(&o);
    cJSON *records = records_of("bench gen:grid5,x=300,y=300 --formats csr,auto --policy tree --updates 3 --device cpu "
                                "--runs 1 --json 2>/dev/null",
                                0);
    assert_string_equal(text_of(find(records, "format", "auto"), "policy"), "tree");
    assert_memory_equal(text_of(find(records, "format", "auto"), "kernel"), "ell_", 4);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(find(records, "format", "csr"), "policy")));
    cJSON_Delete(records);
    records = records_of("spmv $D/small.mtx --json", 0);
    assert_string_equal(text_of(cJSON_GetArrayItem(records, 0), "policy"), "cost");
    cJSON_Delete(records);
}

/* Asserts that a folder stands for its matrices, ordered by name. */
static void folders(void **state)
{
    outcome o = shell("mkdir $D/many $D/none && cp $D/small.mtx $D/many/b.mtx && cp $D/sym.mtx $D/many/a.mtx && "
                      "gzip <$D/sym.mtx >$D/many/c.mtx.gz && echo x >$D/many/notes.txt");
    assert_int_equal(o.status, 0);
    release(&o);
    cJSON *records = records_of("bench $D/many --formats csr --device cpu --runs 1 --json 2>/dev/null", 0);
    assert_int_equal(cJSON_GetArraySize(records), 3);
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) assert_string_equal(text_of(cJSON_GetArrayItem(records, i), "matrix"), names[i]);
    cJSON_Delete(records);
    expect("bench $D/none", 2, NULL, "none: there is no matrix in this folder");
    o = shell("rm -r $D/many $D/none");
    release(&o);
}

static void mistakes(void **state)
{
    static const mistake cases[] = {
        {"$D/small.mtx --regret --formats csr", "--formats cannot be used with --regret, which selects all kernels"},
        {"$D/small.mtx --regret --kernels csr_portable_cpu", "--kernels cannot be used with --regret"},
        {"$D/small.mtx --regret --calls 10", "--calls cannot be used with --regret"},
        {"$D/small.mtx --regret --updates 10", "--updates cannot be used with --regret"},
        {"$D/small.mtx --regret --op spgemm", "--op is spgemm: expected spmv or spmv_t"},
        {"$D/small.mtx --regret --ordering rcm", "--ordering cannot be used with --regret"},
        {"$D/small.mtx --regret --threads 1,2", "--threads is a list, --regret expects one number"},
        {"--regret --json", "nothing to measure: name a matrix FILE or a --suite"},
        {"$D/small.mtx --regret", "--regret records choices of auto for bench/regret.py: expected --json=FILE"},
        {"$D/small.mtx --policy dice", "--policy: no policy \"dice\", expected cost, measure, tree"},
        {"$D/small.mtx --policy tree --op spgemm", "--policy is for products with a vector"},
        {"$D/small.mtx --updates 0", "--updates is 0, expected 1 to"},
    };
    expect_mistakes("bench", cases, sizeof cases / sizeof *cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(kernels),
                                       cmocka_unit_test(other_policies), cmocka_unit_test(folders),
                                       cmocka_unit_test(mistakes)};
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
