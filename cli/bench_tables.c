#include "cli/bench_tables.h"
#include "cli/cli.h"
#include "cli/table.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_time(const record *r)
{
    return r->status == RECORD_OK && r->time.median_us > 0;
}

/*
 * Returns true if a case is compared with others: it has a time, uses all threads, and is not only the numeric phase of
 * spgemm.
 */
static bool is_compared(const record *r)
{
    return has_time(r) && !r->method.fewer_threads && strcmp(r->method.format, "plan") != 0;
}

/* Returns true if both records have the same number of vectors in the same layout. */
static bool same_vectors(const record *a, const record *b)
{
    return a->count == b->count && (!a->layout || !b->layout || strcmp(a->layout, b->layout) == 0);
}

/* The fastest peer, Spry's fastest csr kernel, and the fastest case; NULL: none. */
typedef struct landmarks {
    const record *peer, *csr, *best;
} landmarks;

static void keep_faster(const record **kept, const record *r)
{
    if (!*kept || r->time.median_us < (*kept)->time.median_us) *kept = r;
}

/* Finds the landmarks among the cases with the number of vectors and layout of `like`. */
static landmarks find_landmarks(const record *records, int count, const record *like, bool with_disturbed)
{
    landmarks l = {0};
    for (int i = 0; i < count; i++) {
        if (!is_compared(&records[i]) || !same_vectors(&records[i], like)) continue;
        if (records[i].time.disturbed == 1 && !with_disturbed) continue;
        keep_faster(&l.best, &records[i]);
        if (record_is_rival(&records[i]))
            keep_faster(&l.peer, &records[i]);
        else if (!records[i].method.peer && strcmp(records[i].method.format, "csr") == 0)
            keep_faster(&l.csr, &records[i]);
    }
    return l;
}

static int is_reordered(const record *r)
{
    return r->method.ordering[0] && strcmp(r->method.ordering, "none") != 0;
}

/* ---- cells -------------------------------------------------------------------------------------- */

static void break_even_cell(cli_table *t, const record *r, const record *base)
{
    const int64_t calls = base ? record_break_even(r, base) : -2;
    if (calls < 0)
        cli_table_cell(t, "%s", calls == -1 ? "never" : "-");
    else
        cli_table_cell(t, "%s", cli_count(calls).s);
}

/* Adds a share in per cent; "-" if it is not known. */
static void share_cell(cli_table *t, double share)
{
    if (isnan(share))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, "%.0f %%", 100 * share);
}

/* Adds the peer's time divided by the case's time; empty without a peer. */
static void peer_cell(cli_table *t, const record *r, const record *peer)
{
    if (peer)
        cli_table_cell(t, "%.2f", peer->time.median_us / r->time.median_us);
    else
        cli_table_cell(t, "%s", "");
}

static void spread_cell(cli_table *t, const record *r)
{
    cli_table_cell(t, "%.1f %%", 100 * r->time.spread_us / r->time.median_us);
}

static const char *dash_for_none(const char *text)
{
    return text[0] ? text : "-";
}

/* ---- one matrix --------------------------------------------------------------------------------- */

static const cli_column spmv_columns[] = {{"format", 1, 0},     {"kernel", 1, 0}, {"time us", 0, 0},
                                          {"vs peer", 0, 1},    {"roof", 0, 2},   {"set-up us", 0, 3},
                                          {"pays after", 0, 4}, {"error", 0, 6},  {"threads", 0, 1},
                                          {"spread", 0, 5},     {"GB/s", 0, 7},   {"GFLOP/s", 0, 8}};
static const cli_column spgemm_columns[] = {{"kernel", 1, 0},    {"time us", 0, 0}, {"vs peer", 0, 1},
                                            {"GFLOP/s", 0, 3},   {"peak MB", 0, 2}, {"first us", 0, 5},
                                            {"set-up us", 0, 7}, {"spread", 0, 4},  {"error", 0, 6}};
static const cli_column solver_columns[] = {{"format", 1, 0},    {"kernel", 1, 0},     {"time us", 0, 0},
                                            {"vs peer", 0, 1},   {"iterations", 0, 3}, {"roof", 0, 2},
                                            {"set-up us", 0, 4}, {"error", 0, 6},      {"spread", 0, 5},
                                            {"GB/s", 0, 7},      {"GFLOP/s", 0, 8}};

#define BEGIN(table, columns) cli_table_begin(table, columns, sizeof(columns) / sizeof *(columns))

static void add_spmv(cli_table *t, const record *r, const landmarks *l)
{
    cli_table_row(t, l->best == r ? '*' : ' ');
    cli_table_cell(t, "%s", dash_for_none(r->method.format));
    cli_table_cell(t, "%s", dash_for_none(r->method.kernel));
    cli_table_cell(t, "%s", cli_decimal(r->time.median_us).s);
    peer_cell(t, r, r->method.fewer_threads ? NULL : l->peer);
    share_cell(t, r->rates.roof);
    cli_table_cell(t, "%s", cli_count((int64_t)(r->cost.setup_us + 0.5)).s);
    break_even_cell(t, r, r->method.fewer_threads ? NULL : l->csr);
    cli_table_cell(t, "%.2g", r->max_error);
    if (r->method.fewer_threads)
        cli_table_cell(t, "%d", r->method.threads);
    else
        cli_table_cell(t, "%s", "");
    spread_cell(t, r);
    cli_table_cell(t, "%.2f", r->rates.gbps);
    cli_table_cell(t, "%.2f", r->rates.gflops);
}

static int is_plan(const record *r)
{
    return strcmp(r->method.format, "plan") == 0;
}

/* Returns the text that follows the kernel's name and states how a product of two matrices was called. */
static const char *call_of(const record *r)
{
    return is_plan(r)                              ? " (plan)"
           : strcmp(r->method.format, "host") == 0 ? " (from host)"
           : strcmp(r->method.format, "auto") == 0 ? " (auto)"
                                                   : "";
}

static void add_spgemm(cli_table *t, const record *r, const landmarks *l)
{
    cli_table_row(t, l->best == r ? '*' : ' ');
    cli_table_cell(t, "%s%s%s", dash_for_none(r->method.kernel), call_of(r), r->product.unsorted ? ", unsorted" : "");
    cli_table_cell(t, "%s", cli_decimal(r->time.median_us).s);
    peer_cell(t, r, is_plan(r) ? NULL : l->peer);
    cli_table_cell(t, "%.2f", r->rates.gflops);
    if (r->product.peak_bytes >= 0)
        cli_table_cell(t, "%.1f", 1e-6 * (double)r->product.peak_bytes);
    else
        cli_table_cell(t, "-");
    cli_table_cell(t, "%s", cli_decimal(r->time.first_us).s);
    cli_table_cell(t, "%s", cli_decimal(r->cost.setup_us).s);
    spread_cell(t, r);
    cli_table_cell(t, "%.2g", r->max_error);
}

static void add_solver(cli_table *t, const record *r, const landmarks *l)
{
    cli_table_row(t, l->best == r ? '*' : ' ');
    cli_table_cell(t, "%s", dash_for_none(r->method.format));
    cli_table_cell(t, "%s", dash_for_none(r->method.kernel));
    cli_table_cell(t, "%s", cli_decimal(r->time.median_us).s);
    peer_cell(t, r, l->peer);
    cli_table_cell(t, "%s", cli_count(r->time.iterations).s);
    share_cell(t, r->rates.roof);
    cli_table_cell(t, "%s", cli_count((int64_t)(r->cost.setup_us + 0.5)).s);
    cli_table_cell(t, "%.2g", r->max_error);
    spread_cell(t, r);
    cli_table_cell(t, "%.2f", r->rates.gbps);
    cli_table_cell(t, "%.2f", r->rates.gflops);
}

static int is_of_solves(const record *r)
{
    return strcmp(r->op, "cg") == 0 || strcmp(r->op, "pagerank") == 0;
}

static int is_of_spgemm(const record *r)
{
    return strcmp(r->op, "spgemm") == 0;
}

/* Prints the matrix and the operation. */
static void print_head(FILE *out, const record *r)
{
    char text[1024], more[256] = "", values[80] = "";
    if (r->input.rows < 0) {
        fprintf(out, "%s\n", r->input.name);
        return;
    }
    if (r->count > 0)
        snprintf(more, sizeof more, " of %lld vector%s, %s-major", (long long)r->count, r->count == 1 ? "" : "s",
                 r->layout);
    if (is_of_spgemm(r))
        snprintf(more, sizeof more, "; %s products, %s entries in C, %.2f to one", cli_count(r->product.products).s,
                 cli_count(r->product.nnz_c).s, r->product.compression);
    if (r->input.distinct_values > 0)
        snprintf(values, sizeof values, " with %s distinct value%s", cli_count(r->input.distinct_values).s,
                 r->input.distinct_values == 1 ? "" : "s");
    snprintf(text, sizeof text, "%s x %s, %s entries%s, %s; %s%s, indices %s bits, %s%s", cli_count(r->input.rows).s,
             cli_count(r->input.columns).s, cli_count(r->input.nnz).s, values, r->input.class_name,
             is_of_spgemm(r) ? "squared" : r->op, more, r->input.index, r->input.type,
             is_of_solves(r)                      ? ""
             : strcmp(r->time.state, "cold") == 0 ? ", cold caches"
                                                  : ", warm caches");
    char name[400];
    snprintf(name, sizeof name, "%s%s%s%s:", r->input.name, r->input.twin == 1 ? " (a twin)" : "",
             is_reordered(r) ? ", reordered by " : "", is_reordered(r) ? r->method.ordering : "");
    if (strlen(name) + 1 + strlen(text) <= (size_t)cli_width(STDOUT_FILENO)) {
        fprintf(out, "%s %s\n", name, text);
        return;
    }
    fprintf(out, "%s\n", name);
    cli_print_wrapped(out, "  ", text);
}

/* Writes the kernel's name, as "auto's sell_rows_cpu" if auto chose it. */
static const char *name_of(char *text, size_t size, const record *r)
{
    if (strcmp(r->method.format, "auto") == 0)
        snprintf(text, size, "auto's %s", r->method.kernel);
    else
        snprintf(text, size, "%s", r->method.kernel);
    return text;
}

/* Returns the fastest case except the best; NULL: none. */
static const record *runner_up(const record *records, int count, const record *best)
{
    const record *found = NULL;
    for (int i = 0; i < count; i++)
        if (is_compared(&records[i]) && &records[i] != best && same_vectors(&records[i], best))
            keep_faster(&found, &records[i]);
    return found;
}

/* Prints the fastest case, and its lead over the best csr kernel, the fastest peer and Spry's fastest kernel. */
static void print_winner(FILE *out, const record *records, int count, const landmarks *l)
{
    char text[512], name[192];
    const record *own = NULL;
    int compared = 0;
    for (int i = 0; i < count; i++) {
        if (!is_compared(&records[i]) || !same_vectors(&records[i], l->best)) continue;
        compared++;
        if (!records[i].method.peer) keep_faster(&own, &records[i]);
    }
    if (compared < 2) return;
    if (l->best->time.disturbed == 1) {
        snprintf(text, sizeof text,
                 "%s has the least time, but other programs disturbed the run: times and their order are not reliable",
                 name_of(name, sizeof name, l->best));
        cli_print_wrapped(out, "  * ", text);
        return;
    }
    const record *second = runner_up(records, count, l->best);
    char close[256] = "";
    if (second &&
        second->time.median_us - l->best->time.median_us < (second->time.spread_us + l->best->time.spread_us) / 2)
        snprintf(close, sizeof close, ", by less than the spread before %s", name_of(name, sizeof name, second));
    int used = snprintf(text, sizeof text, "%s is the fastest", name_of(name, sizeof name, l->best));
    const record *const rivals[] = {l->csr && l->csr != l->best ? l->csr : NULL,
                                    l->peer && l->peer != l->best ? l->peer : NULL, l->best->method.peer ? own : NULL};
    static const char *const titles[] = {" (the best csr)", " (the fastest peer)", " (the best of Spry)"};
    const char *between = ": ";
    for (int o = 0; o < 3; o++) {
        if (!rivals[o] || (o == 2 && rivals[o] == l->csr) || used >= (int)sizeof text) continue;
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%.2f times as fast as %s%s", between,
                         rivals[o]->time.median_us / l->best->time.median_us, name_of(name, sizeof name, rivals[o]),
                         titles[o]);
        between = ", ";
    }
    if (used < (int)sizeof text) snprintf(text + used, sizeof text - (size_t)used, "%s", close);
    cli_print_wrapped(out, "  * ", text);
}

/* ---- cases without times ------------------------------------------------------------------------ */

static const char *label_of_case(char *text, size_t size, const record *r)
{
    snprintf(text, size, "%s", r->method.kernel[0] ? r->method.kernel : dash_for_none(r->method.format));
    if (r->method.kernel[0] && strchr(r->method.format, ':'))
        snprintf(text, size, "%s in %s", r->method.kernel, r->method.format);
    return text;
}

/* Prints the cases without times, grouped by status and reason. */
static void print_not_measured(FILE *out, const record *records, int count)
{
    for (int i = 0; i < count; i++) {
        const record *r = &records[i];
        bool is_first = !is_compared(r) && !has_time(r);
        for (int k = 0; k < i && is_first; k++)
            is_first = has_time(&records[k]) || records[k].status != r->status ||
                       strcmp(records[k].reason, r->reason) != 0;
        if (!is_first) continue;
        char first[64], name[192], *text = NULL;
        size_t size = 0;
        FILE *memory = open_memstream(&text, &size);
        if (!memory) return;
        fprintf(memory, "%s", label_of_case(name, sizeof name, r));
        for (int k = i + 1; k < count; k++)
            if (!has_time(&records[k]) && records[k].status == r->status && strcmp(records[k].reason, r->reason) == 0)
                fprintf(memory, ", %s", label_of_case(name, sizeof name, &records[k]));
        fprintf(memory, ": %s", r->reason[0] ? r->reason : "no reason given");
        snprintf(first, sizeof first, "  %s  ", record_status_name(r->status));
        if (fclose(memory) == 0) cli_print_wrapped(out, first, text);
        free(text);
    }
}

static int by_time(const void *a, const void *b)
{
    const record *const *p = a, *const *q = b;
    return ((*p)->time.median_us > (*q)->time.median_us) - ((*p)->time.median_us < (*q)->time.median_us);
}

void cli_print_group(FILE *out, const record *records, int count, bool sorted)
{
    if (count == 0) return;
    const landmarks l = find_landmarks(records, count, records, true);
    const record **shown = malloc((size_t)count * sizeof *shown);
    int shown_count = 0;
    cli_table t;
    if (!shown) return;
    for (int i = 0; i < count; i++)
        if (has_time(&records[i])) shown[shown_count++] = &records[i];
    if (sorted) qsort(shown, (size_t)shown_count, sizeof *shown, by_time);
    print_head(out, records);
    if (is_of_solves(records))
        BEGIN(&t, solver_columns);
    else if (is_of_spgemm(records))
        BEGIN(&t, spgemm_columns);
    else
        BEGIN(&t, spmv_columns);
    for (int i = 0; i < shown_count; i++)
        (is_of_solves(records) ? add_solver : is_of_spgemm(records) ? add_spgemm : add_spmv)(&t, shown[i], &l);
    cli_table_print(out, &t);
    free(shown);
    if (l.best) print_winner(out, records, count, &l);
    print_not_measured(out, records, count);
    fputc('\n', out);
}

/* ---- all matrices ------------------------------------------------------------------------------- */

static const double profile_limits[] = {1.0, 1.1, 1.5, 2.0};
enum { PROFILE_LIMITS = 4 };

/*
 * Results of one kernel under one ordering (`label`), one type and one class, for all matrices of the class. gflops,
 * gbps, roof and ratio are sums of the logarithms of the cases' values, for geometric means.
 */
typedef struct tally {
    char label[192];
    const char *type, *class_name;
    int cases, with_peer, within[PROFILE_LIMITS];
    double gflops, gbps, roof, ratio;
} tally;

typedef struct tallies {
    tally *items;
    int count;
} tallies;

static void label_of(const record *r, char *label, size_t size)
{
    char vectors[32] = "";
    if (r->count > 0) snprintf(vectors, sizeof vectors, " x%lld %s", (long long)r->count, r->layout);
    snprintf(label, size, "%s%s%s%s", strcmp(r->method.format, "auto") == 0 ? "auto" : r->method.kernel, vectors,
             is_reordered(r) ? " " : "", is_reordered(r) ? r->method.ordering : "");
}

static tally *find_tally(tallies *t, const record *r, const char *class_name)
{
    char label[sizeof t->items->label];
    label_of(r, label, sizeof label);
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->items[i].label, label) == 0 && strcmp(t->items[i].type, r->input.type) == 0 &&
            strcmp(t->items[i].class_name, class_name) == 0)
            return &t->items[i];
    tally *grown = realloc(t->items, (size_t)(t->count + 1) * sizeof *grown);
    if (!grown) return NULL;
    t->items = grown;
    grown[t->count] = (tally){.type = r->input.type, .class_name = class_name};
    memcpy(grown[t->count].label, label, sizeof label);
    return &grown[t->count++];
}

static void add_to(tally *t, const record *r, const landmarks *l)
{
    if (!t) return;
    t->cases++;
    t->gflops += log(r->rates.gflops);
    t->gbps += log(r->rates.gbps);
    t->roof += log(r->rates.roof);
    if (l->peer) {
        t->with_peer++;
        t->ratio += log(l->peer->time.median_us / r->time.median_us);
    }
    for (int p = 0; p < PROFILE_LIMITS; p++)
        t->within[p] += r->time.median_us <= profile_limits[p] * l->best->time.median_us;
}

/* Returns true for records of one matrix and type. Orderings may differ: each peer counts with its best ordering. */
static bool same_group(const record *a, const record *b)
{
    return strcmp(a->input.name, b->input.name) == 0 && strcmp(a->input.type, b->input.type) == 0;
}

static int group_length(const record *records, int count)
{
    int length = 1;
    while (length < count && same_group(&records[0], &records[length])) length++;
    return length;
}

static const cli_column tally_columns[] = {{"kernel", 1, 0}, {"type", 1, 6}, {"cases", 0, 1},   {"vs peer", 0, 2},
                                           {"roof", 0, 3},   {"best", 0, 4}, {"1.1x", 0, 5},    {"1.5x", 0, 7},
                                           {"2x", 0, 8},     {"GB/s", 0, 9}, {"GFLOP/s", 0, 10}};

static void print_tallies(FILE *out, const tallies *t, const char *class_name, const char *title)
{
    cli_table table;
    BEGIN(&table, tally_columns);
    for (int i = 0; i < t->count; i++) {
        const tally *a = &t->items[i];
        if (strcmp(a->class_name, class_name) != 0) continue;
        cli_table_row(&table, ' ');
        cli_table_cell(&table, "%s", a->label);
        cli_table_cell(&table, "%s", a->type);
        cli_table_cell(&table, "%d", a->cases);
        if (a->with_peer > 0)
            cli_table_cell(&table, "%.2f", exp(a->ratio / a->with_peer));
        else
            cli_table_cell(&table, "%s", "");
        share_cell(&table, exp(a->roof / a->cases));
        for (int p = 0; p < PROFILE_LIMITS; p++) cli_table_cell(&table, "%.0f %%", 100.0 * a->within[p] / a->cases);
        cli_table_cell(&table, "%.2f", exp(a->gbps / a->cases));
        cli_table_cell(&table, "%.2f", exp(a->gflops / a->cases));
    }
    if (table.row_count > 0) fprintf(out, "%s\n", title);
    cli_table_print(out, &table);
}

/* Prints the meaning of the columns. */
static void print_legend(FILE *out, const record *first)
{
    if (is_of_spgemm(first)) {
        fputs("time: a whole product with its allocations, warm; first: the first call\n"
              "peak: bytes of inputs, result and workspace together, if known\n"
              "error: share of the allowed rounding error; up to 1 is correct\n",
              out);
        return;
    }
    if (is_of_solves(first)) {
        fputs("time: of an iteration, the mean over a solve; the median of the solves\n"
              "GFLOP/s: only of its product; GB/s: plain CSR and the method's vectors\n"
              "error: share of the allowed residual; up to 1 is correct\n",
              out);
        return;
    }
    if (first->rates.copy_gbps > 0)
        fprintf(out,
                "roof: bytes of plain CSR%s over time, as a share of the copy bandwidth,\n"
                "      %.1f GB/s; above 100 %% if caches hold A or a format is smaller\n",
                first->count > 0 ? " and of all vectors" : "", first->rates.copy_gbps);
    else
        fputs("roof: none, because the copy bandwidth was not measured\n", out);
    fputs("pays after: products until set-up has paid, against the best csr kernel\n"
          "error: share of the allowed rounding error; up to 1 is correct\n",
          out);
}

/* Prints the number of cases that the means exclude because other programs disturbed them. */
static void print_left_out(FILE *out, int disturbed, int cases)
{
    if (disturbed == 0) return;
    char text[256];
    if (disturbed == cases)
        snprintf(text, sizeof text, "No mean is given: other programs disturbed all %d cases", cases);
    else
        snprintf(text, sizeof text, "The means leave out %d of %d cases, which other programs disturbed", disturbed,
                 cases);
    cli_print_wrapped(out, "", text);
}

static int has_class(const tallies *t, const char *class_name)
{
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->items[i].class_name, class_name) == 0) return 1;
    return 0;
}

void cli_print_summary(FILE *out, const record *records, int count)
{
    tallies t = {0};
    int groups = 0, cases = 0, disturbed = 0;
    for (int i = 0; i < count;) {
        int length = group_length(records + i, count - i);
        for (int k = i; k < i + length; k++) {
            if (!is_compared(&records[k])) continue;
            const landmarks l = find_landmarks(records + i, length, &records[k], records[k].time.disturbed == 1);
            cases++;
            groups += l.best == &records[k];
            if (records[k].time.disturbed == 1) {
                disturbed++;
                continue;
            }
            add_to(find_tally(&t, &records[k], "all"), &records[k], &l);
            add_to(find_tally(&t, &records[k], records[k].input.class_name), &records[k], &l);
        }
        i += length;
    }
    if (groups > 1) {
        if (t.count > 0)
            fputs("Geometric means, and the share of matrices on which a kernel is the best,\n"
                  "or within a factor of it\n",
                  out);
        print_left_out(out, disturbed, cases);
        print_tallies(out, &t, "regular", "regular (variance of the row lengths at most 10)");
        print_tallies(out, &t, "irregular", "irregular");
        if (has_class(&t, "regular") && has_class(&t, "irregular")) print_tallies(out, &t, "all", "all");
        fputc('\n', out);
    }
    free(t.items);
    if (cases > 0) print_legend(out, &records[0]);
}
