/* What auto loses, on records whose figures are known. */
#include "bench/regret.h"
#include "records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static record make_record(const char *format, const char *kernel, double setup_us, double time_us)
{
    record r;
    record_init(&r);
    r.op = "spmv";
    r.type = "f64";
    r.peer = 0;
    r.deterministic = 1;
    r.setup_us = setup_us;
    r.upload_us = 0;
    r.time_us = time_us;
    r.spread_us = 0.1;
    RECORD_TEXT(r.format, format);
    RECORD_TEXT(r.kernel, kernel);
    RECORD_TEXT(r.device, "cpu");
    RECORD_TEXT(r.ordering, "none");
    return r;
}

static record make_peer(const char *kernel, double setup_us, double time_us)
{
    record r = make_record("csr", kernel, setup_us, time_us);
    r.peer = 1;
    return r;
}

/* csr takes 10 us and its set-up 20. */
static regret_choice make_choice(const char *matrix, int64_t calls, double setup_us, double time_us)
{
    regret_choice c = {.op = "spmv",
                       .type = "f64",
                       .index = "32/32",
                       .policy = "cost",
                       .calls = calls,
                       .taken = {.setup_us = setup_us, .time_us = time_us, .spread_us = 0.1},
                       .csr = {.setup_us = 20, .time_us = 10, .spread_us = 0.1},
                       .predicted_us = NAN,
                       .baseline_us = NAN,
                       .break_even = -1};
    RECORD_TEXT(c.matrix, matrix);
    RECORD_TEXT(c.device, "cpu");
    RECORD_TEXT(c.ordering, "none");
    RECORD_TEXT(c.format, "sell:c=16:sigma=512");
    RECORD_TEXT(c.kernel, "ours");
    RECORD_TEXT(c.csr_kernel, "csr_ours");
    return c;
}

/* One case of the choice among these records. */
static regret_case judged(const record *records, int count, const regret_choice *c)
{
    regret_report report = {0};
    assert_int_equal(regret_add(&report, records, count, c, 1), 1);
    const regret_case k = report.cases[0];
    regret_release(&report);
    return k;
}

static void losses(void **state)
{
    (void)state;
    const record records[] = {make_record("csr", "csr_ours", 20, 10), make_record("packed", "fast", 1000, 4),
                              make_record("sell:c=16:sigma=512", "ours", 205, 5)};
    /* 1: 205 over csr's 30; 100: 700 over 700 of itself, csr 1020, packed 1400; 1000: 5200 over 5000; many: 5 over 4 */
    static const struct {
        int64_t calls;
        double loss, over_csr, best_us;
        const char *best;
    } cases[] = {{1, 205.0 / 30, 205.0 / 30, 30, "csr_ours"},
                 {100, 1, 700.0 / 1020, 700, "ours"},
                 {1000, 1.04, 5200.0 / 10020, 5000, "fast"},
                 {0, 1.25, 0.5, 4, "fast"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const regret_choice c = make_choice("a", cases[i].calls, 200, 5);
        const regret_case k = judged(records, 3, &c);
        assert_near(k.loss, cases[i].loss, 1e-12);
        assert_near(k.over_csr, cases[i].over_csr, 1e-12);
        assert_near(k.best_us, cases[i].best_us, 1e-9);
        assert_string_equal(k.best_kernel, cases[i].best);
    }
}

/* Upload is in no cost: of 1000 us 900 are. */
static void upload_apart(void **state)
{
    (void)state;
    record records[] = {make_record("packed", "fast", 1000, 4)};
    records[0].upload_us = 900;
    regret_choice c = make_choice("a", 10, 300, 5);
    c.taken.upload_us = 100;
    const regret_case k = judged(records, 1, &c);
    assert_near(k.best_us, 120, 1e-9); /* csr's 20 + 100; the kernel's is 140 */
    assert_near(k.loss, 250.0 / 120, 1e-12);
    assert_near(regret_cost(&c.taken, 10), 250, 1e-12);
    assert_near(regret_cost(&c.taken, 0), 5, 1e-12);
}

/* None of these counts as the best: each would be with a time of 1. */
static void who_does_not_count(void **state)
{
    (void)state;
    record records[7];
    for (int i = 0; i < 7; i++) records[i] = make_record("coo", "other", 0, 1);
    records[0].deterministic = 0;
    records[1].peer = 1;
    records[2].status = RECORD_WRONG;
    records[3].status = RECORD_SKIPPED;
    records[4].fewer_threads = 1;
    RECORD_TEXT(records[5].device, "cuda");
    RECORD_TEXT(records[6].ordering, "rcm");
    regret_choice c = make_choice("a", 0, 200, 5);
    assert_near(judged(records, 7, &c).loss, 1, 0);
    records[0].deterministic = 1;
    assert_near(judged(records, 7, &c).loss, 5, 0);
    c.taken.time_us = NAN; /* not measured: no loss is told, and no sum counts it */
    assert_true(isnan(judged(records, 7, &c).loss));
}

static void statistics(void **state)
{
    (void)state;
    double values[] = {4, 1, 2}, twenty[21];
    for (int i = 0; i < 21; i++) twenty[i] = 21 - i;
    assert_near(regret_geometric_mean(values, 3), 2, 1e-12);
    assert_near(regret_percentile(values, 3, 0.5), 2, 0);
    assert_near(regret_percentile(values, 3, 0.95), 3.8, 1e-12);
    assert_near(regret_percentile(twenty, 21, 0.95), 20, 1e-12);
    assert_near(regret_percentile(values, 1, 0.95), 1, 0);
    assert_true(isnan(regret_geometric_mean(values, 0)) && isnan(regret_percentile(values, 0, 0.95)));
}

static void sums(void **state)
{
    (void)state;
    regret_report report = {0};
    const record best[] = {make_record("packed", "fast", 0, 4)};
    static const double times[] = {4, 8, 16}; /* losses 1, 2 and 4; 0.4, 0.8 and 1.6 over csr */
    static const char *const names[] = {"a", "b", "c"};
    int count;
    for (int i = 0; i < 3; i++) {
        regret_choice both[] = {make_choice(names[i], 0, 0, times[i]), make_choice(names[i], 0, 0, 4)};
        both[1].policy = "tree";
        assert_int_equal(regret_add(&report, best, 1, both, 2), 1);
    }
    regret_sum *list = regret_sums(&report, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].of->policy, "cost");
    assert_int_equal(list[0].cases, 3);
    assert_near(list[0].mean, 2, 1e-12);
    assert_near(list[0].percentile95, 3.8, 1e-12);
    assert_near(list[0].worst, 4, 1e-12);
    assert_string_equal(list[0].worst_matrix, "c");
    assert_near(list[0].csr_mean, 0.8, 1e-12);
    assert_near(list[0].csr_worst, 1.6, 1e-12);
    assert_string_equal(list[0].csr_worst_matrix, "c");
    assert_int_equal(list[0].csr_behind, 1);
    assert_near(list[1].mean, 1, 1e-12);
    free(list);
    regret_release(&report);
    assert_null(regret_sums(&report, &count));
    assert_int_equal(count, 0);
}

/* Ahead of one peer; behind another, but within the spread; behind a third, by more than 5 % and the spread. */
static void peers(void **state)
{
    (void)state;
    record records[] = {make_peer("slow", 0, 10), make_peer("near", 0, 4.5), make_peer("fast", 0, 4.5),
                        make_peer("close", 0, 4.8), make_peer("gone", 0, 1)};
    records[1].spread_us = 0.6; /* 0.5 apart */
    records[4].status = RECORD_SKIPPED;
    regret_report report = {0};
    int count;
    regret_choice c[] = {make_choice("a", 0, 0, 5), make_choice("a", 0, 0, 50)};
    c[1].policy = "tree"; /* which no peer is compared with */
    assert_int_equal(regret_add(&report, records, 5, c, 2), 1);
    c[0] = make_choice("b", 0, 0, 2.5);
    assert_int_equal(regret_add(&report, records, 1, c, 1), 1);
    regret_peer_sum *list = regret_peer_sums(&report, &count);
    assert_int_equal(count, 4);
    assert_string_equal(list[0].peer, "slow");
    assert_int_equal(list[0].cases, 2);
    assert_near(list[0].mean, sqrt(8), 1e-12); /* 2 and 4 */
    assert_near(list[0].least, 2, 1e-12);
    assert_string_equal(list[0].least_matrix, "a");
    static const int slower[] = {0, 0, 1, 0};
    for (int p = 0; p < 4; p++) assert_int_equal(list[p].slower, slower[p]);
    assert_near(list[2].least, 0.9, 1e-12);
    free(list);
    regret_release(&report);
}

/* A peer's set-up counts as ours does. */
static void peers_set_up(void **state)
{
    (void)state;
    const record peer = make_peer("dear", 895, 5);
    const regret_choice c = make_choice("a", 100, 500, 5);
    regret_report report = {0};
    assert_int_equal(regret_add(&report, &peer, 1, &c, 1), 1);
    assert_near(report.against[0].ratio, 1.395, 1e-12);
    assert_int_equal(report.against[0].slower, 0);
    regret_release(&report);
}

static void predictions(void **state)
{
    (void)state;
    regret_choice c = make_choice("a", 0, 500, 5); /* half of csr's time; pays after 100 */
    c.baseline_us = 20;
    c.predicted_us = 11; /* 0.55 of csr's: 1.1 times what it takes */
    c.break_even = 56;
    assert_near(regret_prediction_error(&c), 1.1, 1e-12);
    assert_int_equal(regret_break_even_is_right(&c), 0);
    c.break_even = 149;
    assert_int_equal(regret_break_even_is_right(&c), 1);
    c.break_even = -1; /* never */
    assert_int_equal(regret_break_even_is_right(&c), 0);
    RECORD_TEXT(c.device, "cuda"); /* where times themselves are predicted */
    assert_near(regret_prediction_error(&c), 2.2, 1e-12);
    c.taken.time_us = 9.5;
    assert_int_equal(regret_break_even_is_right(&c), -1);
    c.predicted_us = NAN;
    assert_true(isnan(regret_prediction_error(&c)));
}

static void sums_of_predictions(void **state)
{
    (void)state;
    static const double predicted[] = {11, 14, 22, 10}; /* 1.1, 1.4, 2.2 and, in csr, 0.5 times what it takes */
    regret_report report = {0};
    int count;
    for (int i = 0; i < 4; i++) {
        regret_choice c[] = {make_choice("a", 0, 500, 5), make_choice("a", 10, 500, 5)};
        c[0].baseline_us = 20;
        c[0].predicted_us = predicted[i];
        if (i == 3) c[0].taken.time_us = 10;
        if (i == 3) RECORD_TEXT(c[0].format, "csr");
        c[0].break_even = 100 * (i + 1);
        c[1].baseline_us = c[1].predicted_us = 5; /* not of many calls */
        assert_int_equal(regret_add(&report, NULL, 0, c, 2), 1);
    }
    regret_prediction *list = regret_predictions(&report, &count);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].cases, 4);
    assert_int_equal(list[0].within_15, 1);
    assert_int_equal(list[0].within_2, 3);
    assert_int_equal(list[0].others, 3);
    assert_int_equal(list[0].others_within_15, 1);
    assert_int_equal(list[0].others_within_2, 2);
    assert_int_equal(list[0].gains, 3);
    assert_int_equal(list[0].right, 1);
    free(list);
    regret_release(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses),       cmocka_unit_test(upload_apart), cmocka_unit_test(who_does_not_count),
        cmocka_unit_test(statistics),   cmocka_unit_test(sums),         cmocka_unit_test(peers),
        cmocka_unit_test(peers_set_up), cmocka_unit_test(predictions),  cmocka_unit_test(sums_of_predictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
