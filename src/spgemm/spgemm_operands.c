/*
 * Operands of sparse times sparse. Kernels need CSR with all entries, and the same index types in both operands. Other
 * layouts are converted; a transposed CSC is CSR without a copy. Memory bounds are computed before each conversion.
 */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"
#include "spgemm/spgemm_plan.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"

#include <math.h>
#include <string.h>

enum { OFFSET = sizeof(int64_t), HEADS = 4096 /* bytes for the headers of allocated blocks, and for handles */ };

/* ---- arrays ---------------------------------------------------------------------------------------------- */

/* Returns an upper bound on the number of entries after a triangle is expanded. */
static int64_t most_entries(const spry_arrays *a)
{
    return a->triangle == SPRY_ALL_ENTRIES ? a->nnz : 2 * a->nnz;
}

/* Returns the narrowest index pair (types of offsets and columns) that holds both matrices. */
static int common_pair(const spry_arrays *a, const spry_arrays *b)
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

/* ---- the number of products ------------------------------------------------------------------------------ */

/* Adds the entries in rows (by_column: columns) begin .. end - 1 to counts. counts[0] is for row `begin`. */
static void count_lines(const spry_arrays *a, bool by_column, int64_t begin, int64_t end, int64_t *counts)
{
    const bool by_major = a->layout != SPRY_COO && (a->layout == SPRY_CSC) == by_column;
    for (int64_t i = begin; by_major && i < end; i++)
        counts[i - begin] += spryi_offset_of(a, i + 1) - spryi_offset_of(a, i);
    for (int64_t k = 0; !by_major && k < a->nnz; k++) {
        const void *indices = a->layout == SPRY_COO && !by_column ? a->row_indices : a->indices;
        const int64_t line = spryi_index_at(indices, a->index_type, k);
        if (line >= begin && line < end) counts[line - begin]++;
    }
}

/*
 * Counts like count_lines, and includes the mirrored entries of a triangle: the mirror image of entry (i, j) is in row
 * j.
 */
static void count_all_lines(const spry_arrays *a, bool by_column, int64_t begin, int64_t end, int64_t *counts)
{
    count_lines(a, by_column, begin, end, counts);
    if (a->triangle != SPRY_ALL_ENTRIES) count_lines(a, !by_column, begin, end, counts);
}

/* Returns true if offsets count the entries of each row (by_column: column). */
static bool has_offsets_of(const spry_arrays *a, bool by_column)
{
    return a->triangle == SPRY_ALL_ENTRIES && a->layout != SPRY_COO && (a->layout == SPRY_CSC) == by_column;
}

/*
 * Sums the lengths of the lines (rows or columns) of `b` that entries of `a` select. Requires that b's offsets count
 * the entries of these lines. If `a` has more than `most` lines or entries, about `most` of them are sampled, equally
 * spaced.
 */
static double sum_of_lengths(const spry_arrays *a, bool by_column, const spry_arrays *b, int64_t most)
{
    const bool by_lines = has_offsets_of(a, by_column);
    const void *indices = a->layout == SPRY_COO && !by_column ? a->row_indices : a->indices;
    const int64_t items = !by_lines ? a->nnz : by_column ? a->columns : a->rows, step = items / most + 1;
    double sum = 0, sampled = 0;
    for (int64_t k = 0; k < items; k += step, sampled++) {
        const int64_t i = by_lines ? k : spryi_index_at(indices, a->index_type, k);
        const double entries = by_lines ? (double)(spryi_offset_of(a, i + 1) - spryi_offset_of(a, i)) : 1;
        sum += entries * (double)(spryi_offset_of(b, i + 1) - spryi_offset_of(b, i));
    }
    return step > 1 ? sum * (double)items / sampled : sum;
}

/*
 * Counts products from the number of entries that A and B have at each inner index. Processes one block of inner
 * indices at a time.
 */
static double count_by_blocks(const spry_spgemm_plan *plan, int64_t inner, bool a_by_column, bool b_by_column)
{
    enum { BLOCK = 512 };
    static const double MOST_STEPS = 1e9;
    const spry_arrays *a = plan->shown[0], *b = plan->shown[1];
    const int64_t left = plan->options.memory_limit_bytes - plan->costs.input_bytes;
    int64_t small[2 * BLOCK], block = BLOCK, *counts = small;
    void *large = NULL;
    double products = 0;
    if (inner > BLOCK && inner < left / (2 * OFFSET) &&
        spryi_allocate(plan->context, &large, inner, 2 * OFFSET, "entries of rows", NULL) == SPRY_OK) {
        counts = large;
        block = inner;
    }
    const bool takes_too_long = (double)inner / (double)block * (double)(a->nnz + b->nnz) > MOST_STEPS;
    if (takes_too_long) products = (double)most_entries(a) * (double)most_entries(b);
    for (int64_t begin = 0; begin < inner && !takes_too_long; begin += block) {
        const int64_t end = begin + block < inner ? begin + block : inner;
        memset(counts, 0, (size_t)(2 * block) * sizeof *counts);
        count_all_lines(a, a_by_column, begin, end, counts);
        count_all_lines(b, b_by_column, begin, end, counts + block);
        for (int64_t k = 0; k < end - begin; k++) products += (double)counts[k] * (double)counts[block + k];
    }
    spryi_release(plan->context, large);
    return products;
}

/* Counts the products. Returns an upper bound if counting takes too long or an operand is not in host memory. */
static double count_products(const spry_spgemm_plan *plan)
{
    const spry_arrays *a = plan->shown[0], *b = plan->shown[1];
    const bool a_by_column = plan->options.op_a == SPRY_NO_TRANSPOSE,
               b_by_column = plan->options.op_b == SPRY_TRANSPOSE;
    const bool in_memory = a->device <= 0 && b->device <= 0 && (a->indices || a->nnz == 0) &&
                           (b->indices || b->nnz == 0);
    if (!in_memory) return (double)most_entries(a) * (double)most_entries(b);
    if (has_offsets_of(b, b_by_column) && a->triangle == SPRY_ALL_ENTRIES)
        return sum_of_lengths(a, a_by_column, b, INT64_MAX);
    if (has_offsets_of(a, a_by_column) && b->triangle == SPRY_ALL_ENTRIES)
        return sum_of_lengths(b, b_by_column, a, INT64_MAX);
    return count_by_blocks(plan, a_by_column ? a->columns : a->rows, a_by_column, b_by_column);
}

int64_t spryi_spgemm_guess_products(const spry_matrix *A, const spry_matrix *B, const spry_spgemm_options *o)
{
    enum { SAMPLE = 4096 };
    const spry_arrays *a = &A->a, *b = &B->a;
    const bool a_by_column = o->op_a == SPRY_NO_TRANSPOSE, b_by_column = o->op_b == SPRY_TRANSPOSE;
    const int64_t inner = a_by_column ? a->columns : a->rows;
    double products = 0;
    if (!A->stored && !B->stored && has_offsets_of(b, b_by_column) && a->triangle == SPRY_ALL_ENTRIES)
        products = sum_of_lengths(a, a_by_column, b, SAMPLE);
    else if (inner > 0)
        products = (double)most_entries(a) * (double)most_entries(b) / (double)inner;
    return products < (double)(INT64_MAX / 2) ? (int64_t)products : INT64_MAX / 2;
}

/* ---- bounds of memory ------------------------------------------------------------------------------------ */

/* Rounds up a size that was summed in double, which cannot overflow. */
static int64_t whole_bytes(double bytes)
{
    static const double ROUNDING = 1 + 1e-12;
    return bytes * ROUNDING < (double)(INT64_MAX / 2) ? (int64_t)(bytes * ROUNDING) + 1 : INT64_MAX;
}

/* Bounds the bytes that a conversion of `a` to compressed rows or columns holds, including the result. */
static int64_t conversion_bytes(const spry_context *context, const spry_arrays *a, spry_layout layout,
                                spry_type value_type, spry_index_type index_type)
{
    enum { BUCKETS = 1024, COPIES_OF_OFFSETS = 3 };
    const double entries = (double)most_entries(a), lines = (double)(layout == SPRY_CSC ? a->columns : a->rows) + 1;
    const double from = (double)spry_type_bytes(a->value_type), to = (double)spry_type_bytes(value_type);
    const double value = from > to ? from : to, index = (double)spryi_index_type_bytes(index_type);
    const bool compressed = a->layout == layout && a->triangle == SPRY_ALL_ENTRIES;
    const double copies = COPIES_OF_OFFSETS * OFFSET * lines + 2 * entries * (index + value) + HEADS;
    if (compressed) return whole_bytes(copies);
    const double threads = spryi_team(context->threads), in_lines = threads * lines, in_entries = 2 * entries;
    const double cursors = (in_lines < in_entries ? in_lines : in_entries) + threads * BUCKETS;
    const double expanded = (double)a->nnz * (double)spryi_index_type_bytes(a->index_type);
    return whole_bytes(copies + OFFSET * cursors + entries * 2 * index + expanded);
}

/* Bounds the bytes that converting an operand needs, including the result. */
static double bytes_to_convert(const spry_spgemm_plan *plan, const spry_arrays *a, spry_op op, int pair)
{
    const spry_context *context = plan->context;
    const spry_index_type index = pair == 2 ? SPRY_I64 : SPRY_I32;
    const spry_arrays view = op == SPRY_TRANSPOSE ? spryi_transposed_view(a) : *a;
    double bytes = 0;
    if (a->triangle != SPRY_ALL_ENTRIES)
        bytes += (double)conversion_bytes(context, a, SPRY_CSR, a->value_type, a->index_type);
    if (a->triangle == SPRY_ALL_ENTRIES && view.layout == SPRY_CSR && a->value_type == plan->job.type &&
        spryi_index_pair(a->offset_type, a->index_type) == pair)
        return bytes;
    bytes += (double)conversion_bytes(context, &view, SPRY_CSR, plan->job.type, index);
    if (!plan->single_run && a->value_type != SPRY_PATTERN)
        bytes += OFFSET * (double)most_entries(a) + (double)conversion_bytes(context, &view, SPRY_CSR, SPRY_F64, index);
    return bytes;
}

/* Returns a memory limit that suffices for the product on a CPU, for any structure of C. */
static int64_t most_bytes(const spry_spgemm_plan *plan)
{
    enum { PIECE = 4096, SLOT = 64, COLUMN = 17 };
    const spry_arrays *a = plan->shown[0], *b = plan->shown[1];
    if (!a || !b) return 0;
    const spry_spgemm_options *o = &plan->options;
    const int pair = common_pair(a, b);
    const int index = pair == 2 ? 8 : 4, value = (int)spry_type_bytes(plan->job.type);
    const double m = (double)(o->op_a == SPRY_TRANSPOSE ? a->columns : a->rows);
    const double n = (double)(o->op_b == SPRY_TRANSPOSE ? b->rows : b->columns);
    const double products = plan->job.pieces.rows && plan->job.products < INT64_MAX ? (double)plan->job.products
                                                                                    : count_products(plan);
    const double entries = products < m * n ? products : m * n, row = products < n ? products : n;
    double bytes = (double)plan->costs.input_bytes + HEADS;
    bytes += bytes_to_convert(plan, a, o->op_a, pair);
    if (a != b || o->op_a != o->op_b) bytes += bytes_to_convert(plan, b, o->op_b, pair);
    if (plan->named.needs_csc) {
        bytes += (double)conversion_bytes(plan->context, b, SPRY_CSC, plan->job.type, SPRY_I64) * 2;
        bytes += OFFSET * ((double)most_entries(b) + n);
    }
    bytes += (2 * m + 4 * ((double)most_entries(a) + m) / PIECE) * OFFSET;    /* offsets of job and C, pieces */
    bytes += plan->named.sequential ? COLUMN * n : SLOT * (row + 64) + n / 4; /* workspace of one thread */
    return whole_bytes(bytes + entries * (index + value));
}

spry_status spryi_spgemm_admit(spry_spgemm_plan *plan, int64_t bytes, bool exact, spry_error *err)
{
    const int64_t limit = plan->options.memory_limit_bytes;
    if (limit > 0 && bytes > limit) {
        const int64_t most = exact ? bytes : most_bytes(plan), value = most > bytes ? most : bytes;
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", value, limit,
                                "spgemm: inputs, result and workspace need %s%lld bytes, the limit is %lld",
                                exact          ? ""
                                : most > bytes ? "up to "
                                               : "at least ",
                                (long long)value, (long long)limit);
    }
    if (bytes > plan->costs.peak_bytes) plan->costs.peak_bytes = bytes;
    return SPRY_OK;
}

/* Returns the bytes of the given matrices and of the conversions so far. */
static int64_t converted_bytes(const spry_spgemm_plan *plan)
{
    return plan->costs.input_bytes + plan->a.bytes + plan->b.bytes + plan->columns.bytes;
}

/*
 * Checks the memory that find_origins needs: entry indices as values, their conversion, and scratch of the conversion.
 */
static spry_status admit_origins(spry_spgemm_plan *plan, const spry_arrays *view, const spry_matrix_options *o,
                                 spry_index_type index_type, spry_error *err)
{
    const int64_t numbers = most_entries(view) * (int64_t)sizeof(double);
    const int64_t moved = conversion_bytes(plan->context, view, o->layout, SPRY_F64, index_type);
    return spryi_spgemm_admit(plan, spryi_add_bytes(converted_bytes(plan) + numbers, moved), false, err);
}

/*
 * Checks a conversion before it starts. With far more rows than entries, writing the offsets takes minutes, so a lack
 * of memory is found first.
 */
static spry_status admit_conversion(spry_spgemm_plan *plan, const spry_arrays *view, spry_layout layout,
                                    spry_type value_type, spry_index_type index_type, spry_error *err)
{
    const int64_t lines = (layout == SPRY_CSR ? view->rows : view->columns) + 1;
    const int64_t bytes = conversion_bytes(plan->context, view, layout, value_type, index_type);
    const int64_t available = plan->context->allocate || lines < INT32_MAX / 16 ? bytes
                                                                                : spryi_available_memory_bytes();
    SPRYI_OK_OR_RETURN(spryi_spgemm_admit(plan, spryi_add_bytes(converted_bytes(plan), bytes), false, err));
    if (bytes > available)
        return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, "B", bytes, available,
                                "out of memory: a conversion to %lld rows needs %lld bytes, about %lld are available",
                                (long long)lines - 1, (long long)bytes, (long long)available);
    return SPRY_OK;
}

/* Checks the limit before the rows are cut into pieces. */
static spry_status admit_pieces(spry_spgemm_plan *plan, spry_error *err)
{
    enum { LEAST = 4096 }; /* least sum of entries and rows of a piece */
    const spry_arrays *a = &plan->job.a;
    if (!plan->device->driver->host_memory) return SPRY_OK;
    const int64_t pieces = (a->nnz + a->rows) / LEAST + 1;
    return spryi_spgemm_admit(plan, converted_bytes(plan) + 2 * pieces * (int64_t)sizeof(int64_t), false, err);
}

/* ---- conversion ------------------------------------------------------------------------------------------ */

/*
 * Replaces a triangle, or a matrix that a container stores in a format, by CSR with all entries. Counts the bytes of an
 * expanded triangle as converted.
 */
static spry_status take_entries(spry_spgemm_plan *plan, spryi_operand *operand, spry_error *err)
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

/*
 * Expands the operands to all entries if they are converted only once. A plan that may run again keeps a triangle,
 * because the triangle's values may change between runs. The values of a matrix that a container stores in a format
 * cannot change.
 */
static spry_status take_all_entries(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_operand *const operands[] = {&plan->a, &plan->b};
    const bool same = plan->a.given == plan->b.given;
    for (int m = 0; m < (same ? 1 : 2); m++)
        if (plan->single_run || operands[m]->given->a.triangle == SPRY_ALL_ENTRIES)
            SPRYI_OK_OR_RETURN(take_entries(plan, operands[m], err));
    if (!same) return SPRY_OK;
    spryi_matrix_release(plan->b.given);
    plan->b.given = spryi_matrix_retain(plan->a.given);
    return SPRY_OK;
}

/*
 * Sets *from[k] to the entry of `view` that became entry k of its conversion. ~n means the negative of entry n, in the
 * other triangle of a skew-symmetric matrix. Converts a matrix whose values are the indices of its entries.
 */
static spry_status find_origins(spry_context *context, int64_t **from, const spry_arrays *view,
                                const spry_matrix_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    double *numbers = NULL;
    spry_matrix *numbered = NULL, *converted = NULL;
    spry_matrix_options o = *options;
    SPRYI_TRY(SPRYI_NEW(context, &numbers, most_entries(view), "entry indices", err));
    for (int64_t k = 0; k < view->nnz; k++) numbers[k] = (double)k;
    spry_arrays arrays = *view;
    arrays.value_type = o.value_type = SPRY_F64;
    arrays.values = numbers;
    arrays.ownership = SPRY_BORROW;
    if (view->triangle == SPRY_ALL_ENTRIES) arrays.symmetry = SPRY_GENERAL;
    SPRYI_TRY(spry_matrix_create(context, &numbered, &arrays, err));
    SPRYI_TRY(spry_matrix_convert(context, &converted, NULL, numbered, &o, err));
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

static spry_status convert(spry_spgemm_plan *plan, spryi_operand *operand, const spry_matrix *view,
                           const spry_matrix_options *options, spry_error *err)
{
    spry_context *context = plan->context;
    const spry_type value_type = options->value_type ? options->value_type : view->a.value_type;
    const spry_index_type index_type = options->index_type ? options->index_type : view->a.index_type;
    const bool counts = plan->device->driver->host_memory; /* the limit is for memory of the device that computes */
    if (counts) SPRYI_OK_OR_RETURN(admit_conversion(plan, &view->a, options->layout, value_type, index_type, err));
    SPRYI_OK_OR_RETURN(spry_matrix_convert(context, &operand->csr, NULL, view, options, err));
    operand->bytes += spryi_arrays_bytes(&operand->csr->a);
    if (!plan->single_run && view->a.value_type != SPRY_PATTERN) {
        if (counts) SPRYI_OK_OR_RETURN(admit_origins(plan, &view->a, options, index_type, err));
        SPRYI_OK_OR_RETURN(find_origins(context, &operand->from, &view->a, options, err));
        operand->bytes += operand->csr->a.nnz * (int64_t)sizeof *operand->from;
    }
    return SPRY_OK;
}

/* Returns true if op(A) and op(B) are the same matrix. One operand then serves both. */
static bool is_square(const spry_spgemm_plan *plan)
{
    return plan->b.given == plan->a.given && plan->options.op_b == plan->options.op_a;
}

/*
 * Returns true if GPU kernels need this operand's rows sorted without duplicates. For a single run the conversion sums
 * duplicates. A plan keeps duplicates, because find_origins needs one source for each value. The kernels then refuse
 * the operand.
 */
static bool has_to_rise(const spry_spgemm_plan *plan, const spryi_operand *to)
{
    return !plan->device->driver->host_memory && (to == &plan->b || is_square(plan));
}

/* Builds to->csr from to->given or its transpose, with the index types of `pair`. */
static spry_status build_operand(spry_spgemm_plan *plan, spryi_operand *to, spry_op op, int pair, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_context *context = plan->context;
    spry_matrix *view = NULL;
    if (op == SPRY_TRANSPOSE && to->given->a.device == 0) {
        const spry_arrays arrays = spryi_transposed_view(&to->given->a);
        SPRYI_TRY(spry_matrix_create(context, &view, &arrays, err));
    } else {
        view = spryi_matrix_retain(to->given);
    }
    const spry_arrays *a = &view->a;
    const bool rise = has_to_rise(plan, to) && a->device == 0;
    if (a->layout == SPRY_CSR && a->triangle == SPRY_ALL_ENTRIES && (op == SPRY_NO_TRANSPOSE || a->device == 0) &&
        a->value_type == plan->job.type && spryi_index_pair(a->offset_type, a->index_type) == pair &&
        (!rise || spryi_spgemm_rises(context, a))) {
        to->csr = view;
        view = NULL;
        goto done;
    }
    if (a->device > 0)
        SPRYI_TRY(spryi_fail(err, SPRY_UNSUPPORTED, to == &plan->a ? "A" : "B",
                             "spgemm: a matrix in device memory must be CSR with 32-bit columns and with the value and "
                             "offset types of the other matrix, and cannot be transposed"));
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
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

spry_status spryi_build_operands(spry_spgemm_plan *plan, spry_error *err)
{
    SPRYI_OK_OR_RETURN(take_all_entries(plan, err));
    int pair = common_pair(&plan->a.given->a, &plan->b.given->a);
    if (!plan->device->driver->host_memory && pair > 1) pair = 1; /* 32-bit columns; larger matrices are refused */
    SPRYI_OK_OR_RETURN(build_operand(plan, &plan->a, plan->options.op_a, pair, err));
    if (is_square(plan))
        plan->b.csr = spryi_matrix_retain(plan->a.csr);
    else
        SPRYI_OK_OR_RETURN(build_operand(plan, &plan->b, plan->options.op_b, pair, err));
    plan->job.a = plan->a.csr->a;
    plan->job.b = plan->b.csr->a;
    plan->costs.converted_bytes = plan->a.bytes + plan->b.bytes;
    return admit_pieces(plan, err);
}

spry_status spryi_build_columns(spry_spgemm_plan *plan, spry_error *err)
{
    if (!plan->kernel->spgemm->needs_csc || plan->columns.csr) return SPRY_OK;
    const double start = spryi_now_us();
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.layout = SPRY_CSC;
    options.offset_type = plan->b.csr->a.offset_type; /* the kernel has one type for all offsets */
    options.keep_duplicates = true;
    plan->columns.given = spryi_matrix_retain(plan->b.csr);
    SPRYI_OK_OR_RETURN(convert(plan, &plan->columns, plan->b.csr, &options, err));
    plan->job.b_columns = plan->columns.csr->a;
    plan->costs.converted_bytes += plan->columns.bytes;
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
    refresh(plan->context, &plan->columns); /* b was refreshed before, because `columns` is converted from it */
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
