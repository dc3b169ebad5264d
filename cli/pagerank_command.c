/* spry pagerank: the ranks of a graph's nodes. */
#include "cli/solvers.h"
#include "cli/table.h"
#include "spry/io.h"
#include "spry/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    cli_solver shared;
    spry_pagerank_options o;
    int64_t top;
    int edges, dangling;         /* -1: not given; the command reports its default as assumed */
    const char *personalization; /* a node or a file; NULL: none */
    const char *start;           /* a file; NULL: none */
} arguments;

static const char *const norms[] = {"1", "2", "inf"};
static const char *const edges[] = {"row-to-column", "column-to-row"};
static const char *const dangling[] = {"teleport", "refuse", "drop"};
static const char *const zero_meanings[] = {"count as linking everywhere", "refused", "lose their mass"};

static const cli_option options[] = {
    {"alpha", 0, "A", "damping, between 0 and 1 (default: 0.85)", CLI_NUMBER, CLI_AT(o.alpha), 0, 1},
    {"tol", 0, "T", "stop if the norm of the last step is at most T (default: 1e-8)", CLI_NUMBER, CLI_AT(o.tolerance),
     0, INT64_MAX},
    {"norm", 0, "1|2|inf", "norm of --tol (default: 1)", CLI_CHOICE, CLI_AT(o.norm)},
    {"max-iterations", 0, "N", "stop after N iterations (default: 200)", CLI_INTEGER, CLI_AT(o.max_iterations), 1,
     INT64_MAX},
    {"edges", 0, "row-to-column|column-to-row",
     "entry (i, j) is a link from i to j, or from j to i (default: row-to-column)", CLI_CHOICE, CLI_AT(edges)},
    {"dangling", 0, "teleport|refuse|drop",
     "nodes without links out: link them to all nodes, refuse the graph, or drop their mass (default: teleport)",
     CLI_CHOICE, CLI_AT(dangling)},
    {"personalization", 0, "NODE|FILE",
     "distribution of the rank that follows no link: a node, numbered as in FILE, or a Matrix Market file of n\n"
     "weights >= 0 (default: uniform)",
     CLI_TEXT, CLI_AT(personalization)},
    {"start", 0, "FILE", "initial ranks, a Matrix Market file, n x 1 (default: as --personalization)", CLI_TEXT,
     CLI_AT(start)},
    {"top", 0, "N", "show the N highest ranks, with nodes numbered as in the file (default: 10)", CLI_INTEGER,
     CLI_AT(top), 0, 1000000},
    CLI_SOLVER_OPTIONS("the ranks", "f32|f64|pattern",
                       "type of values and vectors; pattern: the value of every entry is 1"),
};

/* ---- the highest ranks -------------------------------------------------------------------------- */

typedef struct ranked {
    double rank;
    int64_t node;
} ranked;

/* Returns true if a precedes b: higher ranks first, equal ranks by node. */
static bool precedes(const ranked *a, const ranked *b)
{
    return a->rank > b->rank || (a->rank == b->rank && a->node < b->node);
}

static int by_rank(const void *a, const void *b)
{
    return precedes(a, b) ? -1 : 1;
}

/* Restores the heap after a change of heap[0]. In a heap, heap[0] is the last node in the order of `precedes`. */
static void sift(ranked *heap, int64_t count)
{
    for (int64_t at = 0;;) {
        int64_t worst = at;
        for (int64_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (precedes(&heap[worst], &heap[child])) worst = child;
        if (worst == at) return;
        ranked swap = heap[at];
        heap[at] = heap[worst];
        heap[worst] = swap;
        at = worst;
    }
}

/*
 * Returns the `count` highest elements of x in order, in O(n log count); NULL if memory is short. The caller frees it.
 */
static ranked *highest(const spry_vector *x, int64_t count)
{
    ranked *heap = malloc((size_t)(count + 1) * sizeof *heap);
    if (!heap || count == 0) return heap;
    for (int64_t i = 0; i < count; i++) heap[i] = (ranked){cli_entry(x, i), i};
    qsort(heap, (size_t)count, sizeof *heap, by_rank);
    for (int64_t i = 0; i < count / 2; i++) { /* reverse: in this order the array is a heap */
        ranked swap = heap[i];
        heap[i] = heap[count - 1 - i];
        heap[count - 1 - i] = swap;
    }
    for (int64_t i = count; i < x->length; i++) {
        ranked next = {cli_entry(x, i), i};
        if (!precedes(&next, &heap[0])) continue;
        heap[0] = next;
        sift(heap, count);
    }
    qsort(heap, (size_t)count, sizeof *heap, by_rank);
    return heap;
}

/* ---- report ------------------------------------------------------------------------------------- */

static cli_run run_of(const spry_pagerank_result *r, int personalization, const cli_convergence *c)
{
    return (cli_run){.format = r->format[0] ? r->format : NULL,
                     .kernel = r->kernel[0] ? r->kernel : NULL,
                     .verdict = r->verdict,
                     .iterations = r->iterations,
                     .setup_us = r->setup_us,
                     .solve_us = r->solve_us,
                     .product_us = r->product_us,
                     .numbers = (r->is_stochastic ? 3 : 4) + personalization,
                     .convergence = c};
}

static const char *from_to(const arguments *a)
{
    return a->o.edges == SPRY_COLUMN_TO_ROW ? "j to i" : "i to j";
}

/* Returns true if --personalization is the number of a node, whose weight is 1. "./42" is a file. */
static bool is_node(const char *personalization)
{
    return personalization && personalization[0] && strspn(personalization, "0123456789") == strlen(personalization);
}

/* Prints assumed options as a message, for output that has neither a report nor a record. */
static void report_assumptions(const arguments *a)
{
    if (a->edges >= 0 && a->dangling >= 0) return;
    cli_message("%s%s: entry (i, j) is a link from %s; nodes without links out: %s%s", edges[a->o.edges],
                a->edges >= 0 ? "" : " (assumed)", from_to(a), dangling[a->o.dangling],
                a->dangling >= 0 ? "" : " (assumed)");
}

static void print_report(const cli_input *input, const arguments *a, const spry_pagerank_result *r, const cli_run *run,
                         const ranked *top, int64_t count)
{
    int begun = r->verdict != SPRY_VERDICT_DANGLING;
    printf("%s: %s nodes, %s links, %s\n", input->name, cli_count(input->arrays.rows).s, cli_count(input->arrays.nnz).s,
           spry_type_name(a->shared.type));
    cli_print_line(stdout, "read in", "%s", cli_time(input->read_us).s);
    cli_print_line(stdout, "edges", "%s%s: entry (i, j) is a link from %s", edges[a->o.edges],
                   a->edges >= 0 ? "" : " (assumed)", from_to(a));
    if (a->personalization)
        cli_print_line(stdout, "personalization", "by %s%s", is_node(a->personalization) ? "node " : "",
                       a->personalization);
    if (a->start) cli_print_line(stdout, "begins with", "%s", a->start);
    const char *links = r->is_stochastic ? "of each node sum to 1 as they stand" : "divided by the sum of their node's";
    if (r->dangling_nodes == 0)
        cli_print_line(stdout, "links", "%s; no node without links out", links);
    else
        cli_print_line(stdout, "links", "%s; %s without links out, %s%s: %s", links, cli_count(r->dangling_nodes).s,
                       dangling[a->o.dangling], a->dangling >= 0 ? "" : " (assumed)", zero_meanings[a->o.dangling]);
    if (begun) cli_print_begin(input, run);
    if (begun)
        cli_print_line(stdout, "verdict", "%s after %s iterations", spry_verdict_text(r->verdict),
                       cli_count(r->iterations).s);
    else
        cli_print_line(stdout, "verdict", "%s", spry_verdict_text(r->verdict));
    if (!begun) return;
    cli_print_line(stdout, "residual", "||x_k - x_(k-1)||_%s = %.3g; ||x_k - x||_1 <= %.3g", norms[a->o.norm],
                   r->residual, r->error_bound);
    char lost[64] = "", dangling_mass[64] = "";
    if (r->dangling_nodes > 0 && a->o.dangling == SPRY_DANGLING_DROP)
        snprintf(lost, sizeof lost, ", so %.6g was lost", 1 - r->mass);
    if (r->dangling_nodes > 0)
        snprintf(dangling_mass, sizeof dangling_mass, "; %.6g lies on nodes without links out", r->dangling_mass);
    cli_print_line(stdout, "mass", "%.12g%s%s", r->mass, lost, dangling_mass);
    cli_print_time(run);
    cli_print_written(&a->shared, "written to");
    if (count > 0) printf("  highest ranks   node  rank; nodes count from %d\n", input->base);
    for (int64_t t = 0; t < count; t++) printf("  %18lld  %.8g\n", (long long)top[t].node + input->base, top[t].rank);
    cli_print_floor(&a->shared, run);
}

static int top_to_json(cJSON *o, const ranked *top, int64_t count, int base)
{
    cJSON *list = cJSON_AddArrayToObject(o, "top");
    for (int64_t t = 0; t < count; t++) {
        cJSON *item = cli_json_item(list);
        if (!cli_json_integer(item, "node", top[t].node + base) || !cli_json_exact(item, "rank", top[t].rank)) return 0;
    }
    return list != NULL;
}

static int result_to_json(cJSON *o, const arguments *a, const spry_pagerank_result *r)
{
    double lost = a->o.dangling == SPRY_DANGLING_DROP ? 1 - r->mass : 0;
    return cli_json_number(o, "alpha", a->o.alpha) && cli_json_number(o, "tol", a->o.tolerance) &&
           cli_json_text(o, "norm", norms[a->o.norm]) && cli_json_text(o, "edges", edges[a->o.edges]) &&
           cli_json_text(o, "dangling", dangling[a->o.dangling]) &&
           cli_json_text(o, "personalization", a->personalization) && cli_json_text(o, "start", a->start) &&
           cli_json_number(o, "upload_us", r->upload_us) && cli_json_exact(o, "residual", r->residual) &&
           cli_json_exact(o, "error_bound", r->error_bound) && cli_json_exact(o, "mass", r->mass) &&
           cli_json_exact(o, "lost_mass", lost) && cli_json_integer(o, "dangling_nodes", r->dangling_nodes) &&
           cli_json_exact(o, "dangling_mass", r->dangling_mass) &&
           cJSON_AddBoolToObject(o, "is_stochastic", r->is_stochastic);
}

static int json_line(const cli_input *input, arguments *a, const spry_pagerank_result *r, const cli_run *run,
                     const ranked *top, int64_t count, const spry_error *err)
{
    cJSON *o = cJSON_CreateObject();
    int good = cli_begin_to_json(o, input, &a->shared, run, err) && result_to_json(o, a, r) &&
               cli_end_to_json(o, run) && top_to_json(o, top, count, input->base);
    return cli_json_line(&a->shared.json, o, good);
}

/* ---- command ------------------------------------------------------------------------------------ */

static int report(const cli_input *input, arguments *a, const spry_pagerank_result *r, const cli_run *run,
                  const spry_vector *x, const spry_error *err, int status)
{
    int begun = r->verdict != SPRY_VERDICT_DANGLING;
    int64_t count = !begun ? 0 : a->top < x->length ? a->top : x->length;
    ranked *top = highest(x, count);
    if (!top) {
        cli_message("out of memory for the highest ranks");
        return CLI_UNSUCCESSFUL;
    }
    int opened = cli_json_open(&a->shared.json);
    if (opened == CLI_GO_ON) {
        if (a->shared.json.wanted && !json_line(input, a, r, run, top, count, err)) status = CLI_UNSUCCESSFUL;
        if (cli_wants_report(&a->shared))
            print_report(input, a, r, run, top, count);
        else if (!a->shared.json.wanted)
            report_assumptions(a);
        status = cli_json_close(&a->shared.json, status);
    }
    free(top);
    return opened == CLI_GO_ON ? status : opened;
}

static int rank(const cli_input *input, arguments *a, spry_vector *x)
{
    cli_convergence convergence = {0};
    spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
    spry_error err = {0};
    a->o.format = a->shared.format;
    a->o.observe = cli_observe;
    a->o.observe_user = &convergence;
    convergence.tolerance = a->o.tolerance;
    spry_status result = find_device(input->context, &a->o.device, a->shared.device, &err);
    cli_progress("ranking");
    const processor_time before = read_processor_time();
    if (result == SPRY_OK) result = spry_pagerank(input->context, *x, &r, input->A, &a->o, &err);
    const double disturbance = disturbance_since(before, 0);
    cli_progress(NULL);
    int status = result == SPRY_OK ? CLI_OK : cli_fail(&err);
    if (result == SPRY_INVALID_MATRIX && a->shared.type != SPRY_PATTERN)
        cli_message("with --type pattern the value of every entry is 1");
    if (result != SPRY_OK && result != SPRY_NOT_CONVERGED) return status;
    int written = r.verdict != SPRY_VERDICT_DANGLING ? cli_write_result(input, &a->shared, x, "node", "rank") : CLI_OK;
    if (written != CLI_OK) return written;
    cli_run run = run_of(&r, a->personalization != NULL, &convergence);
    run.disturbance = disturbance;
    int measured = cli_measure_floor(input, &a->shared, &run, a->o.device);
    if (measured != CLI_OK) return measured;
    return report(input, a, &r, &run, x, &err, status);
}

/* Reads a vector with an element for each node; path NULL: none. Returns CLI_GO_ON or an exit status. */
static int read_weights(const cli_input *input, spry_vector *v, const char *path, spry_type type)
{
    spry_error err = {0};
    if (!path) return CLI_GO_ON;
    if (spry_vector_read(input->context, v, path, type, &err) != SPRY_OK) return cli_fail(&err);
    if (v->count == 1 && v->length == input->arrays.rows) return CLI_GO_ON;
    cli_message("%s: the array is %lld x %lld, expected %lld x 1, an element for each node", path, (long long)v->length,
                (long long)v->count, (long long)input->arrays.rows);
    return CLI_USAGE;
}

static int create_node_weights(const cli_input *input, spry_vector *v, const char *text, spry_type type)
{
    spry_error err = {0};
    const int64_t first = input->base, last = input->arrays.rows - 1 + input->base;
    const int64_t node = strtoll(text, NULL, 10);
    if (node < first || node > last)
        return cli_usage_error("--personalization is %s, expected a node from %lld to %lld (counted from %d) or a file",
                               text, (long long)first, (long long)last, input->base);
    if (spry_vector_create(input->context, v, input->arrays.rows, type, 0, &err) != SPRY_OK) return cli_fail(&err);
    if (type == SPRY_F32)
        ((float *)v->data)[node - first] = 1;
    else
        ((double *)v->data)[node - first] = 1;
    return CLI_GO_ON;
}

/* Creates x, with the initial ranks of --start if given, and the weights of --personalization. */
static int create_vectors(const cli_input *input, arguments *a, spry_vector *x, spry_vector *v)
{
    const spry_type type = a->shared.type == SPRY_PATTERN ? SPRY_F64 : a->shared.type;
    spry_error err = {0};
    int status = is_node(a->personalization) ? create_node_weights(input, v, a->personalization, type)
                                             : read_weights(input, v, a->personalization, type);
    if (status == CLI_GO_ON) status = read_weights(input, x, a->start, type);
    if (status == CLI_GO_ON && !a->start &&
        spry_vector_create(input->context, x, input->arrays.rows, type, 0, &err) != SPRY_OK)
        status = cli_fail(&err);
    a->o.start = a->start != NULL ? SPRY_START_X : SPRY_START_DEFAULT;
    a->o.personalization = spry_vector_as_const(*v);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.shared.type = SPRY_F64,
                   .o = SPRY_INIT(spry_pagerank_options),
                   .top = 10,
                   .edges = -1,
                   .dangling = -1};
    a.o.alpha = 0.85;
    a.o.tolerance = 1e-8;
    int status = cli_parse(command, &argc, argv, &a);
    a.o.edges = a.edges >= 0 ? (spry_edges)a.edges : SPRY_ROW_TO_COLUMN;
    a.o.dangling = a.dangling >= 0 ? (spry_dangling)a.dangling : SPRY_DANGLING_TELEPORT;
    if (status == CLI_GO_ON) status = cli_check_solver(&a.shared, argv[0], a.personalization);
    if (status == CLI_GO_ON && a.start) status = cli_check_solver(&a.shared, argv[0], a.start);
    if (status != CLI_GO_ON) return status;
    cli_input input;
    spry_vector x = {0}, v = {0};
    status = cli_open_input(&input, argv[0], a.shared.type, a.shared.threads);
    if (status == CLI_GO_ON) status = create_vectors(&input, &a, &x, &v);
    if (status == CLI_GO_ON) status = rank(&input, &a, &x);
    spry_vector_destroy(input.context, &x);
    spry_vector_destroy(input.context, &v);
    cli_close_input(&input);
    return status;
}

const cli_command cli_pagerank =
    {.name = "pagerank",
     .summary = "rank the nodes of a graph",
     .usage = "FILE [OPTIONS]",
     .about =
         "Ranks the nodes of a graph. An entry in row i, column j is a link from i to j. The values of each node's\n"
         "links are divided by their sum, unless all sums are 1. This gives the matrix B. Iterates\n"
         "x = alpha B x + (1 - alpha) v, where v is 1/n for every node, or the weights of --personalization divided\n"
         "by their sum. Nodes without links out link to all nodes, in proportion to v. If the matrix is B itself\n"
         "(column-stochastic), use --edges column-to-row --dangling refuse. Exit status 1 without convergence.\n"
         "With --time, the last line compares an iteration with its floor: the measured time of the product, plus\n"
         "4 vector elements per node at the measured copy bandwidth (3 if all sums are 1; one more with\n"
         "--personalization).",
     .examples = "  spry pagerank graph.mtx.gz --top 3 -o ranks.csv\n"
                 "  spry pagerank graph.mtx.gz --personalization 42\n"
                 "  spry pagerank stochastic.mtx --edges column-to-row --dangling refuse\n"
                 "  spry pagerank graph.mtx.gz --personalization mine.mtx --start before.mtx\n"
                 "  spry pagerank gen:rmat16\n"
                 "  spry pagerank signed.mtx --type pattern\n",
     .options = options,
     .run = run};
