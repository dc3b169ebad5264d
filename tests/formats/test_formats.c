/*
 * Tests the guarantees of every format: conversion from and to CSR, exact predictions of the size, and a limit on
 * padding. A storage can be restored from its sections, the arrays of a container.
 */
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "catalogue/families.h"
#include "core/kernel.h"
#include "device/drivers.h"
#include "kernels/arrays.h"
#include "kernels/families.h"
#include "matrix/assemble.h"
#include "plan/plan.h"
#include "spry/tune.h"

#include <limits.h>

static const int64_t limit = (int64_t)64 << 20; /* replaces the padding guard */

static const form plain = {"CSR", SPRY_CSR, SPRY_NOT_KNOWN, 0, ON_HEAP, 0, 0};
static const form pattern = {"CSR pattern", SPRY_CSR, SPRY_NOT_KNOWN, 1, ON_HEAP, 0, 0};

static const spryi_format automatic = {.name = "auto"};

/*
 * A test matrix of one family, passed to the library, and a plan in one format. plan is NULL if the plan would exceed
 * the limit.
 */
typedef struct specimen {
    family f;
    double *values;
    given g;
    spry_matrix *A;
    spry_spmv_plan *plan;
} specimen;

static void make(specimen *s, spry_context *context, int number, const spryi_format *format, const form *how,
                 spry_type type, int pair)
{
    *s = (specimen){.f = family_make(number)};
    s->values = random_numbers(s->f.nnz, type, 11 + (uint64_t)number);
    s->g = given_make(&s->f, s->values, how, type, pair);
    spry_error err = SPRY_ERROR_INIT;
    assert_int_equal(spry_matrix_create(context, &s->A, &s->g.a, &err), SPRY_OK);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.keep_value_type = true;
    options.threads = context_threads(context); /* for any size */
    options.format = format->name;
    options.vector_type = type;
    options.memory_limit_bytes = limit;
    options.allow_nondeterministic = 1;
    spry_status status = spry_spmv_plan_create(context, &s->plan, s->A, &options, &err);
    if (status != SPRY_OK && status != SPRY_TOO_LARGE) fail_msg("%s of %s: %s", format->name, s->f.name, err.message);
}

static void clear(specimen *s)
{
    spry_spmv_plan_destroy(s->plan);
    spry_matrix_destroy(s->A);
    given_free(&s->g);
    free(s->values);
    family_free(&s->f);
}

/* ---- round trips ---------------------------------------------------------------------------------- */

typedef struct entry {
    int64_t column;
    double value;
    int64_t place;
} entry;

static int by_column(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Lists row i sorted by column, with entries at one position summed if `merged`. Returns the number of entries. */
static int64_t row_of(entry *row, const spry_arrays *a, int64_t i, int merged)
{
    int64_t count = 0, kept = 0;
    for (int64_t k = spryi_index_at(a->offsets, a->offset_type, i);
         k < spryi_index_at(a->offsets, a->offset_type, i + 1); k++, count++)
        row[count] =
            (entry){spryi_index_at(a->indices, a->index_type, k), spryi_value_at(a->values, a->value_type, k), count};
    qsort(row, (size_t)count, sizeof *row, by_column);
    if (!merged) return count;
    for (int64_t e = 0; e < count; e++)
        if (kept > 0 && row[kept - 1].column == row[e].column)
            row[kept - 1].value += row[e].value;
        else
            row[kept++] = row[e];
    for (int64_t e = 0; a->value_type == SPRY_F32 && e < kept; e++) row[e].value = (double)(float)row[e].value;
    return kept;
}

static void compare(const char *format, const char *name, const spry_arrays *a, const spry_arrays *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    assert_int_equal(a->value_type, b->value_type);
    int merged = b->nnz != a->nnz; /* a format may have to sum duplicates */
    entry *left = malloc((size_t)(a->nnz + 1) * sizeof *left), *right = malloc((size_t)(b->nnz + 1) * sizeof *right);
    assert_non_null(left);
    assert_non_null(right);
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t n = row_of(left, a, i, merged), back = row_of(right, b, i, 0);
        if (n != back)
            fail_msg("%s of %s: row %lld has %lld entries, had %lld", format, name, (long long)i, (long long)back,
                     (long long)n);
        for (int64_t e = 0; e < n; e++)
            if (left[e].column != right[e].column || left[e].value != right[e].value)
                fail_msg("%s of %s: row %lld, column %lld: %g instead of %g", format, name, (long long)i,
                         (long long)left[e].column, right[e].value, left[e].value);
    }
    free(left);
    free(right);
}

/*
 * Each format is tested with every ROTATIONS-th family. first_family differs by format, so that every family is used.
 */
enum { ROTATIONS = RACES_SAMPLED ? 12 : SAMPLED ? 6 : INSTRUMENTED || !TEST_FULL ? 3 : 1 };
static int first_family(int format)
{
    return format % ROTATIONS;
}

static int next_family(int number, int haste)
{
    for (int steps = ROTATIONS; steps > 0; steps--) number = family_next(number, haste);
    return number;
}

static void back_to_the_same_csr(void **state)
{
    spry_context *context = context_of(2);
    for (int f = 0; f < format_count(); f++) {
        const spryi_format *format = spryi_format_at(f);
        if (!format->to_csr) continue;
        int made = 0, families = 0;
        for (int number = first_family(f); number < family_count();
             number = next_family(number, INSTRUMENTED), families++)
            for (int variant = 0; variant < (INSTRUMENTED ? 1 : 7); variant++) {
                int how = INSTRUMENTED ? number % 7 : variant;                  /* 6: a pattern; 0 to 5: types */
                if (!INSTRUMENTED && (variant + number + f) % 3 != 0) continue; /* a third, which differs by family */
                specimen s;
                make(&s, context, number, format, how == 6 ? &pattern : &plain, how % 2 == 0 ? SPRY_F64 : SPRY_F32,
                     how % 3);
                if (s.plan) {
                    spry_matrix *back = NULL;
                    spry_error err = SPRY_ERROR_INIT;
                    if (format->to_csr(context, &back, s.plan->forward.stored.storage, &err) != SPRY_OK)
                        fail_msg("%s of %s: %s", format->name, s.f.name, err.message);
                    spry_arrays a = s.g.a;
                    double *ones = NULL;
                    if (how == 6 && back->a.value_type != SPRY_PATTERN) { /* stored as ones */
                        ones = malloc((size_t)(a.nnz + 1) * sizeof *ones);
                        assert_non_null(ones);
                        for (int64_t k = 0; k < a.nnz; k++) ones[k] = 1;
                        a.values = ones;
                        a.value_type = SPRY_F64;
                    }
                    compare(format->name, s.f.name, &a, &back->a);
                    free(ones);
                    spry_matrix_destroy(back);
                    made++;
                }
                clear(&s);
            }
        /* families that need over 64 MB are skipped */
        if (made < families / 2) fail_msg("%s: only %d round trips", format->name, made);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* ---- figures ---------------------------------------------------------------------------------------- */

static spryi_storage predict(spry_context *context, const spry_matrix *A, const char *format, int64_t memory_limit)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.keep_value_type = true;
    spryi_storage storage = {0};
    spry_error err = SPRY_ERROR_INIT;
    options.format = format;
    options.memory_limit_bytes = memory_limit;
    if (spryi_predict_storage(context, &storage, A, &options, &err) != SPRY_OK) fail_msg("%s: %s", format, err.message);
    return storage;
}

/* Returns the bytes of the arrays that containers store. */
static int64_t section_bytes(const spryi_format *format, void *storage)
{
    spryi_section sections[SPRYI_MOST_SECTIONS];
    int64_t bytes = 0;
    int count = format->layout.sections(storage, sections);
    for (int n = 0; n < count; n++)
        if (sections[n].array) bytes += sections[n].count * sections[n].item_bytes;
    return bytes;
}

static void figures_come_true(void **state)
{
    spry_context *context = context_of(2);
    for (int f = 0; f < format_count(); f++) {
        const spryi_format *format = spryi_format_at(f);
        for (int number = first_family(f); number < family_count(); number = next_family(number, 1)) {
            specimen s;
            make(&s, context, number, format, &plain, number % 2 ? SPRY_F32 : SPRY_F64, number % 3);
            spryi_storage figure = predict(context, s.A, format->name, limit);
            assert_string_equal(figure.format, format->name);
            if (s.plan) {
                int64_t bytes = spryi_storage_bytes(format, s.plan->forward.stored.storage);
                if (figure.refused) fail_msg("%s of %s: refused, but built", format->name, s.f.name);
                if (bytes < figure.bytes)
                    fail_msg("%s of %s: %lld bytes, %lld predicted", format->name, s.f.name, (long long)bytes,
                             (long long)figure.bytes);
                if (format->layout.sections && section_bytes(format, s.plan->forward.stored.storage) != figure.bytes)
                    fail_msg("%s of %s: arrays of %lld bytes, %lld predicted", format->name, s.f.name,
                             (long long)section_bytes(format, s.plan->forward.stored.storage), (long long)figure.bytes);
                spry_spmv_plan_info info = plan_info(s.plan);
                assert_string_equal(info.parameters, figure.parameters);
            } else if (!figure.refused) {
                fail_msg("%s of %s: not built, but not said to be refused", format->name, s.f.name);
            }
            clear(&s);
        }
    }
    spry_context_destroy(context);
}

/* Returns the bytes of the arrays that a format stores, without the plan's additional arrays. */
static int64_t stored_bytes(const spry_spmv_plan *plan)
{
    const spryi_format *format = plan->forward.target.format;
    spryi_section sections[SPRYI_MOST_SECTIONS];
    int64_t bytes = 0;
    if (format->layout.sections) return section_bytes(format, plan->forward.stored.storage);
    for (int n = spryi_storage_device_sections(format, plan->forward.stored.storage, sections) - 1; n >= 0; n--)
        bytes += sections[n].count * sections[n].item_bytes;
    return bytes;
}

static int64_t borrowed_bytes(const spry_spmv_plan *plan)
{
    const void *storage = plan->forward.stored.storage;
    return spryi_storage_bytes(plan->forward.target.format, storage) -
           spryi_storage_owned_bytes(plan->forward.target.format, storage);
}

/* Compares predicted and actual sizes for every layout, order and pair of index types, with and without values. */
static void figures_of_all_layouts(void **state)
{
    static const form forms[] = {
        {"CSR", SPRY_CSR, SPRY_NOT_KNOWN, 0, ON_HEAP, 0, 0},
        {"COO, sorted", SPRY_COO, SPRY_KNOWN_YES, 0, ON_HEAP, 0, 0},
        {"COO, shuffled", SPRY_COO, SPRY_KNOWN_NO, 0, ON_HEAP, 0, 0},
        {"CSC", SPRY_CSC, SPRY_NOT_KNOWN, 0, ON_HEAP, 0, 0},
        {"CSR pattern", SPRY_CSR, SPRY_NOT_KNOWN, 1, ON_HEAP, 0, 0},
        {"COO pattern, sorted", SPRY_COO, SPRY_KNOWN_YES, 1, ON_HEAP, 0, 0},
        {"COO pattern, shuffled", SPRY_COO, SPRY_KNOWN_NO, 1, ON_HEAP, 0, 0},
        {"CSC pattern", SPRY_CSC, SPRY_NOT_KNOWN, 1, ON_HEAP, 0, 0},
    };
    spry_context *context = context_of(1);
    for (int f = 0; f <= format_count(); f++)
        for (size_t how = 0; how < sizeof forms / sizeof *forms; how++)
            for (int pair = 0; pair < 3; pair++)
                for (int number = 0; number < family_count(); number += 1 + family_count() / 4) {
                    if ((number + f + (int)how + pair) % ROTATIONS != 0) continue;
                    specimen s;
                    const char *name = f < format_count() ? spryi_format_at(f)->name : "auto";
                    make(&s, context, number, f < format_count() ? spryi_format_at(f) : &automatic, &forms[how],
                         SPRY_F64, pair);
                    const spryi_storage figure = predict(context, s.A, name, limit);
                    if (s.plan && (figure.bytes != stored_bytes(s.plan) ||
                                   strcmp(figure.format, s.plan->forward.target.format->name) != 0))
                        fail_msg("%s of %s (%s, %s): %s of %lld bytes, %s of %lld predicted", name, s.f.name,
                                 forms[how].name, pair_names[pair], s.plan->forward.target.format->name,
                                 (long long)stored_bytes(s.plan), figure.format, (long long)figure.bytes);
                    if (s.plan && figure.bytes - figure.owned_bytes != borrowed_bytes(s.plan))
                        fail_msg("%s of %s (%s, %s): %lld bytes are borrowed, %lld of %lld predicted to be owned", name,
                                 s.f.name, forms[how].name, pair_names[pair], (long long)borrowed_bytes(s.plan),
                                 (long long)figure.owned_bytes, (long long)figure.bytes);
                    clear(&s);
                }
    spry_context_destroy(context);
}

/* ---- containers --------------------------------------------------------------------------------------- */

/*
 * Restores a storage as a container does. It restores the sizes first, and then the arrays whose lengths follow from
 * the sizes.
 */
static void *restore(spry_context *context, const spryi_format *format, void *from)
{
    spryi_section kept[SPRYI_MOST_SECTIONS], empty[SPRYI_MOST_SECTIONS];
    void *storage = NULL;
    assert_int_equal(spryi_allocate(context, &storage, 1, format->layout.size, "storage", NULL), SPRY_OK);
    memset(storage, 0, format->layout.size);
    int count = format->layout.sections(from, kept);
    assert_int_equal(format->layout.sections(storage, empty), count);
    for (int n = 0; n < count; n++)
        if (!kept[n].array) memcpy(empty[n].inside, kept[n].inside, (size_t)(kept[n].count * kept[n].item_bytes));
    assert_int_equal(format->layout.sections(storage, empty), count);
    for (int n = 0; n < count; n++) {
        assert_string_equal(empty[n].name, kept[n].name);
        if (empty[n].count != kept[n].count || empty[n].item_bytes != kept[n].item_bytes)
            fail_msg("%s: section %s has %lld items, kept were %lld", format->name, kept[n].name,
                     (long long)empty[n].count, (long long)kept[n].count);
        if (!empty[n].array) continue;
        assert_int_equal(spryi_allocate(context, empty[n].array, kept[n].count, (size_t)kept[n].item_bytes, "section",
                                        NULL),
                         SPRY_OK);
        if (kept[n].count > 0) memcpy(*empty[n].array, *kept[n].array, (size_t)(kept[n].count * kept[n].item_bytes));
    }
    return storage;
}

static void sections_restore(void **state)
{
    spry_context *context = context_of(2);
    for (int f = 0; f < format_count(); f++) {
        const spryi_format *format = spryi_format_at(f);
        if (!format->layout.sections) continue;
        for (int number = first_family(f); number < family_count(); number = next_family(number, 1)) {
            specimen s;
            make(&s, context, number, format, &plain, number % 2 ? SPRY_F32 : SPRY_F64, number % 3);
            if (s.plan) {
                void *storage = restore(context, format, s.plan->forward.stored.storage);
                spry_error err = SPRY_ERROR_INIT;
                spry_matrix *one = NULL, *two = NULL;
                if (format->check(context, storage, &err) != SPRY_OK) fail_msg("%s: %s", format->name, err.message);
                assert_int_equal(format->to_csr(context, &one, s.plan->forward.stored.storage, NULL), SPRY_OK);
                assert_int_equal(format->to_csr(context, &two, storage, NULL), SPRY_OK);
                compare(format->name, s.f.name, &one->a, &two->a);
                spry_matrix_destroy(one);
                spry_matrix_destroy(two);
                spryi_storage_destroy(context, format, storage);
            }
            clear(&s);
        }
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* ---- the guard ---------------------------------------------------------------------------------------- */

/*
 * Tests a matrix with one row of 20 000 entries and 20 000 rows of one entry. Padded formats are refused unless a limit
 * in bytes replaces the limit on padding.
 */
static void padding_is_refused(void **state)
{
    enum { M = 20000 };
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "arrow,rows=20000");
    int refused = 0;
    for (int f = 0; f < format_count(); f++) {
        const char *name = spryi_format_at(f)->name;
        spryi_storage figure = predict(context, A, name, 0);
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.keep_value_type = true;
        options.format = name;
        spry_spmv_plan *plan = NULL;
        spry_error err = SPRY_ERROR_INIT;
        int64_t before = context_bytes(context);
        spry_status status = spry_spmv_plan_create(context, &plan, A, &options, &err);
        assert_int_equal(status, figure.refused ? SPRY_TOO_LARGE : SPRY_OK);
        if (figure.refused) {
            char bytes[32];
            refused++;
            assert_true(figure.padding > 2 * 3 * (M - 1));
            assert_int_equal(context_bytes(context), before);
            snprintf(bytes, sizeof bytes, "%lld bytes", (long long)figure.bytes);
            if (!strstr(err.message, bytes) || !strstr(err.message, name)) fail_msg("%s: %s", name, err.message);
            assert_int_equal(err.value, figure.bytes);
            options.memory_limit_bytes = figure.bytes - 1;
            assert_int_equal(spry_spmv_plan_create(context, &plan, A, &options, &err), SPRY_TOO_LARGE);
            assert_int_equal(predict(context, A, name, figure.bytes).refused, 0);
        }
        spry_spmv_plan_destroy(plan);
    }
    if (spryi_find_format("ell")) assert_true(refused >= 1);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- parameters ----------------------------------------------------------------------------------------- */

static void parameters_are_checked(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "diagonal,rows=10");
    for (int f = 0; f < format_count(); f++) {
        const spryi_format *format = spryi_format_at(f);
        char text[96];
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.keep_value_type = true;
        spry_spmv_plan *plan = NULL;
        spry_error err = SPRY_ERROR_INIT;
        options.format = text;
        options.memory_limit_bytes = limit;
        snprintf(text, sizeof text, "%s:nonsense=1", format->name);
        assert_int_equal(spry_spmv_plan_create(context, &plan, A, &options, &err), SPRY_UNKNOWN_NAME);
        assert_string_equal(err.argument, "format");
        for (const spryi_parameter *p = format->parameters.list; p && p->name; p++) {
            const struct {
                const char *value;
                spry_status status;
            } tries[] = {{"", SPRY_INVALID_ARGUMENT},
                         {"x", SPRY_INVALID_ARGUMENT},
                         {"1x", SPRY_INVALID_ARGUMENT},
                         {"-1", SPRY_INVALID_ARGUMENT},
                         {"99999999999999999999", SPRY_INVALID_ARGUMENT}};
            for (int n = 0; n < 5; n++) {
                snprintf(text, sizeof text, "%s:%s=%s", format->name, p->name, tries[n].value);
                spry_status status = spry_spmv_plan_create(context, &plan, A, &options, &err);
                if (status != tries[n].status) fail_msg("%s: status %d", text, (int)status);
            }
            const char *const *words = format->parameters.words[p - format->parameters.list];
            snprintf(text, sizeof text, "%s:%s=%lld", format->name, p->name, (long long)(p->least > 1 ? p->least : 1));
            if (words) snprintf(text, sizeof text, "%s:%s=%s", format->name, p->name, words[0]);
            plan = create_plan(context, A, &options);
            spry_spmv_plan_destroy(plan);
            plan = NULL;
        }
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- the lists -------------------------------------------------------------------------------------------- */

static int count_list(const spryi_kernel *const *list, int most)
{
    int count = 0;
    while (list && count < most && list[count]) count++;
    return count;
}

/* Asserts that the catalogue lists all formats and kernels of every family and device driver. */
static void nothing_is_left_out(void **state)
{
#define FAMILY(name) &spryi_family_##name,
    static const spryi_family *const families[] = {SPRYI_FAMILIES(FAMILY)};
#undef FAMILY
    int formats = 0, kernels = 0, listed = 0;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (int n = 0; n < SPRYI_FAMILY_FORMATS && families[f]->formats[n]; n++) formats++;
        kernels += count_list(families[f]->kernels, SPRYI_FAMILY_KERNELS);
    }
    for (int d = 0; d < spryi_driver_count; d++) kernels += count_list(spryi_drivers[d]->kernels, INT_MAX);
    while (spryi_kernel_at(listed)) listed++;
    assert_int_equal(listed, kernels);
    assert_int_equal(format_count(), formats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_out),    cmocka_unit_test(back_to_the_same_csr),
        cmocka_unit_test(figures_come_true),      cmocka_unit_test(figures_of_all_layouts),
        cmocka_unit_test(sections_restore),       cmocka_unit_test(padding_is_refused),
        cmocka_unit_test(parameters_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
