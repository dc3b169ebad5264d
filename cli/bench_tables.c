#include "cli/bench_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int has_time(const record *r)
{
    return r->status == RECORD_OK && r->time_us > 0;
}

/* Fewer threads are compared with nobody, and neither is the numeric phase of a product of matrices by itself. */
static int timed(const record *r)
{
    return has_time(r) && !r->fewer_threads && strcmp(r->format, "plan") != 0;
}

/* 1: the same number of columns, in the same layout; without columns always. */
static int same_columns(const record *a, const record *b)
{
    return a->columns == b->columns && (!a->layout || !b->layout || strcmp(a->layout, b->layout) == 0);
}

/* The fastest peer, the best plain CSR of our own, and the fastest of all: NULL where there is none. */
typedef struct landmarks {
    const record *peer, *csr, *best;
} landmarks;

static void keep_faster(const record **kept, const record *r)
{
    if (!*kept || r->time_us < (*kept)->time_us) *kept = r;
}

/* Among those with as many columns as `like`. */
static landmarks find_landmarks(const record *records, int count, const record *like)
{
    landmarks l = {0};
    for (int i = 0; i < count; i++) {
        if (!timed(&records[i]) || !same_columns(&records[i], like)) continue;
        keep_faster(&l.best, &records[i]);
        if (records[i].peer)
            keep_faster(&l.peer, &records[i]);
        else if (strcmp(records[i].format, "csr") == 0)
            keep_faster(&l.csr, &records[i]);
    }
    return l;
}

static int is_reordered(const record *r)
{
    return r->ordering[0] && strcmp(r->ordering, "none") != 0;
}

/* ---- one matrix --------------------------------------------------------------------------------- */

static void break_even_text(char *text, size_t size, const record *r, const record *base)
{
    int64_t calls = base ? record_break_even(r, base) : -2;
    if (calls == -2)
        snprintf(text, size, "-");
    else if (calls == -1)
        snprintf(text, size, "never");
    else
        snprintf(text, size, "%lld", (long long)calls);
}

/* A share in per cent, "-" where the copy bandwidth was not measured. */
static const char *roof_text(char *text, size_t size, double roof)
{
    if (isnan(roof))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.0f%%", 100 * roof);
    return text;
}

static void print_record(FILE *out, const record *r, const landmarks *l)
{
    if (r->status == RECORD_OK && r->fewer_threads) {
        fprintf(out, "  %-8s  %-22s  %10.1f  with %d thread%s\n", r->format, r->kernel, r->time_us, r->threads,
                r->threads == 1 ? "" : "s");
        return;
    }
    fprintf(out, "  %-8s  %-22s", r->format[0] ? r->format : "-", r->kernel[0] ? r->kernel : "-");
    if (!timed(r)) {
        fprintf(out, "  %s: %s\n", record_status_name(r->status), r->reason[0] ? r->reason : "no reason given");
        return;
    }
    char even[24], roof[24], ratio[24] = "-";
    break_even_text(even, sizeof even, r, l->csr);
    if (l->peer) snprintf(ratio, sizeof ratio, "%.2f", l->peer->time_us / r->time_us);
    fprintf(out, "  %10.1f  %5.1f%%  %8.2f  %8.2f  %6s  %10.0f  %10s  %7.2g", r->time_us,
            100 * r->spread_us / r->time_us, r->gflops, r->gbps, roof_text(roof, sizeof roof, r->roof), r->setup_us,
            even, r->max_error);
    if (l->peer) fprintf(out, "  %7s", ratio);
    fputc('\n', out);
}

static void print_spmv_group(FILE *out, const record *records, int count)
{
    const record *r = &records[0];
    char columns[64] = "";
    landmarks l = find_landmarks(records, count, r);
    if (r->columns > 0)
        snprintf(columns, sizeof columns, " of %lld column%s, %s-major", (long long)r->columns,
                 r->columns == 1 ? "" : "s", r->layout);
    if (r->rows < 0)
        fprintf(out, "%s\n", r->matrix);
    else
        fprintf(out, "%s%s%s%s: %lld x %lld, %lld entries, %s; %s%s, indices %s, %s, %s caches\n", r->matrix,
                r->twin == 1 ? " (a twin)" : "", is_reordered(r) ? ", reordered by " : "",
                is_reordered(r) ? r->ordering : "", (long long)r->rows, (long long)r->cols, (long long)r->nnz,
                r->class_name, r->op, columns, r->index, r->type, r->state);
    if (l.best)
        fprintf(out, "  %-8s  %-22s  %10s  %6s  %8s  %8s  %6s  %10s  %10s  %7s%s\n", "format", "kernel", "time us",
                "spread", "GFLOP/s", "GB/s", "roof", "set-up us", "pays after", "error", l.peer ? "  vs peer" : "");
    for (int i = 0; i < count; i++) print_record(out, &records[i], &l);
    fputc('\n', out);
}

/* ---- one matrix squared -------------------------------------------------------------------------- */

static int is_plan(const record *r)
{
    return strcmp(r->format, "plan") == 0;
}

/* How a product was called, as it stands behind the kernel's name. */
static const char *call_of(const record *r)
{
    return is_plan(r)                       ? " (plan)"
           : strcmp(r->format, "host") == 0 ? " (from host)"
           : strcmp(r->format, "auto") == 0 ? " (auto)"
                                            : "";
}

static void print_spgemm_record(FILE *out, const record *r, const record *peer)
{
    char name[80], peak[32] = "-", ratio[24] = "-";
    snprintf(name, sizeof name, "%s%s%s", r->kernel[0] ? r->kernel : "-", call_of(r), r->unsorted ? " *" : "");
    fprintf(out, "  %-30s", name);
    if (!has_time(r)) {
        fprintf(out, "  %s: %s\n", record_status_name(r->status), r->reason[0] ? r->reason : "no reason given");
        return;
    }
    if (r->peak_bytes >= 0) snprintf(peak, sizeof peak, "%.1f", 1e-6 * (double)r->peak_bytes);
    if (peer && !is_plan(r)) snprintf(ratio, sizeof ratio, "%.2f", peer->time_us / r->time_us);
    fprintf(out, "  %10.1f  %5.1f%%  %8.2f  %10.1f  %10.1f  %9s  %7.2g", r->time_us, 100 * r->spread_us / r->time_us,
            r->gflops, r->first_us, r->setup_us, peak, r->max_error);
    if (peer) fprintf(out, "  %7s", ratio);
    fputc('\n', out);
}

static void print_spgemm_group(FILE *out, const record *records, int count)
{
    const record *peer = find_landmarks(records, count, records).peer;
    int any = 0, unsorted = 0;
    for (int i = 0; i < count; i++) {
        any |= has_time(&records[i]);
        unsorted |= has_time(&records[i]) && records[i].unsorted;
    }
    const record *r = &records[0];
    if (r->rows < 0)
        fprintf(out, "%s\n", r->matrix);
    else
        fprintf(out,
                "%s%s, squared: %lld x %lld, %lld entries, %s; %lld products, %lld entries in C, %.2f to one; indices "
                "%s, %s, %s\n",
                r->matrix, r->twin == 1 ? " (a twin)" : "", (long long)r->rows, (long long)r->cols, (long long)r->nnz,
                r->class_name, (long long)r->products, (long long)r->nnz_c, r->compression, r->index, r->type,
                r->state);
    if (any)
        fprintf(out, "  %-30s  %10s  %6s  %8s  %10s  %10s  %9s  %7s%s\n", "kernel", "time us", "spread", "GFLOP/s",
                "first us", "set-up us", "peak MB", "error", peer ? "  vs peer" : "");
    for (int i = 0; i < count; i++) print_spgemm_record(out, &records[i], peer);
    if (unsorted) fputs("  * rows of C are left unsorted\n", out);
    fputc('\n', out);
}

/* ---- a method's iterations ----------------------------------------------------------------------- */

static int is_of_solves(const record *r)
{
    return strcmp(r->op, "cg") == 0 || strcmp(r->op, "pagerank") == 0;
}

static void print_solver_record(FILE *out, const record *r, const record *peer)
{
    char roof[24];
    fprintf(out, "  %-8s  %-26s", r->format[0] ? r->format : "-", r->kernel[0] ? r->kernel : "-");
    if (!has_time(r)) {
        fprintf(out, "  %s: %s\n", record_status_name(r->status), r->reason[0] ? r->reason : "no reason given");
        return;
    }
    fprintf(out, "  %10.1f  %5.1f%%  %10lld  %8.2f  %8.2f  %6s  %10.0f  %7.2g", r->time_us,
            100 * r->spread_us / r->time_us, (long long)r->iterations, r->gflops, r->gbps,
            roof_text(roof, sizeof roof, r->roof), r->setup_us, r->max_error);
    if (peer) fprintf(out, "  %7.2f", peer->time_us / r->time_us);
    fputc('\n', out);
}

static void print_solver_group(FILE *out, const record *records, int count)
{
    const record *r = &records[0];
    const landmarks l = find_landmarks(records, count, r);
    if (r->rows < 0)
        fprintf(out, "%s\n", r->matrix);
    else
        fprintf(out, "%s%s: %lld x %lld, %lld entries, %s; %s, indices %s, %s\n", r->matrix,
                r->twin == 1 ? " (a twin)" : "", (long long)r->rows, (long long)r->cols, (long long)r->nnz,
                r->class_name, r->op, r->index, r->type);
    if (l.best)
        fprintf(out, "  %-8s  %-26s  %10s  %6s  %10s  %8s  %8s  %6s  %10s  %7s%s\n", "format", "kernel", "time us",
                "spread", "iterations", "GFLOP/s", "GB/s", "roof", "set-up us", "error", l.peer ? "  vs peer" : "");
    for (int i = 0; i < count; i++) print_solver_record(out, &records[i], l.peer);
    fputc('\n', out);
}

void cli_print_group(FILE *out, const record *records, int count)
{
    if (count == 0) return;
    if (is_of_solves(records))
        print_solver_group(out, records, count);
    else
        (strcmp(records[0].op, "spgemm") == 0 ? print_spgemm_group : print_spmv_group)(out, records, count);
}

/* ---- all matrices ------------------------------------------------------------------------------- */

static const double profile_limits[] = {1.0, 1.1, 1.5, 2.0};
enum { PROFILE_LIMITS = 4 };

/* A kernel over the matrices of a class, under one ordering; sums of logarithms. */
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
    char columns[32] = "";
    if (r->columns > 0) snprintf(columns, sizeof columns, " x%lld %s", (long long)r->columns, r->layout);
    snprintf(label, size, "%s%s%s%s", strcmp(r->format, "auto") == 0 ? "auto" : r->kernel, columns,
             is_reordered(r) ? " " : "", is_reordered(r) ? r->ordering : "");
}

static tally *find_tally(tallies *t, const record *r, const char *class_name)
{
    char label[sizeof t->items->label];
    label_of(r, label, sizeof label);
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->items[i].label, label) == 0 && strcmp(t->items[i].type, r->type) == 0 &&
            strcmp(t->items[i].class_name, class_name) == 0)
            return &t->items[i];
    tally *grown = realloc(t->items, (size_t)(t->count + 1) * sizeof *grown);
    if (!grown) return NULL;
    t->items = grown;
    grown[t->count] = (tally){.type = r->type, .class_name = class_name};
    memcpy(grown[t->count].label, label, sizeof label);
    return &grown[t->count++];
}

static void add_to(tally *t, const record *r, const landmarks *l)
{
    if (!t) return;
    t->cases++;
    t->gflops += log(r->gflops);
    t->gbps += log(r->gbps);
    t->roof += log(r->roof);
    if (l->peer) {
        t->with_peer++;
        t->ratio += log(l->peer->time_us / r->time_us);
    }
    for (int p = 0; p < PROFILE_LIMITS; p++) t->within[p] += r->time_us <= profile_limits[p] * l->best->time_us;
}

/* Whatever the ordering: everybody is compared with the best peer under its best one. */
static int same_group(const record *a, const record *b)
{
    return strcmp(a->matrix, b->matrix) == 0 && strcmp(a->type, b->type) == 0;
}

static int group_length(const record *records, int count)
{
    int length = 1;
    while (length < count && same_group(&records[0], &records[length])) length++;
    return length;
}

static void print_tallies(FILE *out, const tallies *t, const char *class_name, const char *title)
{
    int printed = 0;
    for (int i = 0; i < t->count; i++) {
        const tally *a = &t->items[i];
        if (strcmp(a->class_name, class_name) != 0) continue;
        if (!printed++)
            fprintf(out, "  %-35s %5s  %8s  %8s  %6s  %8s   %5s  %5s  %5s  %5s\n", title, "cases", "GFLOP/s", "GB/s",
                    "roof", "vs peer", "best", "1.1x", "1.5x", "2x");
        char roof[24], ratio[24] = "-";
        if (a->with_peer > 0) snprintf(ratio, sizeof ratio, "%.2f", exp(a->ratio / a->with_peer));
        fprintf(out, "    %-8s %-24s %5d  %8.2f  %8.2f  %6s  %8s ", a->type, a->label, a->cases,
                exp(a->gflops / a->cases), exp(a->gbps / a->cases),
                roof_text(roof, sizeof roof, exp(a->roof / a->cases)), ratio);
        for (int p = 0; p < PROFILE_LIMITS; p++) fprintf(out, "  %4.0f%%", 100.0 * a->within[p] / a->cases);
        fputc('\n', out);
    }
}

static void print_not_ok(FILE *out, const record *records, int count)
{
    int listed = 0;
    for (int i = 0; i < count; i++) {
        const record *r = &records[i];
        if (r->status == RECORD_OK) continue;
        if (!listed++) fputs("Not measured:\n", out);
        fprintf(out, "  %-7s  %s %s ", record_status_name(r->status), r->matrix, r->type);
        if (r->columns > 0) fprintf(out, "%lld column%s ", (long long)r->columns, r->columns == 1 ? "" : "s");
        fprintf(out, "%s: %s\n", r->kernel[0] ? r->kernel : r->format, r->reason);
    }
}

static void print_legend(FILE *out, const record *first)
{
    if (strcmp(first->op, "spgemm") == 0) {
        fputs("A time is that of a whole product with its allocations, warm; first: the first call; GFLOP/s count 2 "
              "operations a product;\npeak: inputs, result and workspace, where they are known; error = share of the "
              "bound.\n",
              out);
        return;
    }
    if (is_of_solves(first)) {
        fputs("A time is that of an iteration, a mean over a whole solve, and of the solves the median; GFLOP/s count "
              "its "
              "product alone,\nGB/s plain CSR and the vectors of the method; error = share of the residual that x may "
              "have.\n",
              out);
        return;
    }
    if (first->copy_gbps > 0)
        fprintf(out,
                "Copy bandwidth %.1f GB/s, read and written; roof = bytes of plain CSR%s over time as a share of it.\n",
                first->copy_gbps, first->columns > 0 ? " and of all columns" : "");
    else
        fputs("The copy bandwidth was not measured, so there is no roof.\n", out);
    fputs("pays after = products after which set-up has paid against the best csr kernel; error = share of the "
          "bound.\n",
          out);
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
    int groups = 0;
    for (int i = 0; i < count;) {
        int length = group_length(records + i, count - i);
        for (int k = i; k < i + length; k++) {
            if (!timed(&records[k])) continue;
            const landmarks l = find_landmarks(records + i, length, &records[k]);
            groups += l.best == &records[k];
            add_to(find_tally(&t, &records[k], "all"), &records[k], &l);
            add_to(find_tally(&t, &records[k], records[k].class_name), &records[k], &l);
        }
        i += length;
    }
    if (groups > 1) {
        fputs("Geometric means, and the share of matrices on which a kernel is the best or within a factor of it:\n",
              out);
        print_tallies(out, &t, "regular", "regular (row-length variance <= 10)");
        print_tallies(out, &t, "irregular", "irregular");
        if (has_class(&t, "regular") && has_class(&t, "irregular")) print_tallies(out, &t, "all", "all");
        fputc('\n', out);
    }
    print_not_ok(out, records, count);
    free(t.items);
    if (count > 0) print_legend(out, &records[0]);
}
