/* Every kernel on every family, type, index pair, alpha and beta, compared with the reference, in guarded memory. */
#include "kernel_tests.h"

#include "catalogue/catalogue.h"
#include "formats/csr/csr_driver.h"
#include "formats/packed/packed.h"
#include "spry/matrix.h"
#include "spry/tune.h"
#include "trials.h"

spry_op tested_op;
const char *tested_device = "cpu";
int tested_briefly = INSTRUMENTED || !TEST_FULL;

/* Returns the number of index pairs of the device: CUDA has no 64-bit columns. */
static int pair_count(void)
{
    return strcmp(tested_device, "cuda") == 0 ? 2 : 3;
}

static int is_tested(const spry_kernel_info *kernel)
{
    return strcmp(kernel->device_kind, tested_device) == 0 && kernel_offers(kernel, tested_op);
}

/* Returns whether the format is also a layout of matrices. */
static int is_own(const spry_kernel_info *kernel)
{
    return strcmp(kernel->format, "csr") == 0 || strcmp(kernel->format, "coo") == 0 ||
           strcmp(kernel->format, "csc") == 0;
}

/*
 * Returns whether the kernel runs on this form. Kernels of csr, coo and csc for plain products run on the first form
 * with all index pairs and types, and on each other form with one pair and type by rotation. All other kernels, and
 * transposed products, run on one form with about half of the types and pairs, because their input is the same CSR for
 * every form. Brief and sampled tests run fewer combinations.
 */
static int takes_part(const spry_kernel_info *kernel, int k, const material *s, int number, int pair, int h)
{
    const int type = s->type == SPRY_F64;
    if (!is_own(kernel) || tested_op == SPRY_TRANSPOSE)
        return tested_briefly
                   ? pair == number / 3 % 3 && h == (k + number / 3) % FORMS && (k + number / 4) % (2 + SAMPLED) == 0
                   : (number + 3 * type + pair + h) % FORMS == 0 && (k + number + type + pair) % 2 == 0;
    if (tested_briefly) return (number + (int)s->type + h + k) % (12 + 12 * SAMPLED) == pair;
    return !forms[h].brief || (number + 3 * type + h) % FORMS == pair;
}

/*
 * Returns the next family for tests other than every_kernel_on_every_family. These tests use every family, or about a
 * third of the families if tested_briefly.
 */
static int next_met(int number)
{
    number = family_next(number, tested_briefly);
    while (tested_briefly && number / 4 % 3 != 0) number = family_next(number, 1);
    return number;
}

/*
 * Returns whether tests other than every_kernel_on_every_family run this kernel on this family. A family is tested with
 * half of the kernels, with an eighth if tested_briefly, and with a sixteenth if also SAMPLED.
 */
static int is_due(int kernel, int number)
{
    const int rotations = tested_briefly ? 8 + 8 * SAMPLED : 2;
    return (kernel + number / 4) % rotations == 0; /* tests choose types by number % 4 */
}

/* If rows plus entries exceed this number, most forms run two pairs of alpha and beta instead of all. */
enum { LARGE = 60000 };

static int tried[256]; /* trials of each kernel */

/*
 * Returns the kernel's name, without a parameter or with one. `rotation` selects the parameter and its value: one of
 * its words, or its least or greatest number.
 */
static const char *rotated_name(char *text, size_t size, const char *name, int rotation)
{
    const spryi_kernel *kernel = spryi_find_kernel(name);
    int choices = 0;
    for (int pass = 0; pass < 2; pass++) { /* counts, then finds */
        int at = 0;
        if (pass == 1 && rotation % (choices + 1) == 0) break;
        for (int p = 0; kernel->parameters.list && kernel->parameters.list[p].name; p++) {
            const spryi_parameter *of = kernel->parameters.list + p;
            const char *const *words = kernel->parameters.words[p];
            for (int w = 0; words ? words[w] != NULL : w < 2; w++) {
                if (pass == 0) choices++;
                if (pass == 0 || ++at != rotation % (choices + 1)) continue;
                if (words)
                    snprintf(text, size, "%s:%s=%s", name, of->name, words[w]);
                else
                    snprintf(text, size, "%s:%s=%lld", name, of->name, (long long)(w == 0 ? of->least : of->most));
                return text;
            }
        }
    }
    return name;
}

/* Runs all available kernels that takes_part selects on one form of a family. */
static void check_kernels(spry_context *context, const material *s, int number, int pair, int h)
{
    const form *how = &forms[h];
    const int large = s->f.rows + s->f.nnz > LARGE, in_full = (number + (int)s->type + pair + h) % FORMS == 0;
    int brief = (how->brief || large) && !in_full, made = 0;
    given g;
    for (int k = 0; k < spmv_kernel_count(); k++) {
        spry_kernel_info kernel = kernel_info(context, k);
        if (!is_tested(&kernel) || !takes_part(&kernel, k, s, number, pair, h)) continue;
        if (!made++) g = given_make(&s->f, s->values, how, s->type, pair);
        char text[96];
        trial t = {&s->f, how, rotated_name(text, sizeof text, kernel.name, number + h), s->type, pair, tested_op};
        spry_spmv_plan *plan = plan_of(context, &t, &g);
        if (plan) check_plan(s, &t, plan, 0, brief);
        if (plan) tried[k]++;
        spry_spmv_plan_destroy(plan);
    }
    if (!made) return;
    if (!given_intact(&g)) fail_msg("%s (%s): wrote beside the matrix", s->f.name, how->name);
    given_free(&g);
}

void every_kernel_on_every_family(void **state)
{
    spry_context *contexts[] = {context_of(1), context_of(2)};
    for (int k = 0; k < spmv_kernel_count(); k++) {
        spry_kernel_info kernel = kernel_info(contexts[0], k);
        if (!kernel.available) print_message("skipped: %s, %s\n", kernel.name, kernel.reason);
    }
    for (int number = 0; number < family_count(); number = family_next(number, tested_briefly))
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            if (tested_briefly && (number + type) % (4 + 4 * SAMPLED) != 0) continue;
            material s;
            set_up(&s, number, (spry_type)type, tested_op);
            for (int pair = 0; pair < pair_count(); pair++)
                for (int h = 0; h < FORMS; h++) check_kernels(contexts[forms[h].brief], &s, number, pair, h);
            clear(&s);
        }
    for (int k = 0; k < spmv_kernel_count(); k++) {
        spry_kernel_info kernel = kernel_info(contexts[0], k);
        if (is_tested(&kernel) && tried[k] < (tested_briefly ? 4 : family_count()))
            fail_msg("%s: only %d trials; is everything refused?", kernel.name, tried[k]);
    }
    for (int c = 0; c < 2; c++) {
        assert_int_equal(context_bytes(contexts[c]), 0);
        spry_context_destroy(contexts[c]);
    }
}

/* Checks that y = op(A)*x is within the bound, for a kernel whose result may differ from run to run. */
static void check_bound(const reference *r, const trial *t, const void *y)
{
    comparison c = reference_compare(r, t->type, 1, 0, NULL, y);
    if (c.wrong > 0) fail_msg("%s: %lld rows wrong", describe(t), (long long)c.wrong);
}

/* Returns whether kernels of the format may use non-temporal stores for y. Brief tests use only AVX-512 kernels. */
static int may_stream(const spry_kernel_info *kernel)
{
    if (tested_briefly && !strstr(kernel->name, "avx512")) return 0;
    return strcmp(kernel->format, "csr") == 0 || strcmp(kernel->format, "packed") == 0;
}

/*
 * Runs the kernels selected by may_stream on millions of rows, with aligned and with unaligned y. Results must be
 * bitwise equal for all thread counts.
 */
void large_y(void **state)
{
    spry_context *contexts[] = {context_of(1), context_of(3)};
    for (int number = family_count(); number < family_count() + family_large_count(); number++)
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            /* One type for each matrix. Brief and transposed tests use only the second: A^T x of the first is short. */
            const int second = number % 2 == 1;
            if ((number + type) % 2 == 0 || ((tested_briefly || tested_op == SPRY_TRANSPOSE) && !second)) continue;
            material s;
            set_up(&s, number, (spry_type)type, tested_op);
            given g = given_make(&s.f, s.values, &forms[0], s.type, 0);
            guarded first = guarded_make((size_t)s.y_length * spry_type_bytes(s.type), ON_HEAP);
            assert_true(first.bytes >= SPRYI_STREAM_BYTES && first.bytes >= SPRYI_PACKED_STREAM_BYTES);
            for (int k = 0; k < spmv_kernel_count(); k++)
                for (int c = 0; c < 2; c++) {
                    spry_kernel_info kernel = kernel_info(contexts[c], k);
                    const int takes = is_tested(&kernel) && may_stream(&kernel);
                    for (int p = 0; takes && p < 3; p += 2) {
                        if (SAMPLED && (c == 0 || p / 2 != k % 2)) continue; /* placements rotate */
                        trial t = {&s.f, &forms[p], kernel.name, s.type, 0, tested_op};
                        spry_spmv_plan *plan = plan_of(contexts[c], &t, &g);
                        if (!plan) continue;
                        guarded y = guarded_make(first.bytes, forms[p].place);
                        fill_y(&y, s.type, s.y_numbers, 0);
                        run(&t, plan, 1, &s.x[forms[p].place], 0, &y);
                        int is_first = SAMPLED || (c == 0 && p == 0);
                        if (is_first) memcpy(first.data, y.data, y.bytes);
                        if (is_first || !kernel.deterministic) check_bound(&s.with_values, &t, y.data);
                        if (kernel.deterministic && memcmp(first.data, y.data, y.bytes) != 0)
                            fail_msg("%s: other bits", describe(&t));
                        if (!guarded_intact(&y)) fail_msg("%s: wrote beside y", describe(&t));
                        guarded_free(&y);
                        spry_spmv_plan_destroy(plan);
                    }
                }
            guarded_free(&first);
            given_free(&g);
            clear(&s);
        }
    for (int c = 0; c < 2; c++) spry_context_destroy(contexts[c]);
}

/* Runs contexts of 1, 2 and 5 threads twice each. */
void same_bits_for_any_number_of_threads(void **state)
{
    static const int threads[] = {1, 2, 5};
    spry_context *contexts[3];
    for (int c = 0; c < 3; c++) contexts[c] = context_of(threads[c]);
    for (int number = 0; number < family_count(); number = next_met(number))
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            if ((number + type) % 2 == 0) continue; /* one type for each family */
            material s;
            set_up(&s, number, (spry_type)type, tested_op);
            size_t bytes = (size_t)s.y_length * spry_type_bytes(s.type);
            guarded y = guarded_make(bytes, ON_HEAP), first = guarded_make(bytes, ON_HEAP);
            given g = given_make(&s.f, s.values, &forms[0], s.type, number % pair_count());
            for (int k = 0; k < spmv_kernel_count(); k++)
                for (int c = 0; c < 3; c++) {
                    spry_kernel_info kernel = kernel_info(contexts[c], k);
                    trial t = {&s.f, &forms[0], kernel.name, s.type, number % pair_count(), tested_op};
                    spry_spmv_plan *plan = is_due(k, number) && is_tested(&kernel) && kernel.deterministic
                                               ? plan_of(contexts[c], &t, &g)
                                               : NULL;
                    for (int again = 0; plan && again < 2; again++) {
                        fill_y(&y, s.type, s.y_numbers, 0.75);
                        run(&t, plan, -1.5, &s.x[AT_END], 0.75, &y);
                        if (c == 0 && again == 0)
                            memcpy(first.data, y.data, bytes);
                        else if (memcmp(first.data, y.data, bytes) != 0)
                            fail_msg("%s: other bits at %d threads, run %d", describe(&t), threads[c], again);
                    }
                    spry_spmv_plan_destroy(plan);
                }
            given_free(&g);
            guarded_free(&first);
            guarded_free(&y);
            clear(&s);
        }
    for (int c = 0; c < 3; c++) spry_context_destroy(contexts[c]);
}

/* Sets used[j] to 1 if an entry reads x_j. */
static void mark_used(const family *f, char *used)
{
    for (int64_t i = 0; i < f->rows; i++)
        for (int64_t k = f->offsets[i]; k < f->offsets[i + 1]; k++)
            used[tested_op == SPRY_TRANSPOSE ? i : f->columns[k]] = 1;
}

/* Sets every unused x to Inf or NaN. The results must be bitwise equal to the results with finite x. */
void unused_x_does_not_matter(void **state)
{
    spry_context *context = context_of(2);
    int64_t poisoned = 0;
    for (int number = 0; number < family_count(); number = next_met(number))
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            if ((number + type) % 2 == 0) continue; /* one type for each family */
            material s;
            set_up(&s, number, (spry_type)type, tested_op);
            guarded bad = vector_make(s.x_numbers, s.x_length, s.type, AT_END);
            char *used = calloc((size_t)s.x_length + 1, 1);
            mark_used(&s.f, used);
            for (int64_t j = 0; j < s.x_length; j++) {
                if (used[j]) continue;
                set_number(bad.data, s.type, j, j % 3 == 0 ? NAN : j % 3 == 1 ? INFINITY : -INFINITY);
                poisoned++;
            }
            free(used);
            size_t bytes = (size_t)s.y_length * spry_type_bytes(s.type);
            guarded y = guarded_make(bytes, ON_HEAP), clean = guarded_make(bytes, ON_HEAP);
            for (int h = 0; h < 9; h += 4) { /* CSR, sorted COO, CSC */
                given g = given_make(&s.f, s.values, &forms[h], s.type, number % pair_count());
                for (int k = 0; k < spmv_kernel_count(); k++) {
                    spry_kernel_info kernel = kernel_info(context, k);
                    if (!is_tested(&kernel) || !is_due(k, number) || (h > 0 && !is_own(&kernel))) continue;
                    trial t = {&s.f, &forms[h], kernel.name, s.type, number % pair_count(), tested_op};
                    spry_spmv_plan *plan = plan_of(context, &t, &g);
                    if (!plan) continue;
                    run(&t, plan, 1, &s.x[AT_END], 0, &clean);
                    run(&t, plan, 1, &bad, 0, &y);
                    if (!kernel.deterministic)
                        check_bound(&s.with_values, &t, y.data);
                    else if (memcmp(clean.data, y.data, bytes) != 0)
                        fail_msg("%s: unused x was used", describe(&t));
                    spry_spmv_plan_destroy(plan);
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

/*
 * Checks alpha*op(A)*x + y for alpha Inf or NaN. The result equals alpha times the row's sum, or NaN for rows without
 * entries.
 */
static void check_not_finite(const material *s, const trial *t, double alpha, const guarded *y)
{
    for (int64_t i = 0; i < s->y_length; i++) {
        double got = element_at(y->data, s->type, i);
        long double sum = s->with_values.sum[i];
        if (s->with_values.entries[i] == 0)
            sum = 0;
        else if (fabsl(sum) <= reference_bound(&s->with_values, s->type, i, 1, 0, 0))
            continue; /* rounding may change the sign of the sum, so y is not checked */
        double expected = sum == 0 ? (double)NAN : alpha * (sum < 0 ? -1 : 1);
        if (isnan(expected) ? !isnan(got) : got != expected)
            fail_msg("%s: alpha %g, row %lld: %g, expected %g", describe(t), alpha, (long long)i, got, expected);
    }
}

/* Kernels that split rows must add all parts before they multiply by alpha: Inf - Inf is NaN. */
void alpha_that_is_not_finite(void **state)
{
    spry_context *context = context_of(2);
    for (int number = 0; number < family_count(); number = next_met(number)) {
        spry_type type = number % 2 == 0 ? SPRY_F64 : SPRY_F32;
        material s;
        set_up(&s, number, type, tested_op);
        guarded y = guarded_make((size_t)s.y_length * spry_type_bytes(type), ON_HEAP);
        given g = given_make(&s.f, s.values, &forms[4], type, number % pair_count());
        for (int k = 0; k < spmv_kernel_count(); k++) {
            spry_kernel_info kernel = kernel_info(context, k);
            if (!is_tested(&kernel) || !is_due(k, number)) continue;
            trial t = {&s.f, &forms[4], kernel.name, type, number % pair_count(), tested_op};
            spry_spmv_plan *plan = plan_of(context, &t, &g);
            if (!plan) continue;
            const double alpha = (k + number) % 3 == 0 ? (double)NAN : number % 4 < 2 ? HUGE_VAL : -HUGE_VAL;
            fill_y(&y, type, s.y_numbers, 1);
            run(&t, plan, alpha, &s.x[ON_HEAP], 1, &y);
            check_not_finite(&s, &t, alpha, &y);
            spry_spmv_plan_destroy(plan);
        }
        given_free(&g);
        guarded_free(&y);
        clear(&s);
    }
    spry_context_destroy(context);
}

/* Runs three columns with gaps. Each column equals its single product, and the gaps are unchanged. */
void multiple_columns(void **state)
{
    enum { COLUMNS = 3, X_GAP = 2, Y_GAP = 3 };
    spry_context *context = context_of(2);
    for (int number = 0; number < family_count(); number = tested_briefly ? next_met(number) : number + 2) {
        spry_type type = number % 4 == 0 ? SPRY_F32 : SPRY_F64;
        material s;
        set_up(&s, number, type, tested_op);
        const size_t size = spry_type_bytes(type);
        const int64_t m = s.y_length, n = s.x_length, x_stride = n + X_GAP, y_stride = m + Y_GAP;
        /* The memory ends with the last element of the last column. No gap follows this column. */
        double *numbers = random_numbers(x_stride * COLUMNS, type, 7);
        guarded xs = vector_make(numbers, x_stride * (COLUMNS - 1) + n, type, AT_END);
        guarded ys = guarded_make((size_t)(y_stride * (COLUMNS - 1) + m) * size, AT_END);
        guarded y = guarded_make((size_t)m * size, ON_HEAP);
        given g = given_make(&s.f, s.values, &forms[0], type, 0);
        for (int k = 0; k < spmv_kernel_count(); k++) {
            spry_kernel_info kernel = kernel_info(context, k);
            if (!is_tested(&kernel) || !is_due(k, number)) continue;
            trial t = {&s.f, &forms[0], kernel.name, type, 0, tested_op};
            spry_spmv_plan *plan = plan_of(context, &t, &g);
            if (!plan) continue;
            memset(ys.data, 0xff, ys.bytes);
            spry_vector x_all = {xs.data, n, COLUMNS, 1, x_stride, type, 0, {0, 0}},
                        y_all = {ys.data, m, COLUMNS, 1, y_stride, type, 0, {0, 0}};
            assert_int_equal(spry_spmv_plan_run(plan, y_all, NULL, spry_vector_as_const(x_all), NULL, NULL, NULL),
                             SPRY_OK);
            for (int64_t c = 0; c < COLUMNS; c++) {
                guarded x = vector_make(numbers + c * x_stride, n, type, ON_HEAP);
                run(&t, plan, 1, &x, 0, &y);
                const char *column = (const char *)ys.data + (size_t)(c * y_stride) * size;
                if (kernel.deterministic && memcmp(column, y.data, y.bytes) != 0)
                    fail_msg("%s: column %d differs", describe(&t), (int)c);
                if (!kernel.deterministic) {
                    reference r = reference_make(&s.f, s.values, numbers + c * x_stride, tested_op == SPRY_TRANSPOSE);
                    check_bound(&r, &t, column);
                    reference_free(&r);
                }
                for (size_t b = 0; c + 1 < COLUMNS && b < Y_GAP * size; b++)
                    if (column[(size_t)m * size + b] != (char)0xff) fail_msg("%s: wrote between columns", describe(&t));
                guarded_free(&x);
            }
            if (!guarded_intact(&ys)) fail_msg("%s: wrote before the columns", describe(&t));
            spry_spmv_plan_destroy(plan);
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

/* Returns 1 if a product with multiple columns sums each column in the order of a product with only this column. */
static int is_as_alone(const char *kernel, unsigned op)
{
    const spryi_kernel *k = spryi_find_kernel(kernel);
    if (strcmp(k->format, "sell") == 0 || !((k->multi_row_major | k->multi_column_major) & op)) return 1;
    return strcmp(k->device, "cpu") == 0 && (strcmp(k->format, "bsr") == 0 || strcmp(k->format, "packed") == 0);
}

/*
 * Runs row-major and column-major blocks of vectors on one or two threads. Kernels that multiply multiple columns in
 * one pass are compared with the reference. If is_as_alone, each column must be bitwise equal to a single product.
 */
void columns_row_by_row(void **state)
{
    spry_context *context = context_of(2);
    const unsigned op = tested_op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV;
    for (int number = 0; number < family_count(); number = next_met(number)) {
        material s;
        set_up(&s, number, number % 4 == 0 ? SPRY_F32 : SPRY_F64, tested_op);
        double *x_numbers = random_numbers(s.x_length + MOST_COLUMNS, s.type, 7);
        const form *how = &forms[number / 2 % 3 == 2 ? FORMS - 3 : 0]; /* CSR, or its pattern */
        given g = given_make(&s.f, s.values, how, s.type, number % pair_count());
        for (int k = 0; k < spmv_kernel_count(); k++) {
            spry_kernel_info kernel = kernel_info(context, k);
            const spryi_kernel *descriptor = spryi_find_kernel(kernel.name);
            const int multiple = (descriptor->multi_row_major & op) != 0, as_alone = is_as_alone(kernel.name, op);
            const int rotations = tested_briefly ? 17 + 17 * SAMPLED : multiple ? 7 : 17;
            if (!is_tested(&kernel) || !kernel.deterministic || (k + number / 2) % rotations != 0) continue;
            trial t = {&s.f, how, kernel.name, s.type, number % pair_count(), tested_op};
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.kernel = kernel.name;
            o.op = tested_op;
            o.vector_type = s.type;
            o.row_major = (number + k) % 3 != 2;
            o.count = 2 + number % 8;
            o.threads = RACES_ALONE ? 2 : 1 + number % 2;
            o.memory_limit_bytes = (int64_t)64 << 20; /* replaces the padding guard */
            spry_spmv_plan *plan = NULL;
            spry_matrix *A = create_matrix(context, &g.a);
            const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, NULL);
            spry_matrix_destroy(A);
            if (status == SPRY_TOO_LARGE) continue; /* too much padding */
            assert_int_equal(status, SPRY_OK);
            assert_int_equal(spryi_takes_columns(&plan->forward, &plan->forward.map, o.row_major), multiple);
            if (multiple) judge_rows(&s, &t, plan, x_numbers, !o.row_major);
            if (as_alone) judge_against_single(&s, &t, plan, plan, x_numbers, !o.row_major);
            spry_spmv_plan *single = as_alone && o.row_major ? plan_of(context, &t, &g) : NULL;
            if (single) judge_against_single(&s, &t, plan, single, x_numbers, 0);
            spry_spmv_plan_destroy(single);
            spry_spmv_plan_destroy(plan);
        }
        given_free(&g);
        free(x_numbers);
        clear(&s);
    }
    spry_context_destroy(context);
}

/*
 * Checks one kernel on a matrix whose values have another type than the vectors. Results of one and two threads must be
 * bitwise equal. Then runs multiple columns if the kernel has such products.
 */
static void check_mixed(spry_context *const contexts[2], const material *s, const trial *t, const given *g,
                        const double *x_numbers)
{
    const size_t bytes = (size_t)s->y_length * spry_type_bytes(s->type);
    const unsigned op = tested_op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV;
    guarded y = guarded_make(bytes, ON_HEAP), first = guarded_make(bytes, ON_HEAP);
    for (int c = 0; c < 2; c++) {
        spry_spmv_plan *plan = plan_of(contexts[c], t, g);
        if (!plan) break; /* too much padding */
        check_plan(s, t, plan, 0, tested_briefly);
        fill_y(&y, s->type, s->y_numbers, 0.75);
        run(t, plan, -1.5, &s->x[AT_END], 0.75, &y);
        if (c == 0) memcpy(first.data, y.data, bytes);
        if (memcmp(first.data, y.data, bytes) != 0) fail_msg("%s: other bits on two threads", describe(t));
        spry_spmv_plan_destroy(plan);
    }
    guarded_free(&first);
    guarded_free(&y);
    if (!(spryi_find_kernel(t->kernel)->multi_row_major & op)) return;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.memory_limit_bytes = (int64_t)64 << 20;
    o.kernel = t->kernel;
    o.op = tested_op;
    o.vector_type = s->type;
    o.row_major = 1;
    spry_spmv_plan *plan = NULL;
    spry_matrix *A = create_matrix(contexts[1], &g->a);
    const spry_status status = spry_spmv_plan_create(contexts[1], &plan, A, &o, NULL);
    spry_matrix_destroy(A);
    if (status == SPRY_TOO_LARGE) return; /* too much padding */
    assert_int_equal(status, SPRY_OK);
    judge_rows(s, t, plan, x_numbers, 0);
    if (is_as_alone(t->kernel, op)) {
        spry_spmv_plan *single = plan_of(contexts[0], t, g);
        judge_against_single(s, t, plan, single, x_numbers, 0);
        spry_spmv_plan_destroy(single);
    }
    spry_spmv_plan_destroy(plan);
}

static int has_duplicates(spry_context *context, const given *g)
{
    spry_matrix_report report = SPRY_INIT(spry_matrix_report);
    spry_matrix *A = create_matrix(context, &g->a);
    assert_int_equal(spry_matrix_check(A, &report, SPRY_CHECK_ALL, NULL), SPRY_OK);
    spry_matrix_destroy(A);
    return report.duplicates > 0;
}

/* Tests f32 values with f64 vectors, and bf16 and f16 values with f32 vectors, for every kernel with these types. */
void values_of_another_type(void **state)
{
    static const struct {
        spry_type stored, vectors;
        const char *name;
    } types[] = {{SPRY_F32, SPRY_F64, "f32:f64"}, {SPRY_BF16, SPRY_F32, "bf16:f32"}, {SPRY_F16, SPRY_F32, "f16:f32"}};
    spry_context *contexts[] = {context_of(1), context_of(2)};
    int met = 0;
    for (int number = 0; number < family_count(); number = next_met(number))
        for (int r = 0; r < 3; r++) {
            if ((number / 2 + number / 12 + r) % 3 != 0) continue; /* one of `types` per family, in turn */
            material s;
            set_up_mixed(&s, number, types[r].stored, types[r].vectors, tested_op);
            double *x_numbers = random_numbers(s.x_length + MOST_COLUMNS, s.type, 7);
            const form *how = &forms[number / 2 % 2 * 8]; /* CSR, CSC */
            const int pair = (number + r) % pair_count();
            given g = given_make(&s.f, s.values, how, types[r].stored, pair);
            for (int k = 0; k < spmv_kernel_count(); k++) {
                const spry_kernel_info kernel = kernel_info(contexts[0], k);
                if (!is_tested(&kernel) || !is_due(k + r, number) || !strstr(kernel.types, types[r].name)) continue;
                const unsigned op = tested_op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV;
                const int row = spryi_value_row(types[r].stored, types[r].vectors);
                if (!spryi_kernel_takes(spryi_find_kernel(kernel.name), op, row)) continue;
                const trial t = {&s.f, how, kernel.name, s.type, pair, tested_op};
                if (strcmp(kernel.format, "bsr") == 0 && has_duplicates(contexts[0], &g)) continue; /* refused */
                check_mixed(contexts, &s, &t, &g, x_numbers);
                met++;
            }
            given_free(&g);
            free(x_numbers);
            clear(&s);
        }
    assert_true(met > (tested_briefly ? 0 : 20));
    for (int c = 0; c < 2; c++) spry_context_destroy(contexts[c]);
}

/* Under each SPRY_SIMD the default kernel of each format is correct and does not exceed the level. */
void every_simd_level(void **state)
{
    static const char *const levels[] = {"portable", "avx2", "avx512"};
    for (int l = 0; l < 3; l++) {
        assert_int_equal(setenv("SPRY_SIMD", levels[l], 1), 0);
        spry_context *context = context_of(2);
        for (int number = 0; number < family_count(); number = next_met(number)) {
            spry_type type = number % 2 == 0 ? SPRY_F32 : SPRY_F64;
            material s;
            set_up(&s, number, type, tested_op);
            given g = given_make(&s.f, s.values, &forms[0], type, number % 3);
            spry_matrix *A = create_matrix(context, &g.a);
            for (int f = -1; f < format_count(); f++) {
                if (!is_due(f + 1, number)) continue;
                spry_spmv_options options = SPRY_INIT(spry_spmv_options);
                options.op = tested_op;
                options.format = f < 0 ? "auto" : spryi_format_at(f)->name;
                spry_spmv_plan *plan = NULL;
                spry_status status = spry_spmv_plan_create(context, &plan, A, &options, NULL);
                if (f >= 0 && (status == SPRY_TOO_LARGE || status == SPRY_UNSUPPORTED)) continue;
                if (status != SPRY_OK) fail_msg("%s of %s: status %d", options.format, s.f.name, (int)status);
                spry_spmv_plan_info info = plan_info(plan);
                if (l == 0 && strstr(info.kernel, "avx")) fail_msg("%s at level portable", info.kernel);
                if (l == 1 && strstr(info.kernel, "avx512")) fail_msg("%s at level avx2", info.kernel);
                trial t = {&s.f, &forms[0], info.kernel, type, number % pair_count(), tested_op};
                check_plan(&s, &t, plan, 1, 1);
                spry_spmv_plan_destroy(plan);
            }
            spry_matrix_destroy(A);
            given_free(&g);
            clear(&s);
        }
        spry_context_destroy(context);
    }
    assert_int_equal(unsetenv("SPRY_SIMD"), 0);
}
