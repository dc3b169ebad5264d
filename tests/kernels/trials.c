#include "trials.h"
#include "spry/tune.h"

const form forms[FORMS] = {
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
static const struct {
    double alpha, beta;
} scalings[] = {{1, 0}, {-1.5, 0.75}, {1, 1}, {2, 0}, {0, 0.5}, {0, 0}, {1, -1}, {0.3, 2}};
enum { SCALINGS = sizeof scalings / sizeof *scalings, BRIEF = 2 };

const char *describe(const trial *t)
{
    static char text[256];
    snprintf(text, sizeof text, "%s%s on %s (%s), %s, %s", t->kernel ? t->kernel : "default kernel",
             t->op == SPRY_TRANSPOSE ? ", transposed," : "", t->f->name, t->how->name, spry_type_name(t->type),
             pair_names[t->pair]);
    return text;
}

spry_spmv_plan *plan_of(spry_context *context, const trial *t, const given *g)
{
    spry_error err = {0};
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.threads = context_threads(context); /* for any size */
    options.op = t->op;
    options.kernel = t->kernel;
    options.vector_type = t->type;
    options.expected_calls = t->how->expected_calls;
    options.allow_nondeterministic = 1;
    options.memory_limit_bytes = (int64_t)64 << 20; /* replaces the padding guard */
    if (spry_matrix_create(context, &A, &g->a, &err) != SPRY_OK) fail_msg("%s: %s", describe(t), err.message);
    spry_status status = spry_spmv_plan_create(context, &plan, A, &options, &err);
    if (status != SPRY_OK && status != SPRY_TOO_LARGE) fail_msg("%s: %s", describe(t), err.message);
    spry_matrix_destroy(A); /* the plan keeps what it needs */
    return plan;
}

spry_vector vector_of(const guarded *g, spry_type type)
{
    int64_t length = (int64_t)(g->bytes / spry_type_bytes(type));
    return (spry_vector){g->data, length, 1, 1, length, type, 0, {0, 0}};
}

void run(const trial *t, const spry_spmv_plan *plan, double alpha, const guarded *x, double beta, const guarded *y)
{
    float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
    int f64 = t->type == SPRY_F64;
    spry_error err = {0};
    spry_status status = spry_spmv_plan_run(plan, vector_of(y, t->type), f64 ? (void *)&alpha : &alpha_f32,
                                            spry_vector_as_const(vector_of(x, t->type)),
                                            f64 ? (void *)&beta : &beta_f32, NULL, &err);
    if (status != SPRY_OK) fail_msg("%s: %s", describe(t), err.message);
}

/* Sets y before a run: to `before`, or to NaN if beta is 0. */
void fill_y(const guarded *y, spry_type type, const double *before, double beta)
{
    if (beta == 0)
        memset(y->data, 0xff, y->bytes); /* NaN */
    else
        for (size_t i = 0; i < y->bytes / spry_type_bytes(type); i++) set_number(y->data, type, (int64_t)i, before[i]);
}

void set_up(material *s, int number, spry_type type, spry_op op)
{
    set_up_mixed(s, number, type, type, op);
}

void set_up_mixed(material *s, int number, spry_type stored, spry_type type, spry_op op)
{
    s->f = family_make(number);
    s->type = type;
    s->op = op;
    s->x_length = op == SPRY_TRANSPOSE ? s->f.rows : s->f.cols;
    s->y_length = op == SPRY_TRANSPOSE ? s->f.cols : s->f.rows;
    s->values = random_numbers(s->f.nnz, stored, 1000 + (uint64_t)number);
    s->x_numbers = random_numbers(s->x_length, type, 2000 + (uint64_t)number);
    s->y_numbers = random_numbers(s->y_length, type, 3000 + (uint64_t)number);
    s->with_values = reference_make(&s->f, s->values, s->x_numbers, op == SPRY_TRANSPOSE);
    s->pattern = reference_make(&s->f, NULL, s->x_numbers, op == SPRY_TRANSPOSE);
    for (int p = 0; p < 3; p++) {
        s->x[p] = vector_make(s->x_numbers, s->x_length, type, (placement)p);
        guarded_read_only(&s->x[p]);
    }
    s->before = vector_make(s->y_numbers, s->y_length, type, ON_HEAP);
}

void clear(material *s)
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
    for (int64_t j = 0; j < s->x_length; j++)
        if (element_at(s->x[p].data, s->type, j) != s->x_numbers[j]) return 0;
    return guarded_intact(&s->x[p]);
}

void check_plan(const material *s, const trial *t, const spry_spmv_plan *plan, int first_scaling, int brief)
{
    const reference *r = t->how->pattern ? &s->pattern : &s->with_values;
    placement place = t->how->place;
    guarded y = guarded_make((size_t)s->y_length * spry_type_bytes(s->type), place);
    for (int n = first_scaling; n < (brief ? BRIEF : SCALINGS); n++) {
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

int kernel_offers(const spry_kernel_info *kernel, spry_op op)
{
    const char *transposed = strstr(kernel->operations, "spmv_t");
    return kernel->available && (op == SPRY_TRANSPOSE ? transposed != NULL : transposed != kernel->operations);
}

/* ---- multiple columns of x and y, multiplied in one run and compared one by one -------------------------- */

/* Columns of x and y, row-major with a gap after each row, or column-major with a gap after each column. */
typedef struct rows_of_columns {
    int64_t columns;
    int separate;
    guarded x, y;
    spry_vector all_x, all_y;
} rows_of_columns;

enum { X_ROOM = 2, Y_ROOM = 3 };

static int64_t place_of(const spry_vector *v, int64_t i, int64_t c)
{
    return i * v->row_stride + c * v->column_stride;
}

/* Fills column c of x with x_numbers from index c on. */
static rows_of_columns rows_make(const material *s, const double *x_numbers, int64_t columns, int separate)
{
    const size_t size = spry_type_bytes(s->type);
    const int64_t m = s->y_length, n = s->x_length;
    rows_of_columns r = {.columns = columns, .separate = separate};
    r.all_x = (spry_vector){NULL, n, columns, columns + X_ROOM, 1, s->type, 0, {0, 0}};
    r.all_y = (spry_vector){NULL, m, columns, columns + Y_ROOM, 1, s->type, 0, {0, 0}};
    if (separate) {
        r.all_x.row_stride = r.all_y.row_stride = 1;
        r.all_x.column_stride = n + X_ROOM;
        r.all_y.column_stride = m + Y_ROOM;
    }
    r.x = guarded_make((size_t)(n > 0 ? place_of(&r.all_x, n - 1, columns - 1) + 1 : 0) * size, AT_END);
    r.y = guarded_make((size_t)(m > 0 ? place_of(&r.all_y, m - 1, columns - 1) + 1 : 0) * size, AT_END);
    memset(r.x.data, 0xff, r.x.bytes);
    for (int64_t j = 0; j < n; j++)
        for (int64_t c = 0; c < columns; c++) set_number(r.x.data, s->type, place_of(&r.all_x, j, c), x_numbers[j + c]);
    r.all_x.data = r.x.data;
    r.all_y.data = r.y.data;
    return r;
}

static void rows_free(rows_of_columns *r)
{
    guarded_free(&r->x);
    guarded_free(&r->y);
}

/* Sets every column of y to s->y_numbers and runs the plan. Copies column c of the result to column[c]. */
static void run_rows(const material *s, const trial *t, const spry_spmv_plan *plan, const rows_of_columns *r,
                     const double scaling[2], guarded *column)
{
    const size_t size = spry_type_bytes(s->type);
    const int64_t m = s->y_length;
    float single[2] = {(float)scaling[0], (float)scaling[1]};
    const void *alpha = s->type == SPRY_F32 ? (const void *)&single[0] : &scaling[0];
    const void *beta = s->type == SPRY_F32 ? (const void *)&single[1] : &scaling[1];
    memset(r->y.data, 0xff, r->y.bytes);
    for (int64_t i = 0; i < m && scaling[1] != 0; i++)
        for (int64_t c = 0; c < r->columns; c++)
            set_number(r->y.data, s->type, place_of(&r->all_y, i, c), s->y_numbers[i]);
    assert_int_equal(spry_spmv_plan_run(plan, r->all_y, alpha, spry_vector_as_const(r->all_x), beta, NULL, NULL),
                     SPRY_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t c = 0; c < r->columns; c++) {
            char *number = (char *)r->y.data + (size_t)place_of(&r->all_y, i, c) * size;
            memcpy((char *)column[c].data + (size_t)i * size, number, size);
            memset(number, 0xff, size);
        }
    for (size_t b = 0; b < r->y.bytes; b++)
        if (((const char *)r->y.data)[b] != (char)0xff) fail_msg("%s: wrote between columns", describe(t));
    if (!guarded_intact(&r->y)) fail_msg("%s: wrote beside the columns", describe(t));
}

/*
 * If SAMPLED, each call runs MOST_COLUMNS columns and, by rotation, two of the other counts. If RACES_SAMPLED, it runs
 * only one of the other counts.
 */
void judge_rows(const material *s, const trial *t, const spry_spmv_plan *plan, const double *x_numbers, int separate)
{
    static const int64_t counts[] = {MOST_COLUMNS, 2, 3, 7, 8, 9, 17};
    static const double scalings[][2] = {{1, 0}, {-0.5, 2}};
    static size_t calls;
    calls++;
    guarded most[MOST_COLUMNS], column[MOST_COLUMNS];
    const size_t bytes = (size_t)s->y_length * spry_type_bytes(s->type);
    for (int c = 0; c < MOST_COLUMNS; c++) most[c] = guarded_make(bytes, ON_HEAP);
    for (int c = 0; c < MOST_COLUMNS; c++) column[c] = guarded_make(bytes, ON_HEAP);
    for (size_t k = 0; k < 2 * sizeof counts / sizeof *counts; k++) {
        if (SAMPLED && k > 1 && (k / 2 + calls) % (3 + 3 * RACES_SAMPLED) != 0) continue;
        rows_of_columns r = rows_make(s, x_numbers, counts[k / 2], separate);
        const double *scaling = scalings[k % 2];
        if (k < 2 || k % 2 == 1) run_rows(s, t, plan, &r, scaling, k < 2 ? most : column);
        for (int64_t c = 0; c < r.columns && k < 2; c += MOST_COLUMNS / 3) {
            reference exact =
                reference_make(&s->f, t->how->pattern ? NULL : s->values, x_numbers + c, t->op == SPRY_TRANSPOSE);
            const comparison found =
                reference_compare(&exact, s->type, scaling[0], scaling[1], s->before.data, most[c].data);
            if (found.wrong > 0) fail_msg("%s: column %d of several is wrong", describe(t), (int)c);
            reference_free(&exact);
        }
        for (int64_t c = 0; c < r.columns && k > 2 && k % 2 == 1; c++)
            if (memcmp(column[c].data, most[c].data, bytes) != 0)
                fail_msg("%s: column %d of %d differs", describe(t), (int)c, (int)r.columns);
        rows_free(&r);
    }
    for (int c = 0; c < MOST_COLUMNS; c++) guarded_free(&most[c]);
    for (int c = 0; c < MOST_COLUMNS; c++) guarded_free(&column[c]);
}

/* Returns whether elements i of a and b are bitwise equal or both NaN. */
static int same_number(const void *a, const void *b, spry_type type, int64_t i)
{
    const size_t size = spry_type_bytes(type);
    const double one = element_at(a, type, i), other = element_at(b, type, i);
    return (isnan(one) && isnan(other)) ||
           memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size, size) == 0;
}

void judge_against_single(const material *s, const trial *t, const spry_spmv_plan *plan, const spry_spmv_plan *single,
                          const double *x_numbers, int separate)
{
    enum { COLUMNS = 11, SCALINGS = 7 };
    static const double scalings[SCALINGS][2] = {{1, 0}, {-0.7, 1.3},      {1, -1.3},   {0, -2},
                                                 {0, 1}, {0, (double)NAN}, {-0.7, -0.0}};
    const size_t size = spry_type_bytes(s->type), bytes = (size_t)s->y_length * size;
    material own = *s;
    own.y_numbers = malloc((size_t)(s->y_length + 1) * sizeof *own.y_numbers);
    for (int64_t i = 0; i < s->y_length; i++) own.y_numbers[i] = i % 5 == 1 ? 0.0 : i % 5 == 3 ? -0.0 : s->y_numbers[i];
    double *odd = malloc((size_t)(s->x_length + COLUMNS) * sizeof *odd);
    guarded column[COLUMNS], y = guarded_make(bytes, ON_HEAP);
    for (int c = 0; c < COLUMNS; c++) column[c] = guarded_make(bytes, ON_HEAP);
    static int calls;
    calls++;
    for (int k = 0; k < SCALINGS + 2; k++) {
        if (SAMPLED && (k + calls) % (3 + 6 * RACES_SAMPLED) != 0) continue;
        const double *scaling = scalings[k % SCALINGS];
        for (int64_t j = 0; j < s->x_length + COLUMNS; j++)
            odd[j] = k < SCALINGS || j % 37 != 5 ? x_numbers[j] : j % 2 == 0 ? (double)INFINITY : (double)NAN;
        rows_of_columns r = rows_make(s, odd, COLUMNS, separate);
        run_rows(&own, t, plan, &r, scaling, column);
        for (int c = 0; c < COLUMNS; c++) {
            guarded x = vector_make(odd + c, s->x_length, s->type, ON_HEAP);
            fill_y(&y, s->type, own.y_numbers, scaling[1]);
            run(t, single, scaling[0], &x, scaling[1], &y);
            for (int64_t i = 0; i < s->y_length; i++)
                if (!same_number(column[c].data, y.data, s->type, i))
                    fail_msg("%s: row %lld of column %d is not as alone: alpha %g, beta %g, %s", describe(t),
                             (long long)i, c, scaling[0], scaling[1], separate ? "apart" : "row by row");
            guarded_free(&x);
        }
        rows_free(&r);
    }
    for (int c = 0; c < COLUMNS; c++) guarded_free(&column[c]);
    guarded_free(&y);
    free(odd);
    free(own.y_numbers);
}
