/* spry bench --regret: its lines, the report of lines that are there, mistakes. */
#include "records.h"
#include "spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Lines of text whose first field has the name; each is handed to see. */
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
    static const char *const texts[] = {"op",     "matrix", "type",   "index",       "device",     "ordering",
                                        "policy", "format", "kernel", "best_format", "best_kernel"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) assert_true(text_of(in, texts[t])[0] != '\0');
    assert_true(number_of(in, "time_us") > 0 && number_of(in, "setup_us") > 0 && number_of(in, "csr_time_us") > 0);
    assert_true(number_of(in, "loss") >= 1 && number_of(in, "over_csr") > 0);
    assert_true(number_of(in, "predicted_us") > 0 && number_of(in, "baseline_us") > 0);
    const double calls = number_of(in, "calls"), once = calls > 0 ? calls : 1;
    const double setup = calls > 0 ? number_of(in, "setup_us") - number_of(in, "upload_us") : 0;
    const double cost = setup + once * number_of(in, "time_us");
    assert_near(number_of(in, "loss"), cost / number_of(in, "best_us"), 1e-5 * number_of(in, "loss"));
}

static void see_sum(const cJSON *in)
{
    assert_string_equal(text_of(in, "op"), "spmv");
    assert_near(number_of(in, "cases"), 2, 0);
    assert_true(number_of(in, "mean") >= 1 && number_of(in, "worst") >= number_of(in, "percentile95"));
    assert_true(text_of(in, "worst_matrix")[0] != '\0');
}

/* Every line is a record or tells by its first field that it is none. */
static void count_others(const char *text, int expected)
{
    int others = 0;
    for (int l = 0; l < count_lines(text); l++) {
        cJSON *o = json_line(text, l);
        others += strncmp(o->child->string, "regret", 6) == 0;
        if (!cJSON_GetObjectItem(o, "regret") && strncmp(o->child->string, "regret", 6) != 0)
            assert_true(cJSON_GetObjectItem(o, "status") != NULL && cJSON_GetObjectItem(o, "policy") != NULL);
        cJSON_Delete(o);
    }
    assert_int_equal(others, expected);
}

/* The same figures come of the lines alone. */
static void report_from_lines(const char *file, const char *text)
{
    outcome again = spry("bench --regret --from $D/%s --json", file);
    if (again.status != 0) fail_msg("%d\n%s", again.status, again.err);
    assert_int_equal(count_lines(again.out), each(text, "regret", NULL) + each(text, "regret_sum", NULL) +
                                                 each(text, "regret_prediction", NULL));
    assert_int_equal(each(again.out, "regret", see_choice), each(text, "regret", NULL));
    for (int l = 0, k = 0; l < count_lines(again.out); l++) {
        cJSON *one = json_line(again.out, l), *other = NULL;
        const cJSON *in = cJSON_GetObjectItem(one, "regret");
        while (in && !cJSON_GetObjectItem(other, "regret")) {
            cJSON_Delete(other);
            other = json_line(text, k++);
        }
        if (in) {
            const cJSON *was = cJSON_GetObjectItem(other, "regret");
            assert_string_equal(text_of(in, "kernel"), text_of(was, "kernel"));
            assert_string_equal(text_of(in, "best_kernel"), text_of(was, "best_kernel"));
            assert_near(number_of(in, "loss"), number_of(was, "loss"), 1e-5 * number_of(was, "loss"));
        }
        cJSON_Delete(one);
        cJSON_Delete(other);
    }
    release(&again);
}

/* Two matrices, two types: five numbers of calls and the tree each. */
static void lines(void **state)
{
    (void)state;
    outcome o =
        spry("bench gen:grid5,x=60,y=60 gen:rmat,scale=9 --regret --device cpu --type all --runs 3 --json=$D/r.jsonl");
    if (o.status != 0) fail_msg("%d\n%s\n%s", o.status, o.out, o.err);
    assert_non_null(strstr(o.out, "grid5,x=60,y=60: spmv, f64, indices 32/32 on cpu"));
    assert_non_null(strstr(o.out, "Loss of auto"));
    assert_non_null(strstr(o.out, "break-even within 1.5"));
    release(&o);
    char *text = read_file("r.jsonl");
    assert_non_null(text);
    assert_int_equal(each(text, "regret", see_choice), 2 * 2 * 6);
    assert_int_equal(each(text, "regret_sum", see_sum), 2 * 6);
    assert_int_equal(each(text, "regret_prediction", NULL), 2);
    count_others(text, 2 * 2 * 6 + 2 * 6 + 2);
    report_from_lines("r.jsonl", text);
    expect("bench --regret --from $D/r.jsonl $D/r.jsonl", 0, "  spmv    cpu     f64       cost      many      4", NULL);
    free(text);
}

/* Lines whose figures are known: auto takes 10 us in csr, another kernel 8; one peer takes 5, another 20. */
static void known_lines(void **state)
{
    (void)state;
    static const char *const kernels[] = {"\"csr_ours\",\"peer\":false,\"time_us\":10",
                                          "\"ell_ours\",\"peer\":false,\"time_us\":8",
                                          "\"fast\",\"peer\":true,\"time_us\":5",
                                          "\"slow\",\"peer\":true,\"time_us\":20"};
    char text[4096] = "";
    for (int k = 0; k < 4; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "{\"op\":\"spmv\",\"matrix\":\"a\",\"type\":\"f64\",\"device\":\"cpu\",\"format\":\"csr\",\"kernel\":%"
                 "s,"
                 "\"ordering\":\"none\",\"deterministic\":true,\"setup_us\":0,\"spread_us\":1,\"status\":\"ok\"}\n",
                 kernels[k]);
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "{\"regret\":{\"op\":\"spmv\",\"matrix\":\"a\",\"type\":\"f64\",\"device\":\"cpu\",\"ordering\":\"none\","
             "\"policy\":\"cost\",\"calls\":0,\"format\":\"csr\",\"kernel\":\"csr_ours\",\"setup_us\":0,\"upload_us\":"
             "0,"
             "\"time_us\":10,\"spread_us\":1,\"csr_setup_us\":0,\"csr_upload_us\":0,\"csr_time_us\":10}}\n"
             "{\"regret_sum\":{\"cases\":9}}\n");
    write_file("known.jsonl", text);
    expect("bench --regret --from $D/known.jsonl", 0, "a spmv f64 on cpu: fast takes 0.50 of csr_ours's time", NULL);
    outcome o = spry("bench --regret --from $D/known.jsonl --json");
    assert_int_equal(count_lines(o.out), 1 + 1 + 2 + 1 + 1);
    cJSON *one = json_line(o.out, 0), *slower = json_line(o.out, 5);
    assert_near(number_of(cJSON_GetObjectItem(one, "regret"), "loss"), 1.25, 1e-6);
    assert_string_equal(text_of(cJSON_GetObjectItem(one, "regret"), "best_kernel"), "ell_ours");
    const cJSON *in = cJSON_GetObjectItem(slower, "regret_slower");
    assert_string_equal(text_of(in, "peer"), "fast");
    assert_near(number_of(in, "ratio"), 0.5, 1e-6);
    cJSON_Delete(one);
    cJSON_Delete(slower);
    release(&o);
}

/* A kernel is told once with the same parameters; published sizes are there; what may vary is not. */
static void kernels(void **state)
{
    (void)state;
    outcome o = spry("bench gen:grid5,x=40,y=40 --regret --device cpu --runs 1 --json");
    int sell = 0;
    if (o.status != 0) fail_msg("%d\n%s", o.status, o.err);
    for (int l = 0; l < count_lines(o.out); l++) {
        cJSON *one = json_line(o.out, l);
        const char *format = text_of(one, "format");
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
    (void)state;
    outcome o = spry("bench gen:grid5,x=30,y=30 --regret --policy tree --device cpu --runs 1 --json");
    assert_int_equal(o.status, 0);
    assert_int_equal(each(o.out, "regret", NULL), 5); /* and no tree beside */
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

/* A folder is the matrices in it, by their names. */
static void folders(void **state)
{
    (void)state;
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
    (void)state;
    write_file("text.jsonl", "no JSON\n");
    write_file("bare.jsonl", "{\"matrix\":\"a\"}\n");
    write_file("plain.jsonl", "{\"matrix\":\"a\",\"kernel\":\"k\",\"time_us\":1,\"type\":\"f64\",\"op\":\"spmv\"}\n");
    static const mistake cases[] = {
        {"$D/small.mtx --regret --formats csr", "--formats does not go with --regret, which says itself what runs"},
        {"$D/small.mtx --regret --kernels csr_portable_cpu", "--kernels does not go with --regret"},
        {"$D/small.mtx --regret --calls 10", "--calls does not go with --regret"},
        {"$D/small.mtx --regret --updates 10", "--updates does not go with --regret"},
        {"$D/small.mtx --regret --op spgemm", "--op is spgemm: expected spmv or spmv_t"},
        {"$D/small.mtx --regret --ordering rcm", "--ordering does not go with --regret"},
        {"$D/small.mtx --regret --threads 1,2", "--threads is a list, --regret expects one number"},
        {"$D/small.mtx --from", "--from goes with --regret"},
        {"--regret", "nothing to measure: name a matrix FILE or a --suite"},
        {"--regret --from", "nothing to report: name FILEs that spry bench --regret --json wrote"},
        {"--regret --from --suite mesh", "--suite does not go with --from"},
        {"--regret --from $D/none.jsonl", "none.jsonl: cannot be read: No such file"},
        {"--regret --from $D/text.jsonl", "text.jsonl:1: no JSON object"},
        {"--regret --from $D/bare.jsonl", "bare.jsonl:1: no record of spry bench"},
        {"--regret --from $D/plain.jsonl", "plain.jsonl: there is no line that tells what auto took"},
        {"$D/small.mtx --policy dice", "--policy: no policy \"dice\", expected cost, measure, tree"},
        {"$D/small.mtx --policy tree --op spgemm", "--policy goes with products with a vector"},
        {"$D/small.mtx --updates 0", "--updates is 0, expected 1 to"},
    };
    expect_mistakes("bench", cases, sizeof cases / sizeof *cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines),   cmocka_unit_test(known_lines),
                                       cmocka_unit_test(kernels), cmocka_unit_test(other_policies),
                                       cmocka_unit_test(folders), cmocka_unit_test(mistakes)};
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
