/* spry spgemm: multiplies two sparse matrices, optionally with a memory limit and a check. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/study.h"

#include "common/disturbance.h"
#include "common/input.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    int device_number; /* index of `device`, or SPRY_DEVICE_AUTO */
    const char *out, *device, *kernel;
    bool transpose_a, transpose_b, estimate, yes, drop_zeros;
    int verify; /* 0: none, 1: random, 2: exact */
    double alpha;
    int64_t memory_limit, threads;
    spry_type type;
    spry_index_type index[2]; /* of offsets and of columns */
    cli_json json;
} arguments;

/* A product: matrices and results. */
typedef struct product {
    spry_context *context;
    const char *a_path, *b_path;   /* b_path NULL: B is A */
    char name_a[124], name_b[124]; /* names of the files, with folders if the names would be equal */
    char name[256];                /* "a" if A is squared, else "a*b", with ^T for transposed matrices */
    spry_matrix *A, *B, *C;        /* B may be A */
    spry_arrays a, b, c;
    const char *class_name; /* "regular" or "irregular" rows of A; "" if no JSON record is written */
    double read_us, whole_us;
    double disturbance; /* share of the processors that other programs used during the product */
    spry_spgemm_info info;
    spry_spgemm_stages stages;
    spry_spgemm_estimate_info estimate;
    spry_spgemm_verification check;
} product;

/* ---- options ------------------------------------------------------------------------------------ */

static int take_verify(void *state, const char *value)
{
    int index = 0, status = value ? cli_take_word("verify", value, "random|exact", &index) : CLI_GO_ON;
    ((arguments *)state)->verify = 1 + index;
    return status;
}

static const cli_option options[] = {
    {"out", 'o', "OUT", "write C: .mtx, .csv, .mtx.gz, .spry; '-' is standard output", CLI_TEXT, CLI_AT(out)},
    {"transpose-a", 0, NULL, "use the transpose of A: C = A^T*B, or A^T*A", CLI_FLAG, CLI_AT(transpose_a)},
    {"transpose-b", 0, NULL, "use the transpose of B: C = A*B^T, or A*A^T", CLI_FLAG, CLI_AT(transpose_b)},
    {"device", 0, "auto|cpu|cuda", "device to use; auto: the one predicted to be faster (default: auto)", CLI_WORD,
     CLI_AT(device)},
    {"memory-limit", 0, "BYTES",
     "memory limit of inputs, result and workspace together, on the device\n"
     "that computes: 500MB (powers of 1000), 2GiB or 2G (powers of 1024). If\n"
     "a product needs more, the error reports a limit that suffices",
     CLI_BYTES, CLI_AT(memory_limit)},
    {"yes", 0, NULL, "multiply even if C is predicted to need more than half of the free memory", CLI_FLAG,
     CLI_AT(yes)},
    {"verify", 0, "random|exact",
     "random: compare C*x with A*(B*x) for a random x (default); exact:\n"
     "compare structure and values with a product in about twice the\n"
     "precision",
     CLI_OWN, .take = take_verify, .optional = 1},
    {"estimate", 0, NULL, "report products, entries of C and bytes without multiplying", CLI_FLAG, CLI_AT(estimate)},
    {"alpha", 0, "A", "factor of the product (default: 1)", CLI_NUMBER, CLI_AT(alpha)},
    {"drop-zeros", 0, NULL, "remove entries with computed value 0 (default: keep them)", CLI_FLAG, CLI_AT(drop_zeros)},
    {"kernel", 0, "NAME",
     "a kernel of 'spry kernels' with operation spgemm, optionally with\n"
     "parameters, which 'spry kernels --long' lists",
     CLI_TEXT, CLI_AT(kernel)},
    {"type", 0, "f32|f64", "type of values (default: f64)", CLI_CHOICE, CLI_AT(type), SPRY_F32},
    {"index", 0, "32/32|64/32|64/64", "bits of the inputs' offsets/columns (default: the smallest that fit)", CLI_INDEX,
     CLI_AT(index)},
    CLI_THREADS_OPTION("threads of the product"),
    CLI_READING_OPTIONS,
    CLI_JSON_OPTION("a JSON line"),
    CLI_END_OF_OPTIONS,
};

static int check_arguments(const arguments *a, const product *p)
{
    if (a->estimate && a->out) return cli_usage_error("--estimate does not compute C: it excludes --out");
    if (a->estimate && a->verify) return cli_usage_error("--estimate does not compute C: it excludes --verify");
    if (cli_is_dash(p->b_path) && cli_is_dash(p->a_path))
        return cli_usage_error("A and B are both '-': give only A to multiply it by itself");
    int status = cli_check_stdout(a->out, &a->json);
    if (status == CLI_GO_ON) status = cli_check_range("alpha", a->alpha, a->type);
    if (status == CLI_GO_ON) status = cli_check_matrix_name(a->out);
    if (status == CLI_GO_ON) status = cli_check_outputs(a->out, &a->json, p->a_path);
    return status == CLI_GO_ON && p->b_path ? cli_check_outputs(a->out, &a->json, p->b_path) : status;
}

/* Returns the library's options. They borrow alpha. */
static spry_spgemm_options product_options(const arguments *a, const void *alpha)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.alpha = alpha;
    o.op_a = a->transpose_a ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    o.op_b = a->transpose_b ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    o.device = a->device_number;
    o.kernel = a->kernel;
    o.drop_zeros = a->drop_zeros;
    o.memory_limit_bytes = a->memory_limit;
    return o;
}

/* Squares a 1 x 1 matrix, so that unknown names and missing devices are reported before large matrices are read. */
static int check_names(spry_context *context, arguments *a)
{
    spry_matrix *A = NULL, *C = NULL;
    spry_error err = {0};
    spry_status status = SPRY_OK;
    if (strcmp(a->device, "auto") == 0)
        a->device_number = SPRY_DEVICE_AUTO;
    else
        status = find_device(context, &a->device_number, a->device, &err);
    if (!a->kernel && a->device_number == SPRY_DEVICE_AUTO) return CLI_GO_ON;
    spry_spgemm_options o = product_options(a, NULL);
    o.memory_limit_bytes = 0;
    if (status == SPRY_OK) status = cli_unit_matrix(context, &A, a->type, &err);
    if (status == SPRY_OK) status = spry_spgemm(context, &C, NULL, A, A, &o, &err);
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    return cli_fail_early(status, &err);
}

/* ---- matrices ----------------------------------------------------------------------------------- */

static int read_one(const product *p, const arguments *a, const char *path, spry_matrix **A, spry_arrays *arrays)
{
    spry_error err = {0};
    int status = cli_read_csr(p->context, A, path, a->type, a->index);
    if (status == CLI_GO_ON && spry_matrix_get_arrays(*A, arrays, &err) != SPRY_OK) status = cli_fail(&err);
    return status;
}

static int check_sizes(const product *p, const arguments *a)
{
    const int64_t a_length = a->transpose_a ? p->a.rows : p->a.columns,
                  b_length = a->transpose_b ? p->b.columns : p->b.rows;
    if (a_length == b_length) return CLI_GO_ON;
    if (!p->b_path)
        return cli_usage_error("%s: the matrix is %lld x %lld, expected a square matrix; give B, --transpose-a or "
                               "--transpose-b",
                               p->a_path, (long long)p->a.rows, (long long)p->a.columns);
    return cli_usage_error("%s: the matrix has %lld %s, expected %lld, the number of %s's %s", p->b_path,
                           (long long)b_length, a->transpose_b ? "columns" : "rows", (long long)a_length, p->a_path,
                           a->transpose_a ? "rows" : "columns");
}

static int take_class(product *p)
{
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    spry_error err = {0};
    if (spry_matrix_get_stats(p->A, &stats, &err) != SPRY_OK) return cli_fail(&err);
    p->class_name = row_length_class(&stats);
    return CLI_GO_ON;
}

/* Sets the names of both files, with their folders if the names would be equal. */
static void take_names(product *p)
{
    const char *const b_path = p->b_path ? p->b_path : p->a_path;
    named_matrix both[] = {{p->name_a, sizeof p->name_a, p->a_path}, {p->name_b, sizeof p->name_b, b_path}};
    for (int i = 0; i < 2; i++) matrix_name(both[i].name, both[i].size, both[i].path);
    (void)make_names_distinct(both, 2);
}

static int read_matrices(product *p, const arguments *a)
{
    const double start = now_us();
    int status = read_one(p, a, p->a_path, &p->A, &p->a);
    p->B = p->A;
    p->b = p->a;
    if (status == CLI_GO_ON && p->b_path) status = read_one(p, a, p->b_path, &p->B, &p->b);
    p->read_us = now_us() - start;
    take_names(p);
    if (!p->b_path && !a->transpose_a && !a->transpose_b) /* the benchmark uses this name for squares */
        snprintf(p->name, sizeof p->name, "%s", p->name_a);
    else
        snprintf(p->name, sizeof p->name, "%s%s*%s%s", p->name_a, a->transpose_a ? "^T" : "", p->name_b,
                 a->transpose_b ? "^T" : "");
    if (status == CLI_GO_ON) status = check_sizes(p, a);
    return status == CLI_GO_ON && a->json.wanted ? take_class(p) : status;
}

/* ---- record ------------------------------------------------------------------------------------- */

static void fill_record(record *r, const product *p, const arguments *a)
{
    record_init(r);
    r->op = "spgemm";
    RECORD_TEXT(r->input.name, p->name);
    r->input.path = p->a_path;
    r->input.rows = a->transpose_a ? p->a.columns : p->a.rows;
    r->input.columns = a->transpose_b ? p->b.rows : p->b.columns;
    r->input.nnz = p->a.nnz;
    r->input.class_name = p->class_name;
    r->input.twin = 0;
    r->input.type = spry_type_name(a->type);
    r->input.index = index_pair_name(&p->a);
    r->time.state = "warm";
    r->method.peer = 0;
    RECORD_TEXT(r->method.format, "csr");
    RECORD_TEXT(r->method.ordering, "none");
    r->status = RECORD_OK;
    if (a->estimate) {
        const spry_spgemm_estimate_info *e = &p->estimate;
        RECORD_TEXT(r->method.device, e->device_name);
        RECORD_TEXT(r->method.kernel, e->kernel);
        r->product.products = e->products;
        r->product.nnz_c = e->nnz;
        r->product.compression = e->compression;
        r->product.peak_bytes = e->peak_bytes;
        r->rates.bytes = e->result_bytes;
    }
}

/* Returns the bytes of a matrix in CSR. */
static int64_t array_bytes(const spry_arrays *a)
{
    return csr_part_bytes(a, 0) + csr_part_bytes(a, 1) + csr_part_bytes(a, 2);
}

/* Fills the record from one product, whose time is both first_us and median_us. */
static void fill_from_info(record *r, const product *p)
{
    const spry_spgemm_info *i = &p->info;
    RECORD_TEXT(r->method.device, i->device_name);
    RECORD_TEXT(r->method.kernel, i->kernel);
    RECORD_TEXT(r->reason, i->reason);
    r->method.threads = i->threads;
    r->method.deterministic = i->deterministic;
    r->cost.setup_us = i->setup_us;
    r->cost.upload_us = i->upload_us;
    r->time.first_us = r->time.median_us = r->time.mean_us = r->time.min_us = p->whole_us;
    r->time.runs = 1;
    r->time.disturbed = p->disturbance >= DISTURBED_SHARE;
    r->rates.gflops = 2e-3 * (double)i->products / p->whole_us;
    r->product.products = i->products;
    r->product.nnz_c = i->nnz;
    r->product.compression = i->compression;
    r->product.peak_bytes = i->peak_bytes;
    r->rates.bytes = array_bytes(&p->c);
    record_take_stages(r, &p->stages);
    if (strncmp(p->a_path, "gen:", 4) != 0) r->product.stages[STAGE_READ] = p->read_us;
}

/* Writes the fields of a benchmark's record, then the fields that only this command has. */
static int json_line(const record *r, const product *p, arguments *a)
{
    cJSON *o = cJSON_CreateObject();
    int good = cli_json_command_record(o, r) && cli_json_integer(o, "nnz_b", p->b.nnz) &&
               cli_json_number(o, "read_us", p->read_us) && cli_json_number(o, "alpha", a->alpha) &&
               cli_json_integer(o, "memory_limit", a->memory_limit > 0 ? a->memory_limit : -1);
    if (good && a->estimate) {
        const spry_spgemm_estimate_info *e = &p->estimate;
        good = cJSON_AddBoolToObject(o, "exact", e->exact) && cli_json_integer(o, "nnz_bound", e->nnz_bound) &&
               cli_json_integer(o, "input_bytes", e->input_bytes) &&
               cli_json_integer(o, "result_bytes", e->result_bytes) &&
               cli_json_integer(o, "workspace_bytes", e->workspace_bytes) &&
               cli_json_integer(o, "least_bytes", e->least_bytes);
    } else if (good) {
        const bool done = p->C != NULL;
        static const char *const checks[] = {"", "random", "exact"};
        good = cli_json_integer(o, "chunks", done ? p->info.chunks : -1) &&
               cli_json_integer(o, "workspace_bytes", done ? p->info.workspace_bytes : -1) &&
               cli_json_text(o, "verified", done ? checks[a->verify] : "");
    }
    return cli_json_line(&a->json, o, good);
}

/* ---- for people --------------------------------------------------------------------------------- */

static void print_head(const product *p, const arguments *a)
{
    printf("%s: %s x %s, %s entries", p->name_a, cli_count(p->a.rows).s, cli_count(p->a.columns).s,
           cli_count(p->a.nnz).s);
    if (p->b_path)
        printf("; %s: %s x %s, %s entries", p->name_b, cli_count(p->b.rows).s, cli_count(p->b.columns).s,
               cli_count(p->b.nnz).s);
    printf("\n  read in         %s\n  product         C = ", cli_time(p->read_us).s);
    if (a->alpha != 1) printf("%g ", a->alpha);
    printf("A%s*%s%s, %s, indices %s\n", a->transpose_a ? "^T" : "", p->b_path ? "B" : "A", a->transpose_b ? "^T" : "",
           spry_type_name(a->type), index_pair_name(&p->a));
}

static void print_memory(int64_t inputs, int64_t result, int64_t workspace, int64_t peak)
{
    cli_print_line(stdout, "memory", "%s at most at once: inputs %s, C %s, workspace %s", cli_bytes(peak).s,
                   cli_bytes(inputs).s, cli_bytes(result).s, cli_bytes(workspace).s);
}

static void print_estimate(const product *p, const arguments *a)
{
    const spry_spgemm_estimate_info *e = &p->estimate;
    print_head(p, a);
    cli_print_line(stdout, "products", "%s, so %s operations", cli_count(e->products).s, cli_count(2 * e->products).s);
    char bound[64] = "";
    if (!e->exact) snprintf(bound, sizeof bound, ", at most %s", cli_count(e->nnz_bound).s);
    cli_print_line(stdout, "C", "%s x %s, %s%s entries%s; %.3g products to one", cli_count(e->rows).s,
                   cli_count(e->columns).s, e->exact ? "" : "about ", cli_count(e->nnz).s, bound, e->compression);
    cli_print_line(stdout, "kernel", "%s on %s", e->kernel ? e->kernel : "-", e->device_name ? e->device_name : "-");
    print_memory(e->input_bytes, e->result_bytes, e->workspace_bytes, e->peak_bytes);
    cli_print_line(stdout, "least limit", "%s (--memory-limit %lld)", cli_bytes(e->least_bytes).s,
                   (long long)e->least_bytes);
    if (a->memory_limit > 0)
        cli_print_line(stdout, "--memory-limit", "%s: %s", cli_bytes(a->memory_limit).s,
                       e->least_bytes <= a->memory_limit ? "it fits" : "it does not fit");
}

/* Prints the stages that the kernel reports. */
static void print_stages(const record *r)
{
    const char *between = "  stages          ";
    for (int s = STAGE_CONVERT; s < RECORD_STAGES; s++) {
        if (isnan(r->product.stages[s])) continue;
        printf("%s%s %s", between, record_stage_names[s], cli_time(r->product.stages[s]).s);
        between = ", ";
    }
    if (between[0] == ',') printf("\n");
}

static void print_report(const record *r, const product *p, const arguments *a)
{
    const spry_spgemm_info *i = &p->info;
    print_head(p, a);
    char threads[32] = "";
    if (i->threads > 0) snprintf(threads, sizeof threads, "%d thread%s, ", i->threads, i->threads == 1 ? "" : "s");
    cli_print_line(stdout, "kernel", "%s on %s (%s%s)", i->kernel, i->device_name, threads,
                   i->deterministic ? "same bits every run" : "bits may vary");
    cli_print_line(stdout, "because", "%s", i->reason);
    cli_print_line(stdout, "products", "%s, %.3g to an entry of C", cli_count(i->products).s, i->compression);
    cli_print_line(stdout, "C", "%s x %s, %s entries, %s", cli_count(i->rows).s, cli_count(i->columns).s,
                   cli_count(i->nnz).s, cli_bytes(r->rates.bytes).s);
    cli_print_line(stdout, "time", "%s, %.2f GFLOP/s: preparation %s, multiplication %s", cli_time(p->whole_us).s,
                   r->rates.gflops, cli_time(i->setup_us).s, cli_time(i->run_us).s);
    print_stages(r);
    cli_print_disturbed(p->disturbance);
    const int64_t inputs = array_bytes(&p->a) + (p->B == p->A ? 0 : array_bytes(&p->b));
    print_memory(inputs, r->rates.bytes, i->workspace_bytes, i->peak_bytes);
    if (i->chunks > 1) cli_print_line(stdout, "", "in %s pieces, to keep the limit", cli_count(i->chunks).s);
    if (a->verify)
        cli_print_line(stdout, "verified", "%s, error %.2g of the bound in the worst row: %s",
                       a->verify == 2 ? "structure and every value" : "C*x against A*(B*x)", p->check.max_error,
                       r->status == RECORD_OK ? "correct" : record_status_name(r->status));
    if (a->out && !cli_is_dash(a->out)) cli_print_line(stdout, "C written to", "%s", a->out);
}

/* ---- the size of C ------------------------------------------------------------------------------ */

/* Adds the number of entries of each row or, if the matrix is transposed, of each column. */
static void count_rows(int64_t *counts, const spry_arrays *a, bool transposed)
{
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t from = index_at(a->offsets, a->offset_type, i), to = index_at(a->offsets, a->offset_type, i + 1);
        if (!transposed) counts[i] += to - from;
        for (int64_t k = from; transposed && k < to; k++) counts[index_at(a->indices, a->index_type, k)]++;
    }
}

/*
 * Returns the bytes of C's entries if each product of two entries gave a separate entry of C. Returns infinity if
 * memory for the counts is short.
 */
static double most_bytes(const product *p, const arguments *a)
{
    const int64_t length = a->transpose_b ? p->b.columns : p->b.rows;
    int64_t *counts = calloc((size_t)(2 * length) + 1, sizeof *counts);
    if (!counts) return INFINITY;
    count_rows(counts, &p->a, !a->transpose_a);
    count_rows(counts + length, &p->b, a->transpose_b);
    double products = 0;
    for (int64_t l = 0; l < length; l++) products += (double)counts[l] * (double)counts[length + l];
    free(counts);
    return products * (double)((int)spry_type_bytes(a->type) + index_type_bytes(p->a.index_type));
}

/* Refuses a C that would need more than half of the free memory, unless a limit or --yes is given. */
static int check_result_size(const product *p, const arguments *a)
{
    spry_spgemm_estimate_info e = SPRY_INIT(spry_spgemm_estimate_info);
    const double half = 0.5 * (double)available_memory_bytes(p->context);
    if (a->yes || a->memory_limit > 0 || a->estimate || most_bytes(p, a) <= half) return CLI_GO_ON;
    const spry_spgemm_options o = product_options(a, NULL);
    cli_progress("counting the entries of C");
    if (spry_spgemm_estimate(p->context, &e, p->A, p->B, &o, NULL) != SPRY_OK || (double)e.result_bytes <= half)
        return CLI_GO_ON; /* if the estimate failed, the product reports the error */
    return cli_usage_error("C would have %s%s entries and need %s, more than half of the %s of free memory: add --yes "
                           "to multiply, or --memory-limit BYTES; --estimate shows all sizes",
                           e.exact ? "" : "about ", cli_count(e.nnz).s, cli_bytes(e.result_bytes).s,
                           cli_bytes((int64_t)(2 * half)).s);
}

/* ---- command ------------------------------------------------------------------------------------ */

static spry_status verify(product *p, const arguments *a, const spry_spgemm_options *o, record *r, spry_error *err)
{
    cli_progress("verifying");
    spry_status status = spry_spgemm_verify(p->context, &p->check, p->C, p->A, p->B, o,
                                            a->verify == 2 ? SPRY_VERIFY_EXACT : SPRY_VERIFY_RANDOM, err);
    if (status != SPRY_OK) return status;
    r->max_error = p->check.max_error;
    if (p->check.wrong_rows == 0) return SPRY_OK;
    r->status = RECORD_WRONG;
    const int base = index_base_of(p->C);
    if (p->check.first_misshapen >= 0)
        snprintf(r->reason, sizeof r->reason, "%lld rows of C are wrong, row %lld (counted from %d) in its positions",
                 (long long)p->check.wrong_rows, (long long)p->check.first_misshapen + base, base);
    else
        snprintf(r->reason, sizeof r->reason,
                 "%lld rows of C exceed the error bound, the worst is row %lld (counted from %d)",
                 (long long)p->check.wrong_rows, (long long)p->check.worst_row + base, base);
    cli_message("%s", r->reason);
    return SPRY_OK;
}

static spry_status multiply(product *p, const arguments *a, record *r, spry_error *err)
{
    const float f32 = (float)a->alpha;
    spry_spgemm_options o = product_options(a, a->type == SPRY_F32 ? (const void *)&f32 : &a->alpha);
    p->info = SPRY_INIT(spry_spgemm_info);
    p->check = SPRY_INIT(spry_spgemm_verification);
    p->estimate = SPRY_INIT(spry_spgemm_estimate_info);
    cli_progress(a->estimate ? "counting" : "multiplying");
    if (a->estimate) return spry_spgemm_estimate(p->context, &p->estimate, p->A, p->B, &o, err);
    p->stages = SPRY_INIT(spry_spgemm_stages);
    o.stages = &p->stages;
    const processor_time before = read_processor_time();
    const double start = now_us();
    spry_status status = spry_spgemm(p->context, &p->C, &p->info, p->A, p->B, &o, err);
    p->whole_us = now_us() - start;
    p->disturbance = disturbance_since(before, 0);
    o.stages = NULL;
    if (status == SPRY_OK) status = spry_matrix_get_arrays(p->C, &p->c, err);
    if (status == SPRY_OK) fill_from_info(r, p);
    if (status == SPRY_OK && a->verify) status = verify(p, a, &o, r, err);
    return status;
}

static int report(const product *p, arguments *a, const record *r, int status)
{
    int opened = cli_json_open(&a->json);
    if (opened != CLI_GO_ON) return opened;
    if (a->json.wanted && !json_line(r, p, a)) status = CLI_UNSUCCESSFUL;
    if (cli_for_people(&a->json) && r->status != RECORD_FAILED && !cli_is_dash(a->out)) {
        if (a->estimate)
            print_estimate(p, a);
        else
            print_report(r, p, a);
    }
    return cli_json_close(&a->json, status);
}

/* Multiplies, writes C unless it is wrong, and reports. */
static int multiply_and_write(product *p, arguments *a)
{
    record r;
    spry_error err = {0};
    fill_record(&r, p, a);
    spry_status done = multiply(p, a, &r, &err);
    if (a->estimate && done == SPRY_OK) fill_record(&r, p, a);
    int status = done != SPRY_OK ? cli_fail(&err) : r.status == RECORD_OK ? CLI_OK : CLI_UNSUCCESSFUL;
    if (done == SPRY_OK && status == CLI_OK && a->out) {
        cli_progress_writing(a->out);
        done = spry_matrix_write(p->C, a->out, NULL, &err);
        if (done == SPRY_OK) cli_note_base(a->out, index_base_of(p->C));
        if (done != SPRY_OK) status = cli_fail(&err);
    }
    if (status == CLI_USAGE) return status;
    if (done != SPRY_OK) {
        r.status = RECORD_FAILED;
        RECORD_TEXT(r.reason, err.message);
    }
    return report(p, a, &r, status);
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.alpha = 1, .type = SPRY_F64, .device = "auto"};
    product p = {.a = SPRY_INIT(spry_arrays),
                 .b = SPRY_INIT(spry_arrays),
                 .c = SPRY_INIT(spry_arrays),
                 .class_name = ""};
    int status = cli_parse(command, &argc, argv, &a);
    if (status != CLI_GO_ON) return status;
    p.a_path = argv[0];
    p.b_path = argc > 1 ? argv[1] : NULL;
    status = check_arguments(&a, &p);
    if (status == CLI_GO_ON) status = cli_open_context(&p.context, a.threads);
    if (status == CLI_GO_ON) status = check_names(p.context, &a);
    if (status == CLI_GO_ON) status = read_matrices(&p, &a);
    if (status == CLI_GO_ON) status = check_result_size(&p, &a);
    if (status == CLI_GO_ON) status = multiply_and_write(&p, &a);
    spry_matrix_destroy(p.C);
    if (p.B != p.A) spry_matrix_destroy(p.B);
    spry_matrix_destroy(p.A);
    spry_context_destroy(p.context);
    return status;
}

const cli_command cli_spgemm =
    {.name = "spgemm",
     .summary = "multiply two sparse matrices, within a memory limit",
     .usage = "A [B] [OPTIONS]",
     .about = "Computes C = alpha*A*B in CSR with sorted rows; without B it computes alpha*A*A. --memory-limit covers\n"
              "inputs, result and workspace, also with -o, because C is written from memory. If the product needs\n"
              "more, the command fails with status 1 and reports a limit that suffices. Without a limit, a C that\n"
              "would need more than half of the free memory is refused unless --yes is given.",
     .examples = "  spry spgemm matrix.mtx.gz -o square.mtx\n"
                 "  spry spgemm gen:rmat16 --estimate\n"
                 "  spry spgemm matrix.mtx --device cuda --kernel spgemm_rows_cuda\n"
                 "  spry spgemm A.mtx B.mtx --transpose-b --memory-limit 4G --verify -o C.spry\n",
     .options = options,
     .least = 1,
     .most = 2,
     .positional = "matrix FILEs, A and B",
     .run = run};
