/* Every kernel on every family, type, index pair, alpha and beta, against the reference, in guarded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "arrays.h"
#include "families.h"
#include "formats/csr/csr.h"
#include "ops/plan.h"
#include "reference.h"

#include "spry/spry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const form forms[] = {
    {"CSR, before a closed page", SPRY_CSR, SPRY_NOT_KNOWN, 0, AT_END, 0, INSTRUMENTED},
    {"CSR, behind a closed page", SPRY_CSR, SPRY_KNOWN_YES, 0, AT_START, 100, 1},
    {"CSR, exact blocks", SPRY_CSR, SPRY_NOT_KNOWN, 0, ON_HEAP, 0, !INSTRUMENTED},
    {"CSR, one call", SPRY_CSR, SPRY_NOT_KNOWN, 0, ON_HEAP, 1, 1},
    {"COO, known to be sorted", SPRY_COO, SPRY_KNOWN_YES, 0, AT_END, 0, 1},
    {"COO, sorted exact blocks", SPRY_COO, SPRY_KNOWN_YES, 0, ON_HEAP, 0, 1},
    {"COO, not known to be sorted", SPRY_COO, SPRY_NOT_KNOWN, 0, AT_START, 0, 1},
    {"COO, shuffled", SPRY_COO, SPRY_KNOWN_NO, 0, ON_HEAP, 0, 1},
    {"CSC", SPRY_CSC, SPRY_NOT_KNOWN, 0, AT_END, 0, 1},
    {"CSR pattern", SPRY_CSR, SPRY_NOT_KNOWN, 1, AT_END, 0, 1},
    {"COO pattern", SPRY_COO, SPRY_KNOWN_YES, 1, AT_START, 0, 1},
    {"CSC pattern", SPRY_CSC, SPRY_NOT_KNOWN, 1, ON_HEAP, 0, 1},
};
enum { FORMS = sizeof forms / sizeof *forms };

static const struct {
    double alpha, beta;
} scalings[] = {{1, 0}, {-1.5, 0.75}, {1, 1}, {2, 0}, {0, 0.5}, {0, 0}, {1, -1}, {0.3, 2}};
enum { SCALINGS = sizeof scalings / sizeof *scalings, BRIEF = 2 };

/* What is being tested, for the message of a failure. */
typedef struct trial {
    const family *f;
    const form *how;
    const char *kernel;
    spry_type type;
    int pair;
} trial;

static const char *describe(const trial *t)
{
    static char text[256];
    snprintf(text, sizeof text, "%s on %s (%s), %s, %s", t->kernel ? t->kernel : "default kernel", t->f->name,
             t->how->name, spry_type_name(t->type), pair_names[t->pair]);
    return text;
}

static spry_context *context_of(int threads)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.threads = threads;
    spry_context *context = NULL;
    assert_int_equal(spry_context_create(&context, &options, NULL), SPRY_OK);
    return context;
}

static spry_plan *plan_of(spry_context *context, const trial *t, const given *g)
{
    spry_error err = {0};
    spry_matrix *A = NULL;
    spry_plan *plan = NULL;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.kernel = t->kernel;
    options.vector_type = t->type;
    options.expected_calls = t->how->expected_calls;
    options.allow_nondeterministic = 1;
    if (spry_matrix_create(context, &A, &g->a, &err) != SPRY_OK) fail_msg("%s: %s", describe(t), err.message);
    if (spry_plan_spmv(context, &plan, A, &options, &err) != SPRY_OK) fail_msg("%s: %s", describe(t), err.message);
    spry_matrix_destroy(A); /* the plan keeps what it needs */
    return plan;
}

static spry_vector vector_of(const guarded *g, spry_type type)
{
    int64_t length = (int64_t)(g->bytes / spry_type_bytes(type));
    return (spry_vector){g->data, length, type, 1, length, 0};
}

static void run(const trial *t, const spry_plan *plan, double alpha, const guarded *x, double beta, const guarded *y)
{
    float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
    int f64 = t->type == SPRY_F64;
    spry_error err = {0};
    spry_status status = spry_plan_run(plan, f64 ? (void *)&alpha : &alpha_f32, vector_of(x, t->type),
                                       f64 ? (void *)&beta : &beta_f32, vector_of(y, t->type), NULL, &err);
    if (status != SPRY_OK) fail_msg("%s: %s", describe(t), err.message);
}

/* What y holds before a run: numbers, or NaN where it must not be read. */
static void fill_y(const guarded *y, spry_type type, const double *before, double beta)
{
    if (beta == 0)
        memset(y->data, 0xff, y->bytes); /* NaN */
    else
        for (size_t i = 0; i < y->bytes / spry_type_bytes(type); i++) set_number(y->data, type, (int64_t)i, before[i]);
}

/* Everything that one family and type is tested with. */
typedef struct material {
    family f;
    spry_type type;
    double *values, *x_numbers, *y_numbers;
    reference with_values, pattern;
    guarded x[3], before; /* x in each placement */
} material;

static void set_up(material *s, int number, spry_type type)
{
    s->f = family_make(number);
    s->type = type;
    s->values = random_numbers(s->f.nnz, type, 1000 + (uint64_t)number);
    s->x_numbers = random_numbers(s->f.cols, type, 2000 + (uint64_t)number);
    s->y_numbers = random_numbers(s->f.rows, type, 3000 + (uint64_t)number);
    s->with_values = reference_make(&s->f, s->values, s->x_numbers, 0);
    s->pattern = reference_make(&s->f, NULL, s->x_numbers, 0);
    for (int p = 0; p < 3; p++) {
        s->x[p] = vector_make(s->x_numbers, s->f.cols, type, (placement)p);
        guarded_read_only(&s->x[p]);
    }
    s->before = vector_make(s->y_numbers, s->f.rows, type, ON_HEAP);
}

static void clear(material *s)
{
    for (int p = 0; p < 3; p++) guarded_free(&s->x[p]);
    guarded_free(&s->before);
    reference_free(&s->with_values);
    reference_free(&s->pattern);
    free(s->values);
    free(s->x_numbers);
    free(s->y_numbers);
    family_free(&s->f);
}

static int x_unchanged(const material *s, placement p)
{
    for (int64_t j = 0; j < s->f.cols; j++)
        if (number_at(s->x[p].data, s->type, j) != s->x_numbers[j]) return 0;
    return guarded_intact(&s->x[p]);
}

static void check_plan(const material *s, const trial *t, const spry_plan *plan, int first_scaling)
{
    const reference *r = t->how->pattern ? &s->pattern : &s->with_values;
    placement place = t->how->place;
    guarded y = guarded_make((size_t)s->f.rows * spry_type_bytes(s->type), place);
    for (int n = first_scaling; n < (t->how->brief ? BRIEF : SCALINGS); n++) {
        double alpha = scalings[n].alpha, beta = scalings[n].beta;
        if (t->type == SPRY_F32) alpha = (double)(float)alpha;
        fill_y(&y, s->type, s->y_numbers, beta);
        run(t, plan, alpha, &s->x[place], beta, &y);
        comparison c = reference_compare(r, s->type, alpha, beta, s->before.data, y.data);
        if (c.wrong > 0)
            fail_msg("%s, alpha %g, beta %g: %lld rows wrong, the worst %lld of %lld entries: %g of the bound",
                     describe(t), alpha, beta, (long long)c.wrong, (long long)c.worst_row,
                     (long long)r->entries[c.worst_row], c.worst);
        if (!guarded_intact(&y)) fail_msg("%s: wrote beside y", describe(t));
    }
    if (!x_unchanged(s, place)) fail_msg("%s: x was changed", describe(t));
    guarded_free(&y);
}

/* ---- the tests ------------------------------------------------------------------------------------ */

static spry_kernel_info kernel_info(const spry_context *context, int index)
{
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    assert_int_equal(spry_kernel_get_info(context, index, &info, NULL), SPRY_OK);
    return info;
}

/* Every kernel that can run here, on one form of a family. */
static void check_kernels(spry_context *context, const material *s, const form *how, int pair)
{
    given g = given_make(&s->f, s->values, how, s->type, pair);
    for (int k = 0; k < spry_kernel_count(); k++) {
        spry_kernel_info kernel = kernel_info(context, k);
        if (!kernel.available) continue;
        trial t = {&s->f, how, kernel.name, s->type, pair};
        spry_plan *plan = plan_of(context, &t, &g);
        check_plan(s, &t, plan, 0);
        spry_plan_destroy(plan);
    }
    if (!given_intact(&g)) fail_msg("%s (%s): wrote beside the matrix", s->f.name, how->name);
    given_free(&g);
}

static void every_kernel_on_every_family(void **state)
{
    (void)state;
    spry_context *contexts[] = {context_of(1), context_of(2)};
    for (int k = 0; k < spry_kernel_count(); k++) {
        spry_kernel_info kernel = kernel_info(contexts[0], k);
        if (!kernel.available) print_message("skipped: %s, %s\n", kernel.name, kernel.reason);
    }
    for (int number = 0; number < family_count(); number = family_next(number, INSTRUMENTED))
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            material s;
            set_up(&s, number, (spry_type)type);
            for (int pair = 0; pair < 3; pair++)
                for (int h = 0; h < FORMS; h++)
                    if (!INSTRUMENTED || (number + h + type) % 3 == pair)
                        check_kernels(contexts[forms[h].brief], &s, &forms[h], pair);
            clear(&s);
        }
    for (int c = 0; c < 2; c++) {
        assert_int_equal(spry_context_bytes(contexts[c]), 0);
        spry_context_destroy(contexts[c]);
    }
}

/* Millions of rows, where kernels may write y around the cache: aligned and not, with the same bits for any threads. */
static void large_y(void **state)
{
    (void)state;
    for (int number = family_count(); number < family_count() + family_large_count(); number++)
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            material s;
            set_up(&s, number, (spry_type)type);
            given g = given_make(&s.f, s.values, &forms[0], s.type, 0);
            guarded first = guarded_make((size_t)s.f.rows * spry_type_bytes(s.type), ON_HEAP);
            for (int k = 0; k < spry_kernel_count(); k++)
                for (int threads = 1; threads <= 3; threads += 2) {
                    spry_context *context = context_of(threads);
                    spry_kernel_info kernel = kernel_info(context, k);
                    for (int p = 0; kernel.available && p < 3; p += 2) {
                        trial t = {&s.f, &forms[p], kernel.name, s.type, 0};
                        spry_plan *plan = plan_of(context, &t, &g);
                        guarded y = guarded_make(first.bytes, forms[p].place);
                        fill_y(&y, s.type, s.y_numbers, 0);
                        run(&t, plan, 1, &s.x[forms[p].place], 0, &y);
                        if (threads == 1 && p == 0) {
                            memcpy(first.data, y.data, y.bytes);
                            comparison c = reference_compare(&s.with_values, s.type, 1, 0, NULL, y.data);
                            if (c.wrong > 0) fail_msg("%s: %lld rows wrong", describe(&t), (long long)c.wrong);
                        }
                        if (memcmp(first.data, y.data, y.bytes) != 0) fail_msg("%s: other bits", describe(&t));
                        if (!guarded_intact(&y)) fail_msg("%s: wrote beside y", describe(&t));
                        guarded_free(&y);
                        spry_plan_destroy(plan);
                    }
                    spry_context_destroy(context);
                }
            guarded_free(&first);
            given_free(&g);
            clear(&s);
        }
}

/* The families do what they are there for: rows in runs and rows in pieces are really met. */
static void families_hold_what_they_say(void **state)
{
    (void)state;
    spry_context *context = context_of(2);
    for (int number = 0; number < family_count(); number = family_next(number, INSTRUMENTED)) {
        family f = family_make(number);
        double *values = random_numbers(f.nnz, SPRY_F64, 1);
        given g = given_make(&f, values, &forms[0], SPRY_F64, 0);
        trial t = {&f, &forms[0], "csr_reference_cpu", SPRY_F64, 0};
        spry_plan *plan = plan_of(context, &t, &g);
        const spryi_csr *s = plan->storage;
        if (f.structured && !(s->structured > 0)) fail_msg("%s: %g of the entries in runs", f.name, s->structured);
        if (f.pieces && !(s->piece_count > 0)) fail_msg("%s: %lld pieces", f.name, (long long)s->piece_count);
        spry_plan_destroy(plan);
        given_free(&g);
        free(values);
        family_free(&f);
    }
    spry_context_destroy(context);
}

/* Contexts of 1, 2 and 5 threads, each twice. */
static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 5};
    for (int number = 0; number < family_count(); number = family_next(number, INSTRUMENTED))
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            if (INSTRUMENTED && (number + type) % 2 == 0) continue;
            material s;
            set_up(&s, number, (spry_type)type);
            size_t bytes = (size_t)s.f.rows * spry_type_bytes(s.type);
            guarded y = guarded_make(bytes, ON_HEAP), first = guarded_make(bytes, ON_HEAP);
            given g = given_make(&s.f, s.values, &forms[0], s.type, number % 3);
            for (int k = 0; k < spry_kernel_count(); k++)
                for (int c = 0; c < 3; c++) {
                    spry_context *context = context_of(threads[c]);
                    spry_kernel_info kernel = kernel_info(context, k);
                    trial t = {&s.f, &forms[0], kernel.name, s.type, number % 3};
                    spry_plan *plan = kernel.available && kernel.deterministic ? plan_of(context, &t, &g) : NULL;
                    for (int again = 0; plan && again < 2; again++) {
                        fill_y(&y, s.type, s.y_numbers, 0.75);
                        run(&t, plan, -1.5, &s.x[AT_END], 0.75, &y);
                        if (c == 0 && again == 0)
                            memcpy(first.data, y.data, bytes);
                        else if (memcmp(first.data, y.data, bytes) != 0)
                            fail_msg("%s: other bits at %d threads, run %d", describe(&t), threads[c], again);
                    }
                    spry_plan_destroy(plan);
                    spry_context_destroy(context);
                }
            given_free(&g);
            guarded_free(&first);
            guarded_free(&y);
            clear(&s);
        }
}

/* Inf and NaN in every x that no entry reads: the same bits as without. */
static void unused_x_does_not_matter(void **state)
{
    (void)state;
    spry_context *context = context_of(2);
    int64_t poisoned = 0;
    for (int number = 0; number < family_count(); number = family_next(number, INSTRUMENTED))
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            if (INSTRUMENTED && (number + type) % 2 == 0) continue;
            material s;
            set_up(&s, number, (spry_type)type);
            guarded bad = vector_make(s.x_numbers, s.f.cols, s.type, AT_END);
            char *used = calloc((size_t)s.f.cols + 1, 1);
            for (int64_t k = 0; k < s.f.nnz; k++) used[s.f.columns[k]] = 1;
            for (int64_t j = 0; j < s.f.cols; j++) {
                if (used[j]) continue;
                set_number(bad.data, s.type, j, j % 3 == 0 ? NAN : j % 3 == 1 ? INFINITY : -INFINITY);
                poisoned++;
            }
            free(used);
            size_t bytes = (size_t)s.f.rows * spry_type_bytes(s.type);
            guarded y = guarded_make(bytes, ON_HEAP), clean = guarded_make(bytes, ON_HEAP);
            for (int h = 0; h < 9; h += 4) { /* CSR, sorted COO, CSC */
                given g = given_make(&s.f, s.values, &forms[h], s.type, number % 3);
                for (int k = 0; k < spry_kernel_count(); k++) {
                    spry_kernel_info kernel = kernel_info(context, k);
                    if (!kernel.available) continue;
                    trial t = {&s.f, &forms[h], kernel.name, s.type, number % 3};
                    spry_plan *plan = plan_of(context, &t, &g);
                    run(&t, plan, 1, &s.x[AT_END], 0, &clean);
                    run(&t, plan, 1, &bad, 0, &y);
                    if (memcmp(clean.data, y.data, bytes) != 0) fail_msg("%s: unused x was used", describe(&t));
                    spry_plan_destroy(plan);
                }
                given_free(&g);
            }
            guarded_free(&clean);
            guarded_free(&y);
            guarded_free(&bad);
            clear(&s);
        }
    assert_true(poisoned > 10000);
    spry_context_destroy(context);
}

/* Three columns with gaps: each as if alone, and the gaps untouched. */
static void several_columns(void **state)
{
    (void)state;
    enum { COLUMNS = 3, X_GAP = 2, Y_GAP = 3 };
    spry_context *context = context_of(2);
    for (int number = 0; number < family_count(); number += 2) {
        spry_type type = number % 4 == 0 ? SPRY_F32 : SPRY_F64;
        material s;
        set_up(&s, number, type);
        const size_t size = spry_type_bytes(type);
        const int64_t m = s.f.rows, n = s.f.cols, x_stride = n + X_GAP, y_stride = m + Y_GAP;
        /* ends with the last column's last entry, not with its gap */
        double *numbers = random_numbers(x_stride * COLUMNS, type, 7);
        guarded xs = vector_make(numbers, x_stride * (COLUMNS - 1) + n, type, AT_END);
        guarded ys = guarded_make((size_t)(y_stride * (COLUMNS - 1) + m) * size, AT_END);
        guarded y = guarded_make((size_t)m * size, ON_HEAP);
        given g = given_make(&s.f, s.values, &forms[0], type, 0);
        for (int k = 0; k < spry_kernel_count(); k++) {
            spry_kernel_info kernel = kernel_info(context, k);
            if (!kernel.available) continue;
            trial t = {&s.f, &forms[0], kernel.name, type, 0};
            spry_plan *plan = plan_of(context, &t, &g);
            memset(ys.data, 0xff, ys.bytes);
            spry_vector x_all = {xs.data, n, type, COLUMNS, x_stride, 0},
                        y_all = {ys.data, m, type, COLUMNS, y_stride, 0};
            assert_int_equal(spry_plan_run(plan, NULL, x_all, NULL, y_all, NULL, NULL), SPRY_OK);
            for (int64_t c = 0; c < COLUMNS; c++) {
                guarded x = vector_make(numbers + c * x_stride, n, type, ON_HEAP);
                run(&t, plan, 1, &x, 0, &y);
                const char *column = (const char *)ys.data + (size_t)(c * y_stride) * size;
                if (memcmp(column, y.data, y.bytes) != 0) fail_msg("%s: column %d differs", describe(&t), (int)c);
                for (size_t b = 0; c + 1 < COLUMNS && b < Y_GAP * size; b++)
                    if (column[(size_t)m * size + b] != (char)0xff) fail_msg("%s: wrote between columns", describe(&t));
                guarded_free(&x);
            }
            if (!guarded_intact(&ys)) fail_msg("%s: wrote before the columns", describe(&t));
            spry_plan_destroy(plan);
        }
        given_free(&g);
        guarded_free(&y);
        guarded_free(&ys);
        guarded_free(&xs);
        free(numbers);
        clear(&s);
    }
    spry_context_destroy(context);
}

/* Under each SPRY_SIMD: the default kernel of each format is right, and none above the level can be had. */
static void every_simd_level(void **state)
{
    (void)state;
    static const char *const levels[] = {"portable", "avx2", "avx512"};
    static const char *const formats[] = {NULL, "csr", "coo"};
    for (int l = 0; l < 3; l++) {
        assert_int_equal(setenv("SPRY_SIMD", levels[l], 1), 0);
        spry_context *context = context_of(2);
        for (int number = 0; number < family_count(); number = family_next(number, INSTRUMENTED)) {
            spry_type type = number % 2 == 0 ? SPRY_F32 : SPRY_F64;
            material s;
            set_up(&s, number, type);
            given g = given_make(&s.f, s.values, &forms[0], type, number % 3);
            spry_matrix *A = NULL;
            assert_int_equal(spry_matrix_create(context, &A, &g.a, NULL), SPRY_OK);
            for (int f = 0; f < 3; f++) {
                spry_spmv_options options = SPRY_INIT(spry_spmv_options);
                options.format = formats[f];
                spry_plan *plan = NULL;
                assert_int_equal(spry_plan_spmv(context, &plan, A, &options, NULL), SPRY_OK);
                spry_plan_info info = SPRY_INIT(spry_plan_info);
                assert_int_equal(spry_plan_get_info(plan, &info, NULL), SPRY_OK);
                if (l == 0 && strstr(info.kernel, "avx")) fail_msg("%s at level portable", info.kernel);
                if (l == 1 && strstr(info.kernel, "avx512")) fail_msg("%s at level avx2", info.kernel);
                trial t = {&s.f, &forms[0], info.kernel, type, number % 3};
                check_plan(&s, &t, plan, 1);
                spry_plan_destroy(plan);
            }
            spry_matrix_destroy(A);
            given_free(&g);
            clear(&s);
        }
        spry_context_destroy(context);
    }
    assert_int_equal(unsetenv("SPRY_SIMD"), 0);
}

/* The judge of all these tests must see what is wrong. */
static void comparator_rejects(void **state)
{
    (void)state;
    for (int number = 0; number < family_count(); number = family_next(number, INSTRUMENTED))
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            material s;
            set_up(&s, number, (spry_type)type);
            const reference *r = &s.with_values;
            const double alpha = 2, beta = -0.5;
            guarded y = vector_make(s.y_numbers, s.f.rows, s.type, ON_HEAP);
            for (int64_t i = 0; i < s.f.rows; i++)
                set_number(y.data, s.type, i, (double)reference_value(r, i, alpha, beta, s.y_numbers[i]));
            comparison c = reference_compare(r, s.type, alpha, beta, s.before.data, y.data);
            assert_int_equal(c.wrong, 0);
            for (int64_t i = 0; i < s.f.rows; i += 1 + s.f.rows / 3) {
                double right = number_at(y.data, s.type, i), before = s.y_numbers[i];
                double bound = (double)reference_bound(r, s.type, i, alpha, beta, before);
                const double bad[] = {right + 3 * bound, right - 3 * bound, NAN, INFINITY, before};
                for (int b = 0; b < 5; b++) {
                    if (b == 4 && fabs(before - right) < 2 * bound) continue; /* by chance it is no error */
                    set_number(y.data, s.type, i, bad[b]);
                    c = reference_compare(r, s.type, alpha, beta, s.before.data, y.data);
                    if (c.wrong != 1 || c.worst_row != i)
                        fail_msg("%s, row %lld: %g instead of %g was not seen", s.f.name, (long long)i, bad[b], right);
                }
                set_number(y.data, s.type, i, right);
            }
            guarded_free(&y);
            clear(&s);
        }
}

/* Writing one entry beside an array is seen, before it and behind. */
static void guards_see_writes(void **state)
{
    (void)state;
    guarded end = guarded_make(24, AT_END), start = guarded_make(24, AT_START);
    assert_true(guarded_intact(&end) && guarded_intact(&start));
    ((volatile char *)end.data)[-1] = 0;
    ((volatile char *)start.data)[24] = 0;
    assert_false(guarded_intact(&end));
    assert_false(guarded_intact(&start));
    guarded_free(&end);
    guarded_free(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparator_rejects),
        cmocka_unit_test(guards_see_writes),
        cmocka_unit_test(families_hold_what_they_say),
        cmocka_unit_test(every_kernel_on_every_family),
        cmocka_unit_test(large_y),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(unused_x_does_not_matter),
        cmocka_unit_test(several_columns),
        cmocka_unit_test(every_simd_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
