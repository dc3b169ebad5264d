/*
 * Choice of a format for "auto", by policy. Policy "cost" chooses the format with the least predicted time for set-up
 * and the expected products together (rank.c). Policy "tree" follows the decision tree of Sparse Methods, for
 * comparison. Policy "measure" times the formats that rank first (plan/policy_measure.c). Without measurements, policy
 * "measure" equals "cost".
 *
 * Policy "cost" chooses csr without ranking if there are no entries, or if too few products are expected for a
 * conversion or an inspection to pay. A transposed product is a product of A^T, which csc builds in any case. If an
 * inspection of A^T does not pay, csc is chosen. If the padding guard or the memory limit refuses a format, csr
 * replaces it (plan/plan.c).
 */
#include "choose/choose.h"

#include "base/context.h"
#include "base/error.h"
#include "catalogue/catalogue.h"
#include "choose/rank.h"
#include "matrix/assemble.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* With fewer calls, csr is chosen: a conversion takes as long as some products and saves a part of each. */
enum { FEW_CALLS = 8 };

/*
 * Chooses the format with this name. `reason` is a format string of printf for the arguments after it. The text of the
 * choice's reason is the name, followed by the formatted text.
 */
__attribute__((format(printf, 4, 5))) static void choose(spryi_choice *choice, const char *format, spry_reason code,
                                                         const char *reason, ...)
{
    choice->code = code;
    choice->format = spryi_find_format(format);
    const int used = snprintf(choice->reason, sizeof choice->reason, "%s: ", format);
    va_list list;
    va_start(list, reason);
    (void)spryi_write_list(choice->reason + used, sizeof choice->reason - (size_t)used, reason, list);
    va_end(list);
}

/* Returns the class of a GPU: the class whose last cache is nearest in size to the GPU's last cache. */
static const spryi_device_class *class_of_gpu(const spryi_device *device)
{
    const spryi_device_class *nearest = NULL;
    double least = INFINITY;
    for (int n = 0; spryi_device_class_at(n); n++) {
        const spryi_device_class *c = spryi_device_class_at(n);
        const double difference = fabs((double)device->cache_bytes - c->cache_bytes);
        if (strcmp(c->driver, "cuda") != 0 || difference >= least) continue;
        nearest = c;
        least = difference;
    }
    return nearest;
}

const spryi_device_class *spryi_class_of(const spryi_device *device)
{
    static const char *const names[2][2] = {{"avx2", "avx2-amd"}, {"avx512", "avx512-amd"}};
    const spry_context *context = device->context;
    if (device->driver->massively_parallel) return spryi_class_named(context, class_of_gpu(device)->name);
    return spryi_class_named(context, names[context->simd >= SPRYI_AVX512][context->amd]);
}

/* ---- policies ------------------------------------------------------------------------------------------ */

spry_status spryi_check_policy(const char *policy, spry_error *err)
{
    static const char *const names[] = {"cost", "measure", "tree", "tree:memory", "tree:unpredictable"};
    if (!policy) return SPRY_OK;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(policy, names[n]) == 0) return SPRY_OK;
    return spryi_fail(err, SPRY_UNKNOWN_NAME, "policy",
                      "no policy \"%s\", expected cost, measure, tree, tree:memory or tree:unpredictable", policy);
}

bool spryi_is_measured(const char *policy)
{
    return policy && strcmp(policy, "measure") == 0;
}

/* ---- the decision tree --------------------------------------------------------------------------------- */

/*
 * The decision tree of Sparse Methods, unchanged; docs/formats.md explains its terms.
 *
 *     column operations?       yes: CSC
 *     memory-constrained?      yes: CSR
 *     unpredictable?           yes: HYB
 *     rows uniform?  yes: longest ~ mean?  yes: ELL     no: HYB
 *                    no:  very sparse?     yes: COO     no: CSR
 *
 *   column operations   the transposed product
 *   memory-constrained, unpredictable   stated by the caller: "tree:memory", "tree:unpredictable"
 *   uniform      without the longest hundredth of the rows (HYB is for a few long rows), the standard deviation of the
 *                row lengths is at most UNIFORM times their mean
 *   longest ~    the longest row has at most NEAR times the mean length
 *   very sparse  the mean row has fewer than SPARSE entries, or at least the share EMPTY of the rows is empty
 */
static const double UNIFORM = SPRYI_UNIFORM, NEAR = 1.5, SPARSE = 2, EMPTY = 0.5;

/* policy NULL: the default policy. */
static bool is_tree(const char *policy)
{
    return policy && strncmp(policy, "tree", 4) == 0;
}

/* Returns the name of the format that an answer of the tree chooses. */
static const char *format_of(spryi_tree_answer answer)
{
    int f = 0;
    while (!(spryi_format_at(f)->choice.tree_answers & answer)) f++;
    return spryi_format_at(f)->name;
}

static void choose_by_rows(spryi_choice *choice, const spryi_row_profile *rows)
{
    if (spryi_rows_are_uniform(rows)) {
        const bool near = rows->longest <= NEAR * rows->mean;
        choose(choice, format_of(near ? SPRYI_TREE_UNIFORM : SPRYI_TREE_FEW_LONG), SPRY_REASON_UNIFORM_ROWS,
               "rows are uniform (deviation %.2f of the mean <= %.2g without the longest 1 %%) and the longest, "
               "%.0f, is %s %.2g times the mean %.1f",
               rows->body_deviation, UNIFORM, rows->longest, near ? "within" : "over", NEAR, rows->mean);
        return;
    }
    const bool sparse = rows->mean < SPARSE || rows->empty >= EMPTY;
    choose(choice, format_of(sparse ? SPRYI_TREE_VERY_SPARSE : SPRYI_TREE_OTHER),
           sparse ? SPRY_REASON_VERY_SPARSE : SPRY_REASON_IRREGULAR_ROWS,
           "row lengths vary (deviation %.2f of the mean, uniform: <= %.2g), and the mean row %.1f (very sparse: "
           "< %.2g), empty rows %.0f %% (>= %.0f %%) are %svery sparse",
           rows->body_deviation, UNIFORM, rows->mean, SPARSE, 100 * rows->empty, 100 * EMPTY, sparse ? "" : "not ");
}

/* Chooses by the tree. options->policy begins with "tree". */
static spry_status follow_tree(spryi_choice *choice, const spry_matrix *A, const spry_spmv_options *options,
                               spry_error *err)
{
    spry_matrix *structure = NULL;
    spryi_row_profile rows;
    spry_status status = SPRY_OK;
    if (options->op == SPRY_TRANSPOSE)
        choose(choice, format_of(SPRYI_TREE_COLUMNS), SPRY_REASON_TRANSPOSED,
               "the transposed product works by columns");
    else if (strcmp(options->policy, "tree:memory") == 0)
        choose(choice, format_of(SPRYI_TREE_MEMORY), SPRY_REASON_MEMORY, "memory is scarce, as the policy states");
    else if (strcmp(options->policy, "tree:unpredictable") == 0)
        choose(choice, format_of(SPRYI_TREE_UNPREDICTABLE), SPRY_REASON_IRREGULAR_ROWS,
               "rows are unpredictable, as the policy states");
    else if (A->a.nnz == 0)
        choose(choice, SPRYI_BASELINE, SPRY_REASON_EMPTY, "no entries");
    if (choice->format) return SPRY_OK;
    SPRYI_TRY(spryi_structure_of(&structure, A, SPRY_NO_TRANSPOSE, err));
    SPRYI_TRY(spryi_find_row_profile(&rows, A->context, &structure->a, SPRYI_FULL, err));
    choose_by_rows(choice, &rows);
done:
    spryi_matrix_release(structure);
    return status;
}

/* ---- choice without an inspection ----------------------------------------------------------------------- */

/* Returns a text that says what csr's set-up does with this matrix (formats/csr/csr_format.c). */
static const char *cost_of_csr(const spry_matrix *A)
{
    if (A->a.layout == SPRY_CSR) return "it needs no conversion";
    if (A->a.layout == SPRY_COO && A->a.sorted == SPRY_KNOWN_YES) return "only row offsets must be computed";
    return "converted once";
}

/* Returns the number of products that follow each conversion; 0: many. An update counts as a conversion. */
static int64_t calls_a_conversion(const spry_spmv_options *options)
{
    const int64_t calls = options->expected_calls, updates = options->expected_updates;
    if (calls == 0) return 0;
    return updates < calls ? calls / (1 + updates) : 1;
}

int64_t spryi_calls_counted(const spry_spmv_options *options)
{
    const int64_t calls = calls_a_conversion(options);
    return calls > 0 ? calls : SPRYI_MANY_CALLS;
}

static bool has_few_calls(const spry_spmv_options *options)
{
    const int64_t calls = calls_a_conversion(options);
    return calls > 0 && calls < FEW_CALLS;
}

bool spryi_may_inspect(spryi_effort *effort, const spry_matrix *A, const spry_spmv_options *options,
                       const spryi_device_class *device)
{
    const bool on_cpu = spryi_class_is_cpu(device);
    *effort = on_cpu ? SPRYI_FULL : SPRYI_QUICK; /* full ones gain 0.1 % on GPUs, in 5 ms */
    if (has_few_calls(options) || A->a.nnz == 0) return false;
    if (options->op == SPRY_TRANSPOSE && options->memory_limit_bytes > 0) return false;
    if (spryi_is_measured(options->policy)) return true; /* measuring takes longer than an inspection in any case */
    if (calls_a_conversion(options) == 0 && !on_cpu) return true;
    return spryi_inspection_pays(effort, &A->a, options->op, device, spryi_calls_counted(options));
}

/* Returns whether csr is unsuitable. On GPUs, csr's transposed product uses atomics, so bits differ between runs. */
static bool csr_is_unsuitable(const spry_spmv_options *options, const spryi_device_class *device)
{
    return options->op == SPRY_TRANSPOSE && !spryi_class_is_cpu(device) && !options->allow_nondeterministic;
}

static void choose_without_inspection(spryi_choice *choice, const spry_matrix *A, const spry_spmv_options *options,
                                      const spryi_device_class *device)
{
    const char *cost = cost_of_csr(A);
    if (has_few_calls(options) && !csr_is_unsuitable(options, device))
        choose(choice, SPRYI_BASELINE, SPRY_REASON_FEW_CALLS, "too few calls expected for each conversion to pay; %s",
               cost);
    else if (options->op == SPRY_TRANSPOSE)
        choose(choice, format_of(SPRYI_TREE_COLUMNS), SPRY_REASON_TRANSPOSED,
               "the transposed product works by columns");
    else if (A->a.nnz == 0)
        choose(choice, SPRYI_BASELINE, SPRY_REASON_EMPTY, "no entries; %s", cost);
    else
        choose(choice, SPRYI_BASELINE, SPRY_REASON_FEW_CALLS, "%s for an inspection of the matrix to pay; %s",
               options->expected_calls > 0 ? "too few calls expected" : "too few entries", cost);
    if (A->a.nnz > 0 && options->op == SPRY_NO_TRANSPOSE)
        choice->kernel = spryi_kernel_for_few(A, options->vector_type, device, spryi_calls_counted(options));
    const size_t used = strlen(choice->reason);
    if (choice->kernel)
        snprintf(choice->reason + used, sizeof choice->reason - used, "; with %s, chosen by predicted time",
                 choice->kernel);
}

/* ---- by cost ------------------------------------------------------------------------------------------- */

spryi_digits spryi_three_digits(double value)
{
    spryi_digits text;
    (void)spryi_write(text.s, sizeof text.s, value >= 999.5 && value < 1e15 ? "%.0f" : "%.3g", value);
    return text;
}

/* Writes " of 8 vectors", or "" for one vector. */
static const char *format_columns(char *text, size_t size, int64_t columns)
{
    text[0] = 0;
    if (columns > 1) (void)spryi_write(text, size, " of %lld vectors", (long long)columns);
    return text;
}

/*
 * Writes the reason for a ranked choice: "windowed: 19.1 us a product predicted, sell 21.7, csr 25.9, ...". Times on a
 * CPU are shown as shares of the time of csr, which depends on the machine: "packed: predicted to take 0.71 of csr's
 * time a product, sell 0.85, ...".
 */
static void explain_ranking(spryi_choice *choice, const spryi_ranking *r)
{
    const spryi_estimate *taken = &r->list[r->taken];
    const bool as_shares = spryi_class_is_cpu(r->device);
    const double unit = as_shares ? r->list[r->csr].us : 1;
    char alternatives[160] = "", columns[40], time[96];
    size_t used = 0;
    for (int k = 0; k < r->allowed; k++)
        if (k != r->taken && used < sizeof alternatives)
            used += (size_t)spryi_write(alternatives + used, sizeof alternatives - used, "%s%s %s", used ? ", " : "",
                                        r->list[k].kernel ? r->list[k].kernel : r->list[k].format,
                                        spryi_three_digits(r->list[k].us / unit).s);
    const spryi_digits own = spryi_three_digits(taken->us / unit);
    (void)format_columns(columns, sizeof columns, r->columns);
    if (!as_shares)
        (void)spryi_write(time, sizeof time, "%s us a product%s predicted", own.s, columns);
    else if (r->taken == r->csr)
        (void)spryi_write(time, sizeof time, "least time predicted; relative to its product%s", columns);
    else
        (void)spryi_write(time, sizeof time, "predicted to take %s of csr's time a product%s", own.s, columns);
    choose(choice, taken->format, SPRY_REASON_LEAST_TIME, "%s%s%s, %s; set-up counted over %lld", time,
           taken->kernel ? " with " : "", taken->kernel ? taken->kernel : "",
           used ? alternatives : "the only suitable format", (long long)r->calls);
}

void spryi_choose_ranked(spryi_choice *choice, const spryi_ranking *ranking, int place)
{
    const spryi_estimate *taken = &ranking->list[place];
    if (!choice->format) choose(choice, taken->format, SPRY_REASON_LEAST_TIME, "among the least predicted times");
    choice->us = taken->us;
    choice->csr_us = ranking->list[ranking->csr].us;
    const spryi_estimator *e = taken->index >= 0 ? spryi_estimated_at(taken->index)->choice.estimator : NULL;
    if (e && e->set_parameters) e->set_parameters(choice->parameters, &ranking->features.guesses[taken->index]);
    choice->kernel = taken->kernel;
}

void spryi_write_transposed_reason(char *reason, size_t size)
{
    const size_t used = strlen(reason);
    snprintf(reason + used, size - used, "; the plan builds the transposed matrix");
}

bool spryi_wants_transposed(const spry_matrix *A, const spry_spmv_options *options, const spryi_device_class *device)
{
    spryi_effort effort;
    return options->op == SPRY_TRANSPOSE && !is_tree(options->policy) && spryi_may_inspect(&effort, A, options, device);
}

spry_status spryi_rank_for(spryi_ranking *ranking, const spry_matrix *A, const spry_spmv_options *options,
                           const spryi_device_class *device, spry_error *err)
{
    spryi_rank_request request = {.A = A,
                                  .op = options->op,
                                  .vector_type = options->vector_type,
                                  .device = device,
                                  .threads = spryi_threads_for(A->context, spryi_arrays_bytes(&A->a), options->threads),
                                  .calls = spryi_calls_counted(options),
                                  .columns = options->count,
                                  .row_major = options->row_major,
                                  .keeps_type = options->keep_value_type};
    (void)spryi_may_inspect(&request.effort, A, options, device);
    return spryi_rank(ranking, &request, err);
}

spry_status spryi_choose_on(const spry_matrix *A, const spry_spmv_options *options, const spryi_device_class *device,
                            const spryi_ranking *ranking, spryi_choice *choice, spry_error *err)
{
    spryi_ranking own_ranking;
    spryi_effort effort;
    if (is_tree(options->policy)) return follow_tree(choice, A, options, err);
    if (!spryi_may_inspect(&effort, A, options, device)) {
        choose_without_inspection(choice, A, options, device);
        return SPRY_OK;
    }
    if (!ranking) SPRYI_OK_OR_RETURN(spryi_rank_for(&own_ranking, A, options, device, err));
    if (!ranking) ranking = &own_ranking;
    explain_ranking(choice, ranking);
    spryi_choose_ranked(choice, ranking, ranking->taken);
    if (options->op == SPRY_TRANSPOSE) spryi_write_transposed_reason(choice->reason, sizeof choice->reason);
    return SPRY_OK;
}

spry_status spryi_choose_format(const spry_matrix *A, const spry_spmv_options *options, const spryi_device *device,
                                spryi_choice *choice, spry_error *err)
{
    return spryi_choose_on(A, options, spryi_class_of(device), NULL, choice, err);
}

void spryi_choose_instead(spryi_choice *choice, const char *format, const char *refused)
{
    choose(choice, format, SPRY_REASON_MEMORY, "%s would take more memory than is allowed", refused);
}
