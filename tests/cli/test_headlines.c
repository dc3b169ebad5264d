/*
 * Tests of the benchmark's summary. The textbook loop csr_plain does not count as a peer, and cases that other programs
 * disturbed are left out.
 */
#include "cli/bench_tables.h"

#include "testing.h"

static record timed(const char *matrix, const char *kernel, int peer, double us)
{
    record r;
    record_init(&r);
    r.op = "spmv";
    RECORD_TEXT(r.input.name, matrix);
    r.input.rows = r.input.columns = r.input.nnz = 10;
    r.input.class_name = "regular";
    r.input.type = "f64";
    r.input.index = "32/32";
    r.time.state = "warm";
    RECORD_TEXT(r.method.device, "cpu");
    RECORD_TEXT(r.method.format, "csr");
    RECORD_TEXT(r.method.kernel, kernel);
    r.method.peer = peer;
    r.time.disturbed = 0;
    r.cost.setup_us = 1;
    r.time.median_us = us;
    r.time.spread_us = 0.01 * us;
    r.rates.gflops = r.rates.gbps = r.rates.roof = r.max_error = 1;
    r.status = RECORD_OK;
    return r;
}

/* Returns the output of a printer; the caller frees it. */
static char *printed(void (*print)(FILE *, const record *, int), const record *records, int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    assert_non_null(memory);
    print(memory, records, count);
    assert_int_equal(fclose(memory), 0);
    return text;
}

static void print_group(FILE *out, const record *records, int count)
{
    cli_print_group(out, records, count, 0);
}

static void expect(char *text, const char *has, const char *lacks)
{
    if ((has && !strstr(text, has)) || (lacks && strstr(text, lacks)))
        print_error("expected '%s' and no '%s' in\n%s", has ? has : "", lacks ? lacks : "", text);
    assert_true(!has || strstr(text, has));
    assert_true(!lacks || !strstr(text, lacks));
    free(text);
}

static void textbook_loop_is_no_peer(void **state)
{
    const record alone[] = {timed("a", "csr_avx2_cpu", 0, 10), timed("a", "csr_plain", 1, 20)};
    expect(printed(print_group, alone, 2), "csr_avx2_cpu is the fastest\n", "peer)");
    expect(printed(print_group, alone, 2), NULL, "2.00");
    const record others[] = {timed("a", "csr_avx2_cpu", 0, 10), timed("a", "csr_plain", 1, 20),
                             timed("a", "mkl_csr", 1, 30)};
    expect(printed(print_group, others, 3), "3.00 times as fast as mkl_csr (the fastest peer)", "(csr_plain");
    /* if the textbook loop is the fastest kernel, mkl_csr is still the fastest peer */
    const record first[] = {timed("a", "csr_avx2_cpu", 0, 20), timed("a", "csr_plain", 1, 10),
                            timed("a", "mkl_csr", 1, 30)};
    expect(printed(print_group, first, 3), "3.00 times as fast as mkl_csr (the fastest peer)", NULL);
    const record means[] = {timed("a", "csr_avx2_cpu", 0, 10), timed("a", "csr_plain", 1, 20),
                            timed("b", "csr_avx2_cpu", 0, 10), timed("b", "csr_plain", 1, 20)};
    expect(printed(cli_print_summary, means, 4), "Geometric means", "2.00");
}

static void disturbed_cases_do_not_count(void **state)
{
    record r[] = {timed("a", "csr_avx2_cpu", 0, 10), timed("a", "mkl_csr", 1, 20),
                  timed("b", "csr_avx2_cpu", 0, 10), timed("b", "mkl_csr", 1, 20),
                  timed("c", "csr_avx2_cpu", 0, 10), timed("c", "mkl_csr", 1, 90)};
    enum { COUNT = sizeof r / sizeof *r };
    expect(printed(cli_print_summary, r, COUNT), "3.30", "leave out");
    r[4].time.disturbed = r[5].time.disturbed = 1;
    expect(printed(cli_print_summary, r, COUNT), "The means leave out 2 of 6 cases, which other programs disturbed",
           "3.30");
    expect(printed(cli_print_summary, r, COUNT), "2.00", NULL);
    for (int i = 0; i < COUNT; i++) r[i].time.disturbed = 1;
    expect(printed(cli_print_summary, r, COUNT), "No mean is given: other programs disturbed all 6 cases", "Geometric");
    /* a disturbed peer is not compared with an undisturbed case */
    record mixed[] = {timed("a", "csr_avx2_cpu", 0, 10), timed("a", "mkl_csr", 1, 70),
                      timed("b", "csr_avx2_cpu", 0, 10)};
    mixed[1].time.disturbed = 1;
    expect(printed(cli_print_summary, mixed, 3), "leave out 1 of 3 cases", "7.00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(textbook_loop_is_no_peer),
        cmocka_unit_test(disturbed_cases_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
