/* Products of two sparse matrices for people: a block for each matrix, and the figures of suite spgemm002. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int timed(const bench_record *r)
{
    return r->status == BENCH_OK && r->time_us > 0;
}

static int is_plan(const bench_record *r)
{
    return strcmp(r->format, "plan") == 0;
}

/* What is said behind a kernel's name of how it was called. */
static const char *call_of(const bench_record *r)
{
    return is_plan(r)                       ? " (plan)"
           : strcmp(r->format, "host") == 0 ? " (from host)"
           : strcmp(r->format, "auto") == 0 ? " (auto)"
                                            : "";
}

/* ---- one matrix --------------------------------------------------------------------------------- */

static void print_record(FILE *out, const bench_record *r, const bench_record *peer)
{
    char name[80], peak[32] = "-", ratio[24] = "-";
    snprintf(name, sizeof name, "%s%s%s", r->kernel[0] ? r->kernel : "-", call_of(r), r->unsorted ? " *" : "");
    fprintf(out, "  %-30s", name);
    if (!timed(r)) {
        fprintf(out, "  %s: %s\n", bench_status_name(r->status), r->reason[0] ? r->reason : "no reason given");
        return;
    }
    if (r->peak_bytes >= 0) snprintf(peak, sizeof peak, "%.1f", 1e-6 * (double)r->peak_bytes);
    if (peer && !is_plan(r)) snprintf(ratio, sizeof ratio, "%.2f", peer->time_us / r->time_us);
    fprintf(out, "  %10.1f  %5.1f%%  %8.2f  %10.1f  %10.1f  %9s  %7.2g", r->time_us, 100 * r->spread_us / r->time_us,
            r->gflops, r->first_us, r->setup_us, peak, r->max_error);
    if (peer) fprintf(out, "  %7s", ratio);
    fputc('\n', out);
}

void bench_print_spgemm(FILE *out, const bench_record *records, int count)
{
    const bench_record *peer = NULL, *best = NULL;
    int unsorted = 0;
    if (count == 0) return;
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i];
        if (!timed(r)) continue;
        best = r;
        unsorted |= r->unsorted;
        if (r->peer == 1 && (!peer || r->time_us < peer->time_us)) peer = r;
    }
    const bench_record *r = &records[0];
    if (r->rows < 0)
        fprintf(out, "%s\n", r->matrix);
    else
        fprintf(out,
                "%s%s, squared: %lld x %lld, %lld entries, %s; %lld products, %lld entries in C, %.2f to one; indices "
                "%s, %s, %s\n",
                r->matrix, r->twin == 1 ? " (a twin)" : "", (long long)r->rows, (long long)r->cols, (long long)r->nnz,
                r->class_name, (long long)r->products, (long long)r->nnz_c, r->compression, r->index, r->type,
                r->state);
    if (best)
        fprintf(out, "  %-30s  %10s  %6s  %8s  %10s  %10s  %9s  %7s%s\n", "kernel", "time us", "spread", "GFLOP/s",
                "first us", "set-up us", "peak MB", "error", peer ? "  vs peer" : "");
    for (int i = 0; i < count; i++) print_record(out, &records[i], peer);
    if (unsorted) fputs("  * rows of C are left unsorted\n", out);
    fputc('\n', out);
}

/* ---- suite spgemm002 ---------------------------------------------------------------------------- */

/* gen:random's figures out of a record's name. 0: it is another matrix. */
static int study_point(const bench_record *r, double *size, double *density)
{
    return sscanf(r->matrix, "random,rows=%lf,cols=%*f,density=%lf", size, density) == 2;
}

enum { MOST_COLUMNS = 24 };
typedef struct columns {
    char names[MOST_COLUMNS][80];
    int count;
} columns;

static void column_name(const bench_record *r, char *name, size_t size)
{
    if (strcmp(r->format, "auto") == 0) /* whichever kernel that was */
        snprintf(name, size, "device auto");
    else
        snprintf(name, size, "%s%s", r->kernel, call_of(r));
}

static void add_column(columns *c, const bench_record *r)
{
    char name[80];
    column_name(r, name, sizeof name);
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->names[i], name) == 0) return;
    if (c->count < MOST_COLUMNS) memcpy(c->names[c->count++], name, sizeof name);
}

static const bench_record *find_record(const bench_record *records, int count, const char *matrix, const char *type,
                                       const char *name)
{
    char own[80];
    for (int i = 0; i < count; i++) {
        column_name(&records[i], own, sizeof own);
        if (timed(&records[i]) && strcmp(records[i].matrix, matrix) == 0 && strcmp(records[i].type, type) == 0 &&
            strcmp(own, name) == 0)
            return &records[i];
    }
    return NULL;
}

static int in_figure(const bench_record *r, const char *type, double density)
{
    double size, d;
    if (strcmp(r->type, type) != 0 || !study_point(r, &size, &d)) return 0;
    return density > 0 ? d == density : size == 4096;
}

/* In milliseconds; NULL: there is none. */
static void print_time(FILE *out, const bench_record *r)
{
    if (r)
        fprintf(out, "  %10.4g", 1e-3 * r->time_us);
    else
        fprintf(out, "  %10s", "-");
}

/* Times in milliseconds, a line a matrix, a column a kernel. density 0: 4096 x 4096 over densities. */
static void print_figure(FILE *out, const bench_record *records, int count, const char *type, double density)
{
    columns c = {.count = 0};
    const char *last = "";
    for (int i = 0; i < count; i++)
        if (timed(&records[i]) && in_figure(&records[i], type, density)) add_column(&c, &records[i]);
    if (c.count == 0) return;
    if (density > 0)
        fprintf(out, "Density %g, %s: ms a product\n", density, type);
    else
        fprintf(out, "4096 x 4096, %s: ms a product\n", type);
    for (int n = 0; n < c.count; n++) fprintf(out, "  [%d] %s\n", n + 1, c.names[n]);
    fprintf(out, "  %9s  %12s  %12s", density > 0 ? "size" : "density", "products", "entries in C");
    for (int n = 0; n < c.count; n++) fprintf(out, "  %9d]", n + 1);
    fputc('\n', out);
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i];
        double size, d;
        if (r->products < 0 || !in_figure(r, type, density) || strcmp(r->matrix, last) == 0 ||
            !study_point(r, &size, &d))
            continue;
        last = r->matrix;
        fprintf(out, "  %9g  %12lld  %12lld", density > 0 ? size : d, (long long)r->products, (long long)r->nnz_c);
        for (int n = 0; n < c.count; n++) print_time(out, find_record(records, count, r->matrix, type, c.names[n]));
        fputc('\n', out);
    }
    fputc('\n', out);
}

/* The study's two stages that a plan keeps apart: counting C (GetNNZ, scan) and its values (GetVals, SortCols). */
static void print_stages(FILE *out, const bench_record *records, int count)
{
    int titled = 0;
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i];
        double size, density;
        if (!timed(r) || !is_plan(r) || !study_point(r, &size, &density)) continue;
        if (!titled++)
            fprintf(out,
                    "By stage, ms: the symbolic phase counts C, the numeric one fills it\n  %-28s %-5s %9s  %8s  "
                    "%10s  %10s\n",
                    "kernel", "type", "size", "density", "symbolic", "numeric");
        fprintf(out, "  %-28s %-5s %9g  %8g  %10.4g  %10.4g\n", r->kernel, r->type, size, density,
                1e-3 * (r->setup_us - r->upload_us), 1e-3 * r->time_us);
    }
    if (titled) fputc('\n', out);
}

/* With B by columns, and without: the kernels of the same study that read B by rows. */
static void print_conversions(FILE *out, const bench_record *records, int count)
{
    int titled = 0;
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i], *rows = NULL;
        double size, density;
        if (is_plan(r) || isnan(r->convert_us) || !study_point(r, &size, &density)) continue;
        for (int k = 0; k < count; k++)
            if (timed(&records[k]) && !is_plan(&records[k]) && strcmp(records[k].matrix, r->matrix) == 0 &&
                strcmp(records[k].type, r->type) == 0 && strcmp(records[k].kernel, "spgemm_seed_dense_cpu") == 0)
                rows = &records[k];
        if (!titled++)
            fputs("Conversion, ms: making B's columns, the product with them, and the one that takes B by rows\n"
                  "  type       size   density     columns     product     by rows\n",
                  out);
        fprintf(out, "  %-5s %9g  %8g  %10.4g", r->type, size, density, 1e-3 * r->convert_us);
        print_time(out, timed(r) ? r : NULL);
        print_time(out, rows);
        fputc('\n', out);
    }
    if (titled) fputc('\n', out);
}

/* The library's choice of both, of whole products with A and C in host memory. */
static const bench_record *choice_on(const bench_record *records, int count, const bench_record *routed,
                                     const char *format, const char *device)
{
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i];
        const int own = strncmp(r->kernel, "spgemm_rows_", 12) == 0 && r->peer == 0; /* no seed's, asked for by name */
        if (timed(r) && own && strcmp(r->format, format) == 0 && strncmp(r->device, device, strlen(device)) == 0 &&
            strcmp(r->matrix, routed->matrix) == 0 && strcmp(r->type, routed->type) == 0)
            return r;
    }
    return NULL;
}

/* What --device auto took, and its loss to the faster device with both ends in host memory. */
static void print_routing(FILE *out, const bench_record *records, int count)
{
    int titled = 0;
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i];
        double size, density;
        if (!timed(r) || strcmp(r->format, "auto") != 0 || !study_point(r, &size, &density)) continue;
        const bench_record *cpu = choice_on(records, count, r, "csr", "cpu");
        const bench_record *gpu = choice_on(records, count, r, "host", "cuda");
        if (!cpu || !gpu) continue;
        const double best = cpu->time_us < gpu->time_us ? cpu->time_us : gpu->time_us;
        if (!titled++)
            fputs("Routing, ms, from host memory to host memory: CPU, GPU, device auto, what it took and lost\n"
                  "  type       size   density         CPU         GPU        auto  took    lost\n",
                  out);
        fprintf(out, "  %-5s %9g  %8g", r->type, size, density);
        print_time(out, cpu);
        print_time(out, gpu);
        print_time(out, r);
        fprintf(out, "  %-4s  %5.1f%%\n", strcmp(r->device, "cpu") == 0 ? "CPU" : "GPU", 100 * (r->time_us / best - 1));
    }
    if (titled) fputc('\n', out);
}

void bench_print_spgemm002(FILE *out, const bench_record *records, int count)
{
    static const double densities[] = {1e-3, 1e-4, 1e-5, 0};
    static const char *const types[] = {"f64", "f32"};
    for (int t = 0; t < 2; t++)
        for (size_t d = 0; d < sizeof densities / sizeof *densities; d++)
            print_figure(out, records, count, types[t], densities[d]);
    print_routing(out, records, count);
    print_conversions(out, records, count);
    print_stages(out, records, count);
}
