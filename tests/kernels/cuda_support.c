#include "cuda_support.h"

#include "reference.h"
#include "spry/tune.h"
#include "trials.h"

static void *room(int64_t count, size_t size)
{
    void *pointer = calloc((size_t)count + 1, size);
    if (!pointer) abort();
    return pointer;
}

static int64_t length_of_row(int64_t i, int64_t cols)
{
    const int64_t few = cols < 3000 ? cols : 3000;
    return i == 11 ? cols : i == 402 ? few : i % 7 == 3 ? 0 : 1 + i % 40;
}

static problem make(int64_t cols, spry_type type, int exact)
{
    enum { ROWS = 700 };
    problem p = {.rows = ROWS, .cols = cols, .type = type};
    p.offsets = room(ROWS + 1, sizeof *p.offsets);
    for (int64_t i = 0; i < ROWS; i++) p.offsets[i + 1] = p.offsets[i] + (int32_t)length_of_row(i, cols);
    p.nnz = p.offsets[ROWS];
    p.columns = room(p.nnz, sizeof *p.columns);
    p.values = room(p.nnz, spry_type_bytes(type));
    double *numbers = random_numbers(p.nnz, type, 77);
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t length = p.offsets[i + 1] - p.offsets[i], step = length > 0 ? cols / length : 0;
        for (int64_t e = 0; e < length; e++) {
            int64_t at = i % 5 == 1 ? length - 1 - e : e; /* descending columns */
            if (i % 11 == 2 && e % 3 == 2) at = e - 1;    /* repeats the column before */
            p.columns[p.offsets[i] + e] = (int32_t)(at * step + (step > 1 ? i % step : 0));
        }
    }
    for (int64_t k = 0; k < p.nnz; k++) set_number(p.values, type, k, exact ? (double)(k * 7 % 11 - 5) : numbers[k]);
    free(numbers);
    return p;
}

problem problem_make(spry_type type, int exact)
{
    return make(10000, type, exact);
}

problem problem_square(spry_type type, int exact)
{
    return make(700, type, exact);
}

void problem_free(problem *p)
{
    free(p->offsets);
    free(p->columns);
    free(p->values);
    memset(p, 0, sizeof *p);
}

spry_arrays problem_arrays(const problem *p)
{
    spry_arrays a = csr_arrays(p->rows, p->cols, p->offsets, p->columns, p->values, p->type);
    return a;
}

spry_matrix *problem_matrix(spry_context *context, const problem *p)
{
    spry_arrays a = problem_arrays(p);
    return create_matrix(context, &a);
}

int64_t x_length(const problem *p, spry_op op)
{
    return op == SPRY_TRANSPOSE ? p->rows : p->cols;
}

int64_t y_length(const problem *p, spry_op op)
{
    return op == SPRY_TRANSPOSE ? p->cols : p->rows;
}

void *problem_x(const problem *p, spry_op op, int exact, int seed)
{
    int64_t length = x_length(p, op);
    void *x = room(length, spry_type_bytes(p->type));
    double *numbers = random_numbers(length, p->type, 500 + (uint64_t)seed);
    for (int64_t j = 0; j < length; j++)
        set_number(x, p->type, j, exact ? (double)((j * 5 + seed * 3) % 17 - 8) : numbers[j]);
    free(numbers);
    return x;
}

void *problem_product(const problem *p, spry_op op, const void *x, double factor)
{
    double *sums = room(y_length(p, op), sizeof *sums);
    void *y = room(y_length(p, op), spry_type_bytes(p->type));
    for (int64_t i = 0; i < p->rows; i++)
        for (int32_t k = p->offsets[i]; k < p->offsets[i + 1]; k++)
            sums[op == SPRY_TRANSPOSE ? p->columns[k] : i] +=
                element_at(p->values, p->type, k) * element_at(x, p->type, op == SPRY_TRANSPOSE ? i : p->columns[k]);
    for (int64_t i = 0; i < y_length(p, op); i++) set_number(y, p->type, i, factor * sums[i]);
    free(sums);
    return y;
}

const char *next_kernel(const spry_context *context, spry_op op, int deterministic, int *index)
{
    while (*index < spmv_kernel_count()) {
        spry_kernel_info info = kernel_info(context, (*index)++);
        if (strcmp(info.device_kind, "cuda") == 0 && kernel_offers(&info, op) && (info.deterministic || !deterministic))
            return info.name;
    }
    return NULL;
}

static const char *ordering_of_plans;

void gpu_order_plans(const char *ordering)
{
    ordering_of_plans = ordering;
}

spry_spmv_options gpu_options(const char *kernel, spry_op op, int vectors)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.device = 1;
    options.kernel = kernel;
    options.op = op;
    options.ordering = ordering_of_plans;
    options.vector_device = vectors > 0 ? vectors : SPRY_CPU;
    options.allow_nondeterministic = 1;
    options.memory_limit_bytes = (int64_t)1 << 30; /* replaces the padding guard */
    return options;
}

spry_spmv_plan *gpu_plan(spry_context *context, const spry_matrix *A, const char *kernel, spry_op op, int vectors)
{
    spry_spmv_options options = gpu_options(kernel, op, vectors);
    return create_plan(context, A, &options);
}

int64_t workspace_of(const spry_spmv_plan *plan)
{
    spry_spmv_plan_info info = plan_info(plan);
    return info.workspace_bytes;
}
