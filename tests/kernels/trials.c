

#include "trials.h"

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
    options.threads = spry_context_threads(context); /* however small */
    options.op = t->op;
    options.kernel = t->kernel;
    options.vector_type = t->type;
    options.expected_calls = t->how->expected_calls;
    options.allow_nondeterministic = 1;
    options.memory_limit_bytes = (int64_t)64 << 20; /* in place of the padding guard */
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

/* What y holds before a run: numbers, or NaN where it must not be read. */
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
        if (number_at(s->x[p].data, s->type, j) != s->x_numbers[j]) return 0;
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
