/* The names that spry bench is given: of formats, kernels and policies, with their parameters. */
#include "cli/bench_names.h"
#include "cli/cli.h"
#include "spry/tools.h"

#include <string.h>

enum { MOST_NAMES = 256 };
typedef struct name_list {
    const char *names[MOST_NAMES];
    int count;
} name_list;

static int check_names(const char *option, const char *what, const text_list *list, const name_list *known)
{
    for (int i = 0; i < list->count; i++) {
        int found = 0;
        for (int k = 0; k < known->count; k++) found |= text_is_named(list->items[i], known->names[k]);
        if (found) continue;
        const char *nearest = cli_nearest(list->items[i], known->names, known->count);
        if (nearest)
            return cli_usage_error("--%s: there is no %s '%s'; did you mean '%s'?", option, what, list->items[i],
                                   nearest);
        return cli_usage_error("--%s: there is no %s '%s'; 'spry kernels' lists them", option, what, list->items[i]);
    }
    return CLI_GO_ON;
}

int cli_bench_check_formats(const bench_options *o)
{
    name_list known = {.names = {"auto"}, .count = 1};
    for (int f = 0; f < spry_format_count() && known.count < MOST_NAMES; f++) {
        spry_format_info info = SPRY_INIT(spry_format_info);
        if (spry_format_get_info(&info, f, NULL) == SPRY_OK) known.names[known.count++] = info.name;
    }
    if (text_list_has(&o->candidates.formats, "all"))
        return cli_usage_error("--formats: 'all' stands alone, not in a list");
    return check_names("formats", "format", &o->candidates.formats, &known);
}

static int check_policy(const char *policy, spry_context *context, const spry_matrix *A)
{
    spry_error err = {0};
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_storage storage = SPRY_INIT(spry_storage);
    options.policy = policy;
    spry_status found = spry_spmv_predict_storage(context, &storage, A, &options, &err);
    return found == SPRY_UNKNOWN_NAME ? cli_usage_error("--policy: %s", err.message) : CLI_GO_ON;
}

/* A kernel of products with vectors, on A. */
static spry_status try_kernel(const char *name, spry_context *context, const spry_matrix *A, spry_error *err)
{
    spry_spmv_plan *plan = NULL;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.kernel = name;
    options.allow_nondeterministic = 1;
    const spry_status status = spry_spmv_plan_create(context, &plan, A, &options, err);
    spry_spmv_plan_destroy(plan);
    return status;
}

/* One of sparse products. */
static spry_status try_square(const char *name, spry_context *context, const spry_matrix *A, spry_error *err)
{
    spry_matrix *C = NULL;
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.kernel = name;
    const spry_status status = spry_spgemm(context, &C, A, A, &options, err);
    spry_matrix_destroy(C);
    return status;
}

/* Of what follows a kernel's name; one that cannot run here is looked at where it can. */
static int check_kernel_parameters(const bench_options *o, spry_context *context, const spry_matrix *A)
{
    const text_list *kernels = &o->candidates.kernels;
    for (int i = 0; i < kernels->count; i++) {
        spry_error err = {0};
        const char *name = kernels->items[i];
        if (!strchr(name, ':')) continue;
        const spry_status status = bench_factor_of(o->operation.op) == BY_A_MATRIX ? try_square(name, context, A, &err)
                                                                                   : try_kernel(name, context, A, &err);
        if (status == SPRY_UNKNOWN_NAME || status == SPRY_INVALID_ARGUMENT)
            return cli_usage_error("--kernels: %s", err.message);
    }
    return CLI_GO_ON;
}

int cli_bench_check_parameters(const bench_options *o, spry_context *context)
{
    static const int32_t offsets[1] = {0};
    spry_error err = {0};
    spry_matrix *A = NULL;
    if (spry_matrix_borrow_csr_f64(context, &A, 0, 0, offsets, NULL, NULL, &err) != SPRY_OK) return cli_fail(&err);
    int status = CLI_GO_ON;
    for (int i = 0; i < o->candidates.formats.count && status == CLI_GO_ON; i++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        spry_storage storage = SPRY_INIT(spry_storage);
        options.format = o->candidates.formats.items[i];
        if (!strchr(options.format, ':')) continue;
        spry_status found = spry_spmv_predict_storage(context, &storage, A, &options, &err);
        if (found == SPRY_UNKNOWN_NAME || found == SPRY_INVALID_ARGUMENT)
            status = cli_usage_error("--formats: %s", err.message);
    }
    if (status == CLI_GO_ON) status = check_kernel_parameters(o, context, A);
    if (status == CLI_GO_ON && o->candidates.policy) status = check_policy(o->candidates.policy, context, A);
    spry_matrix_destroy(A);
    return status;
}

/* A kernel of another kind of product would be left out without a word. */
static int check_operation(const char *kernel, bench_factor factor, const char *op)
{
    if (factor == bench_factor_of(op)) return CLI_GO_ON;
    if (factor == BY_A_MATRIX)
        return cli_usage_error("--kernels: '%s' multiplies two sparse matrices; add --op spgemm", kernel);
    if (factor == BY_COLUMNS)
        return cli_usage_error("--kernels: '%s' multiplies with several columns; add --op spmm", kernel);
    if (factor == IN_CG) return cli_usage_error("--kernels: '%s' solves by CG; add --op cg", kernel);
    if (factor == IN_PAGERANK) return cli_usage_error("--kernels: '%s' ranks nodes; add --op pagerank", kernel);
    if (bench_iterates(op))
        return cli_usage_error("--kernels: '%s' is a peer's product, which --op %s does not time", kernel, op);
    return cli_usage_error("--kernels: '%s' multiplies with a vector, which --op %s does not", kernel, op);
}

int cli_bench_check_kernels(const bench_options *o, spry_context *context, const bench_peers *peers, int want_peers)
{
    const int spmv = spry_kernel_count(), ours = spmv + spry_spgemm_kernel_count();
    name_list known = {.count = 0};
    const bench_factor wanted = bench_factor_of(o->operation.op),
                       of_plans = wanted == BY_A_MATRIX ? BY_A_VECTOR : wanted;
    bench_factor factors[MOST_NAMES];
    int elsewhere[MOST_NAMES] = {0}, status, fitting = 0;
    for (int k = 0; k < ours && known.count < MOST_NAMES; k++) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        const spry_status found = k < spmv ? spry_kernel_get_info(context, &info, k, NULL)
                                           : spry_spgemm_kernel_get_info(context, &info, k - spmv, NULL);
        factors[known.count] = k < spmv ? of_plans : BY_A_MATRIX; /* plans take columns as they take a vector */
        elsewhere[known.count] = found == SPRY_OK && strcmp(o->candidates.device, "all") != 0 &&
                                 strcmp(o->candidates.device, info.device_kind) != 0;
        if (found == SPRY_OK) known.names[known.count++] = info.name;
    }
    const char *name;
    for (int p = 0; known.count < MOST_NAMES && (name = bench_peer_name(peers, p, &factors[known.count])) != NULL;
         p++) {
        if (!want_peers && text_list_has(&o->candidates.kernels, name))
            return cli_usage_error("--kernels: '%s' is a peer's kernel; add --peers", name);
        if (want_peers) known.names[known.count++] = name;
    }
    status = check_names("kernels", "kernel", &o->candidates.kernels, &known);
    for (int k = 0; status == CLI_GO_ON && k < known.count; k++)
        if (text_list_names(&o->candidates.kernels, known.names[k])) {
            status = check_operation(known.names[k], factors[k], o->operation.op);
            fitting += !elsewhere[k];
        }
    if (status == CLI_GO_ON && fitting == 0 && o->candidates.kernels.count > 0 && o->candidates.formats.count == 0)
        return cli_usage_error("--device is '%s', on which none of --kernels runs", o->candidates.device);
    return status;
}
