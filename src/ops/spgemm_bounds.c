/* Bounds of what a sparse product on a CPU holds, for limits: conversions, and a limit that suffices for all. */
#include "core/context.h"
#include "core/memory.h"
#include "core/team.h"
#include "ops/spgemm_plan.h"

#include <string.h>

enum { NUMBER = sizeof(int64_t), HEADS = 4096 /* heads of blocks and handles */ };

/* Rounded sizes are summed in double, which cannot overflow. */
static int64_t whole_bytes(double bytes)
{
    static const double ROUNDING = 1 + 1e-12;
    return bytes * ROUNDING < (double)(INT64_MAX / 2) ? (int64_t)(bytes * ROUNDING) + 1 : INT64_MAX;
}

/* Entries of the whole matrix. */
static double all_entries(const spry_arrays *a)
{
    return (a->triangle == SPRY_ALL_ENTRIES ? 1 : 2) * (double)a->nnz;
}

/* ---- conversions ----------------------------------------------------------------------------------------- */

int64_t spryi_conversion_bytes(const spry_context *context, const spry_arrays *a, spry_layout layout,
                               spry_type value_type, spry_index_type index_type)
{
    enum { BUCKETS = 1024, COPIES_OF_OFFSETS = 3 };
    const double entries = all_entries(a), lines = (double)(layout == SPRY_CSC ? a->cols : a->rows) + 1;
    const double from = (double)spry_type_bytes(a->value_type), to = (double)spry_type_bytes(value_type);
    const double value = from > to ? from : to, index = (double)spry_index_type_bytes(index_type);
    const int compressed = a->layout == layout && a->triangle == SPRY_ALL_ENTRIES;
    const double copies = COPIES_OF_OFFSETS * NUMBER * lines + 2 * entries * (index + value) + HEADS;
    if (compressed) return whole_bytes(copies);
    const double threads = spryi_team(context->threads), in_lines = threads * lines, in_entries = 2 * entries;
    const double cursors = (in_lines < in_entries ? in_lines : in_entries) + threads * BUCKETS;
    const double expanded = (double)a->nnz * (double)spry_index_type_bytes(a->index_type);
    return whole_bytes(copies + NUMBER * cursors + entries * 2 * index + expanded);
}

/* ---- the product ----------------------------------------------------------------------------------------- */

/* Counts the entries whose row (by_column: column) is begin .. end - 1, each in its place of `counts`. */
static void count_lines(const spry_arrays *a, int by_column, int64_t begin, int64_t end, int64_t *counts)
{
    const int by_major = a->layout != SPRY_COO && (a->layout == SPRY_CSC) == by_column;
    for (int64_t i = begin; by_major && i < end; i++)
        counts[i - begin] += spryi_offset_of(a, i + 1) - spryi_offset_of(a, i);
    for (int64_t k = 0; !by_major && k < a->nnz; k++) {
        const void *indices = a->layout == SPRY_COO && !by_column ? a->row_indices : a->indices;
        const int64_t line = spryi_index_at(indices, a->index_type, k);
        if (line >= begin && line < end) counts[line - begin]++;
    }
}

/* The same of the whole matrix. The mirror image of an entry in row i and column j is in row j. */
static void count_all_lines(const spry_arrays *a, int by_column, int64_t begin, int64_t end, int64_t *counts)
{
    count_lines(a, by_column, begin, end, counts);
    if (a->triangle != SPRY_ALL_ENTRIES) count_lines(a, !by_column, begin, end, counts);
}

/* Returns whether offsets count the entries of each row (by_column: column). */
static int has_offsets_of(const spry_arrays *a, int by_column)
{
    return a->triangle == SPRY_ALL_ENTRIES && a->layout != SPRY_COO && (a->layout == SPRY_CSC) == by_column;
}

/* Sums the lengths of the lines of `b` that entries of `a` meet; b's offsets are of those lines. */
static double sum_of_lengths(const spry_arrays *a, int by_column, const spry_arrays *b)
{
    double sum = 0;
    if (has_offsets_of(a, by_column)) {
        const int64_t lines = by_column ? a->cols : a->rows;
        for (int64_t i = 0; i < lines; i++)
            sum += (double)(spryi_offset_of(a, i + 1) - spryi_offset_of(a, i)) *
                   (double)(spryi_offset_of(b, i + 1) - spryi_offset_of(b, i));
        return sum;
    }
    const void *indices = a->layout == SPRY_COO && !by_column ? a->row_indices : a->indices;
    for (int64_t k = 0; k < a->nnz; k++) {
        const int64_t i = spryi_index_at(indices, a->index_type, k);
        sum += (double)(spryi_offset_of(b, i + 1) - spryi_offset_of(b, i));
    }
    return sum;
}

/* The entries of each inner index, for a block of them at a time. */
static double count_by_blocks(const spry_spgemm_plan *plan, int64_t inner, int a_by_column, int b_by_column)
{
    enum { BLOCK = 512 };
    static const double MOST_STEPS = 1e9;
    const spry_arrays *a = plan->shown[0], *b = plan->shown[1];
    const int64_t left = plan->options.memory_limit_bytes - plan->input_bytes;
    int64_t small[2 * BLOCK], block = BLOCK, *counts = small;
    void *large = NULL;
    double products = 0;
    if (inner > BLOCK && inner < left / (2 * NUMBER) &&
        spryi_allocate(plan->context, &large, inner, 2 * NUMBER, "entries of rows", NULL) == SPRY_OK) {
        counts = large;
        block = inner;
    }
    const int takes_too_long = (double)inner / (double)block * (double)(a->nnz + b->nnz) > MOST_STEPS;
    if (takes_too_long) products = all_entries(a) * all_entries(b);
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

/* Counts the products of the given operands. Returns a bound if counting takes too long. */
static double count_products(const spry_spgemm_plan *plan)
{
    const spry_arrays *a = plan->shown[0], *b = plan->shown[1];
    const int a_by_column = plan->options.op_a == SPRY_NO_TRANSPOSE, b_by_column = plan->options.op_b == SPRY_TRANSPOSE;
    const int in_memory = a->device <= 0 && b->device <= 0 && (a->indices || a->nnz == 0) &&
                          (b->indices || b->nnz == 0);
    if (!in_memory) return all_entries(a) * all_entries(b);
    if (has_offsets_of(b, b_by_column) && a->triangle == SPRY_ALL_ENTRIES) return sum_of_lengths(a, a_by_column, b);
    if (has_offsets_of(a, a_by_column) && b->triangle == SPRY_ALL_ENTRIES) return sum_of_lengths(b, b_by_column, a);
    return count_by_blocks(plan, a_by_column ? a->cols : a->rows, a_by_column, b_by_column);
}

/* Bytes that converting the operand takes, its result included. */
static double bytes_to_convert(const spry_spgemm_plan *plan, const spry_arrays *a, spry_op op, int pair)
{
    const spry_context *context = plan->context;
    const spry_index_type index = pair == 2 ? SPRY_I64 : SPRY_I32;
    spry_arrays view = *a;
    if (op == SPRY_TRANSPOSE && a->layout != SPRY_COO) view.layout = a->layout == SPRY_CSR ? SPRY_CSC : SPRY_CSR;
    if (op == SPRY_TRANSPOSE) {
        view.rows = a->cols;
        view.cols = a->rows;
    }
    double bytes = 0;
    if (a->triangle != SPRY_ALL_ENTRIES)
        bytes += (double)spryi_conversion_bytes(context, a, SPRY_CSR, a->value_type, a->index_type);
    if (a->triangle == SPRY_ALL_ENTRIES && view.layout == SPRY_CSR && a->value_type == plan->job.type &&
        spryi_index_pair(a->offset_type, a->index_type) == pair)
        return bytes;
    bytes += (double)spryi_conversion_bytes(context, &view, SPRY_CSR, plan->job.type, index);
    if (!plan->single_run && a->value_type != SPRY_PATTERN)
        bytes += NUMBER * all_entries(a) + (double)spryi_conversion_bytes(context, &view, SPRY_CSR, SPRY_F64, index);
    return bytes;
}

int64_t spryi_spgemm_most_bytes(const spry_spgemm_plan *plan)
{
    enum { PIECE = 4096, SLOT = 64, COLUMN = 17 };
    const spry_arrays *a = plan->shown[0], *b = plan->shown[1];
    if (!a || !b) return 0;
    const spry_spgemm_options *o = &plan->options;
    const int pair = spryi_spgemm_common_pair(a, b);
    const int index = pair == 2 ? 8 : 4, value = (int)spry_type_bytes(plan->job.type);
    const double m = (double)(o->op_a == SPRY_TRANSPOSE ? a->cols : a->rows);
    const double n = (double)(o->op_b == SPRY_TRANSPOSE ? b->rows : b->cols);
    const double products = plan->job.pieces.rows && plan->job.products < INT64_MAX ? (double)plan->job.products
                                                                                    : count_products(plan);
    const double entries = products < m * n ? products : m * n, row = products < n ? products : n;
    double bytes = (double)plan->input_bytes + HEADS;
    bytes += bytes_to_convert(plan, a, o->op_a, pair);
    if (a != b || o->op_a != o->op_b) bytes += bytes_to_convert(plan, b, o->op_b, pair);
    if (plan->needs_csc) {
        bytes += (double)spryi_conversion_bytes(plan->context, b, SPRY_CSC, plan->job.type, SPRY_I64) * 2;
        bytes += NUMBER * (all_entries(b) + n);
    }
    bytes += (2 * m + 4 * (all_entries(a) + m) / PIECE) * NUMBER;       /* offsets and pieces of the job, and of C */
    bytes += plan->sequential ? COLUMN * n : SLOT * (row + 64) + n / 4; /* workspace of one thread */
    return whole_bytes(bytes + entries * (index + value));
}
