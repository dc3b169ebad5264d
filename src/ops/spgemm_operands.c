/* What is no CSR, or has other index types than its partner, is converted; a transposed CSC is CSR as it lies. */
#include "core/assemble.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "ops/spgemm_plan.h"
#include "spry/tools.h"

#include <math.h>
#include <string.h>

/* A matrix's arrays as those of its transpose: no copy, another layout. */
static spry_arrays transposed_view(const spry_arrays *a)
{
    spry_arrays t = *a;
    t.rows = a->cols;
    t.cols = a->rows;
    t.ownership = SPRY_BORROW;
    if (a->triangle != SPRY_ALL_ENTRIES)
        t.triangle = a->triangle == SPRY_LOWER_TRIANGLE ? SPRY_UPPER_TRIANGLE : SPRY_LOWER_TRIANGLE;
    if (a->layout == SPRY_COO) {
        t.row_indices = a->indices;
        t.indices = a->row_indices;
        t.sorted = SPRY_NOT_KNOWN;
    } else {
        t.layout = a->layout == SPRY_CSR ? SPRY_CSC : SPRY_CSR;
    }
    return t;
}

/* The most entries that a conversion of the view has. */
static int64_t most_entries(const spry_arrays *view)
{
    return view->triangle == SPRY_ALL_ENTRIES ? view->nnz : 2 * view->nnz;
}

/*
 * *from[k] = which entry of `view` became entry k of its conversion, ~n where the negative of entry n did (in the other
 * triangle of a skew-symmetric matrix): entry numbers are converted in values' place, and their array then takes what
 * is asked for.
 */
static spry_status find_origins(spry_context *context, int64_t **from, const spry_arrays *view,
                                const spry_convert_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    double *numbers = NULL;
    spry_matrix *numbered = NULL, *converted = NULL;
    spry_convert_options o = *options;
    SPRYI_TRY(SPRYI_NEW(context, &numbers, most_entries(view), "entry numbers", err));
    for (int64_t k = 0; k < view->nnz; k++) numbers[k] = (double)k;
    spry_arrays arrays = *view;
    arrays.value_type = o.value_type = SPRY_F64;
    arrays.values = numbers;
    arrays.ownership = SPRY_BORROW;
    if (view->triangle == SPRY_ALL_ENTRIES) arrays.symmetry = SPRY_GENERAL;
    SPRYI_TRY(spry_matrix_create(context, &numbered, &arrays, err));
    SPRYI_TRY(spry_matrix_convert(context, &converted, numbered, &o, err));
    spry_matrix_destroy(numbered);
    numbered = NULL;
    *from = (int64_t *)(void *)numbers;
    numbers = NULL;
    for (int64_t k = 0; k < converted->a.nnz; k++) {
        const double value = spryi_value_at(converted->a.values, SPRY_F64, k);
        const int64_t number = signbit(value) ? ~(int64_t)-value : (int64_t)value;
        memcpy(*from + k, &number, sizeof number);
    }
done:
    spry_matrix_destroy(converted);
    spry_matrix_destroy(numbered);
    spryi_release(context, numbers);
    return status;
}

/* Bytes of what is converted so far. */
static int64_t converted_bytes(const spry_spgemm_plan *plan)
{
    return plan->input_bytes + plan->a.bytes + plan->b.bytes + plan->columns.bytes;
}

/* Checks the memory of find_origins: the numbers of entries, their conversion, and its scratch. */
static spry_status admit_origins(spry_spgemm_plan *plan, const spry_arrays *view, const spry_convert_options *o,
                                 spry_index_type index_type, spry_error *err)
{
    const int64_t numbers = most_entries(view) * (int64_t)sizeof(double);
    const int64_t moved = spryi_conversion_bytes(plan->context, view, o->layout, SPRY_F64, index_type);
    return spryi_spgemm_admit(plan, spryi_add_bytes(converted_bytes(plan) + numbers, moved), 0, err);
}

/*
 * Checks a conversion before it starts. With far more rows than entries, writing the offsets takes minutes, so memory
 * that the machine lacks is found here.
 */
static spry_status admit_conversion(spry_spgemm_plan *plan, const spry_arrays *view, spry_layout layout,
                                    spry_type value_type, spry_index_type index_type, spry_error *err)
{
    const int64_t lines = (layout == SPRY_CSR ? view->rows : view->cols) + 1;
    const int64_t bytes = spryi_conversion_bytes(plan->context, view, layout, value_type, index_type);
    const int64_t there = plan->context->allocate || lines < INT32_MAX / 16 ? bytes : spry_available_memory_bytes();
    SPRYI_OK_OR_RETURN(spryi_spgemm_admit(plan, spryi_add_bytes(converted_bytes(plan), bytes), 0, err));
    if (bytes > there)
        return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, "B", bytes, there,
                                "out of memory: a conversion to %lld rows needs %lld bytes, about %lld are available",
                                (long long)lines - 1, (long long)bytes, (long long)there);
    return SPRY_OK;
}

spry_status spryi_spgemm_take_entries(spry_spgemm_plan *plan, spryi_operand *operand, spry_error *err)
{
    spry_matrix *given = operand->given, *entries;
    const spry_arrays *a = &given->a;
    if (!given->stored && a->triangle == SPRY_ALL_ENTRIES) return SPRY_OK;
    if (plan->device->driver->host_memory)
        SPRYI_OK_OR_RETURN(admit_conversion(plan, a, SPRY_CSR, a->value_type, a->index_type, err));
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(given, &entries, err));
    if (!given->stored) operand->bytes = spryi_arrays_bytes(&entries->a);
    spryi_matrix_release(given);
    operand->given = entries;
    return SPRY_OK;
}

spry_status spryi_spgemm_admit_pieces(spry_spgemm_plan *plan, spry_error *err)
{
    enum { LEAST = 4096 }; /* entries and rows of a piece */
    const spry_arrays *a = &plan->job.a;
    if (!plan->device->driver->host_memory) return SPRY_OK;
    const int64_t pieces = (a->nnz + a->rows) / LEAST + 1;
    return spryi_spgemm_admit(plan, converted_bytes(plan) + 2 * pieces * (int64_t)sizeof(int64_t), 0, err);
}

static spry_status convert(spry_spgemm_plan *plan, spryi_operand *operand, const spry_matrix *view,
                           const spry_convert_options *options, spry_error *err)
{
    spry_context *context = plan->context;
    const spry_type value_type = options->value_type ? options->value_type : view->a.value_type;
    const spry_index_type index_type = options->index_type ? options->index_type : view->a.index_type;
    const int counts = plan->device->driver->host_memory; /* the limit is of the device that computes */
    if (counts) SPRYI_OK_OR_RETURN(admit_conversion(plan, &view->a, options->layout, value_type, index_type, err));
    SPRYI_OK_OR_RETURN(spry_matrix_convert(context, &operand->csr, view, options, err));
    operand->bytes += spryi_arrays_bytes(&operand->csr->a);
    if (!plan->single_run && view->a.value_type != SPRY_PATTERN) {
        if (counts) SPRYI_OK_OR_RETURN(admit_origins(plan, &view->a, options, index_type, err));
        SPRYI_OK_OR_RETURN(find_origins(context, &operand->from, &view->a, options, err));
        operand->bytes += operand->csr->a.nnz * (int64_t)sizeof *operand->from;
    }
    return SPRY_OK;
}

/* 1: op(A) and op(B) are one matrix, which is B's operand too. */
static int is_square(const spry_spgemm_plan *plan)
{
    return plan->b.given == plan->a.given && plan->options.op_b == plan->options.op_a;
}

/*
 * 1: kernels of a GPU want this one's rows sorted, each column once. Where it is one run's, entries at one position are
 * summed on the way; a plan keeps them, since it looks up where each value came from, and is refused by the kernels.
 */
static int has_to_rise(const spry_spgemm_plan *plan, const spryi_operand *to)
{
    return !plan->device->driver->host_memory && (to == &plan->b || is_square(plan));
}

/* `to` by rows, of `given` or its transpose, with these index types. */
static spry_status make_operand(spry_spgemm_plan *plan, spryi_operand *to, spry_op op, int pair, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_context *context = plan->context;
    spry_matrix *view = NULL;
    if (op == SPRY_TRANSPOSE && to->given->a.device == 0) {
        const spry_arrays arrays = transposed_view(&to->given->a);
        SPRYI_TRY(spry_matrix_create(context, &view, &arrays, err));
    } else {
        view = spryi_matrix_retain(to->given);
    }
    const spry_arrays *a = &view->a;
    const int rise = has_to_rise(plan, to) && a->device == 0;
    if (a->layout == SPRY_CSR && a->triangle == SPRY_ALL_ENTRIES && (op == SPRY_NO_TRANSPOSE || a->device == 0) &&
        a->value_type == plan->job.type && spryi_index_pair(a->offset_type, a->index_type) == pair &&
        (!rise || spryi_spgemm_rises(context, a))) {
        to->csr = view;
        view = NULL;
        goto done;
    }
    if (a->device > 0)
        SPRYI_TRY(spryi_fail(err, SPRY_UNSUPPORTED, to == &plan->a ? "A" : "B",
                             "spgemm: a matrix in device memory has to be CSR with 32-bit columns and the value and "
                             "offset types of the other, and is not transposed there"));
    spry_convert_options options = SPRY_INIT(spry_convert_options);
    options.layout = SPRY_CSR;
    options.value_type = plan->job.type;
    options.offset_type = pair == 0 ? SPRY_I32 : SPRY_I64;
    options.index_type = pair == 2 ? SPRY_I64 : SPRY_I32;
    options.keep_duplicates = !(rise && plan->single_run);
    SPRYI_TRY(convert(plan, to, view, &options, err));
done:
    spry_matrix_destroy(view);
    return status;
}

int spryi_spgemm_common_pair(const spry_arrays *a, const spry_arrays *b)
{
    const spry_arrays *both[] = {a, b};
    int widest = 0;
    for (int m = 0; m < 2; m++) {
        const spry_arrays *x = both[m];
        spry_index_type offsets = x->layout != SPRY_COO                              ? x->offset_type
                                  : x->nnz <= INT32_MAX && x->index_type == SPRY_I32 ? SPRY_I32
                                                                                     : SPRY_I64;
        if (most_entries(x) > INT32_MAX && x->nnz <= INT32_MAX) offsets = SPRY_I64;
        int pair = spryi_index_pair(offsets, x->index_type);
        widest = pair > widest ? pair : widest;
    }
    return widest;
}

spry_status spryi_check_ops(const spry_spgemm_options *o, spry_error *err)
{
    const spry_op ops[] = {o->op_a, o->op_b};
    for (int m = 0; m < 2; m++) {
        const char *name = m == 0 ? "op_a" : "op_b";
        if (ops[m] != SPRY_NO_TRANSPOSE && ops[m] != SPRY_TRANSPOSE)
            return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, ops[m], SPRY_TRANSPOSE,
                                    "%s is %d, expected SPRY_NO_TRANSPOSE or SPRY_TRANSPOSE", name, (int)ops[m]);
    }
    return SPRY_OK;
}

spry_status spryi_make_operands(spry_spgemm_plan *plan, spry_error *err)
{
    int pair = spryi_spgemm_common_pair(&plan->a.given->a, &plan->b.given->a);
    if (!plan->device->driver->host_memory && pair > 1) pair = 1; /* 32-bit columns: what does not fit is refused */
    SPRYI_OK_OR_RETURN(make_operand(plan, &plan->a, plan->options.op_a, pair, err));
    if (is_square(plan))
        plan->b.csr = spryi_matrix_retain(plan->a.csr);
    else
        SPRYI_OK_OR_RETURN(make_operand(plan, &plan->b, plan->options.op_b, pair, err));
    plan->job.a = plan->a.csr->a;
    plan->job.b = plan->b.csr->a;
    plan->converted_bytes = plan->a.bytes + plan->b.bytes;
    return SPRY_OK;
}

spry_status spryi_make_columns(spry_spgemm_plan *plan, spry_error *err)
{
    if (!plan->kernel->spgemm->needs_csc || plan->columns.csr) return SPRY_OK;
    const double start = spryi_now_us();
    spry_convert_options options = SPRY_INIT(spry_convert_options);
    options.layout = SPRY_CSC;
    options.keep_duplicates = 1;
    plan->columns.given = spryi_matrix_retain(plan->b.csr);
    SPRYI_OK_OR_RETURN(convert(plan, &plan->columns, plan->b.csr, &options, err));
    plan->job.b_columns = plan->columns.csr->a;
    plan->converted_bytes += plan->columns.bytes;
    plan->stages.convert_us = spryi_now_us() - start;
    return SPRY_OK;
}

static void refresh_values(void *job, int64_t begin, int64_t end)
{
    const spryi_operand *operand = job;
    const spry_arrays *to = &operand->csr->a;
    for (int64_t k = begin; k < end; k++) {
        const int64_t from = operand->from[k];
        const double value = spryi_value_at(operand->given->a.values, to->value_type, from < 0 ? ~from : from);
        spryi_set_value((void *)(uintptr_t)to->values, to->value_type, k, from < 0 ? -value : value);
    }
}

static void refresh(const spry_context *context, spryi_operand *operand)
{
    if (!operand->from) return;
    const int64_t nnz = operand->csr->a.nnz;
    spryi_loop(context, spryi_threads(context, nnz), nnz, 0, refresh_values, operand);
}

void spryi_refresh_operands(spry_spgemm_plan *plan)
{
    refresh(plan->context, &plan->a);
    refresh(plan->context, &plan->b);
    refresh(plan->context, &plan->columns); /* of what b has now */
}

void spryi_drop_operands(spry_spgemm_plan *plan)
{
    spryi_operand *all[] = {&plan->columns, &plan->a, &plan->b};
    for (int m = 0; m < 3; m++) {
        spry_matrix_destroy(all[m]->csr);
        spry_matrix_destroy(all[m]->given);
        spryi_release(plan->context, all[m]->from);
    }
}
