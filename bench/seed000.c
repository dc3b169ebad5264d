/*
 * The tables of Evtushenko 2019 (suite seed000) from a run's records: speed-up over the textbook loop on one thread, in
 * arithmetic means and maxima over the matrices with at least 10 000 and at least 100 000 entries (its tables 1 to 8),
 * CSR-Scalar beside CSR-Vector, COO against the mean row length (figure 7), and how the leader changes with the type
 * (figures 8c, 8d and table 9). Times are the arithmetic means of the batches, as there. A kernel's set is the matrices
 * that it ran on, which is smaller where the padding guard refuses; the common set is those that every kernel ran on.
 */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char baseline[] = "csr_plain";
static const int64_t limits[] = {10000, 100000};
enum { LIMITS = 2, MOST_KERNELS = 64 };

/* Speed-ups of one type: kernel k on matrix m at [m * kernel_count + k], NaN where it did not run. */
typedef struct results {
    const char *type;
    const char *kernels[MOST_KERNELS];
    int kernel_count;
    const bench_record **matrices; /* the baseline's record of each */
    int matrix_count;
    double *speedups;
} results;

static int timed(const bench_record *r)
{
    return r->status == BENCH_OK && r->mean_us > 0;
}

/* ---- taking records together -------------------------------------------------------------------- */

static int kernel_index(results *s, const char *name)
{
    for (int k = 0; k < s->kernel_count; k++)
        if (strcmp(s->kernels[k], name) == 0) return k;
    if (s->kernel_count == MOST_KERNELS) return -1;
    s->kernels[s->kernel_count] = name;
    return s->kernel_count++;
}

static double *at(const results *s, int matrix, int kernel)
{
    return &s->speedups[(size_t)matrix * (size_t)s->kernel_count + (size_t)kernel];
}

static const bench_record *baseline_of(const results *s, const bench_record *r, int *matrix)
{
    for (*matrix = 0; *matrix < s->matrix_count; (*matrix)++)
        if (strcmp(s->matrices[*matrix]->matrix, r->matrix) == 0) return s->matrices[*matrix];
    return NULL;
}

/* 0: out of memory. */
static int collect(results *s, const bench_record *records, int count)
{
    s->matrices = malloc((size_t)(count + 1) * sizeof(const bench_record *));
    if (!s->matrices) return 0;
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i];
        if (!timed(r) || strcmp(r->type, s->type) != 0) continue;
        if (strcmp(r->kernel, baseline) == 0)
            s->matrices[s->matrix_count++] = r;
        else
            kernel_index(s, r->kernel);
    }
    size_t cells = (size_t)s->matrix_count * (size_t)s->kernel_count;
    s->speedups = malloc((cells + 1) * sizeof *s->speedups);
    if (!s->speedups) return 0;
    for (size_t c = 0; c < cells; c++) s->speedups[c] = NAN;
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i];
        if (!timed(r) || strcmp(r->type, s->type) != 0 || strcmp(r->kernel, baseline) == 0) continue;
        int m, k = kernel_index(s, r->kernel);
        const bench_record *base = baseline_of(s, r, &m);
        if (base && k >= 0) *at(s, m, k) = base->mean_us / r->mean_us;
    }
    return 1;
}

static void release(results *s)
{
    free(s->matrices);
    free(s->speedups);
}

/* ---- figures ------------------------------------------------------------------------------------ */

typedef struct figure {
    int count;
    double mean, most;
} figure;

static int ran_all(const results *s, int matrix)
{
    for (int k = 0; k < s->kernel_count; k++)
        if (isnan(*at(s, matrix, k))) return 0;
    return 1;
}

/* Over the matrices with at least `limit` entries: all that the kernel ran on, or those that every kernel ran on. */
static figure figure_of(const results *s, int kernel, int64_t limit, int common)
{
    figure f = {0};
    for (int m = 0; m < s->matrix_count; m++) {
        double speedup = *at(s, m, kernel);
        if (isnan(speedup) || s->matrices[m]->nnz < limit || (common && !ran_all(s, m))) continue;
        f.count++;
        f.mean += speedup;
        f.most = fmax(f.most, speedup);
    }
    if (f.count > 0) f.mean /= f.count;
    return f;
}

static void print_figure(FILE *out, figure f)
{
    if (f.count == 0)
        fprintf(out, "  %4d  %7s  %7s", 0, "-", "-");
    else
        fprintf(out, "  %4d  %7.2f  %7.2f", f.count, f.mean, f.most);
}

static void print_speedups(FILE *out, const results *s)
{
    fprintf(out, "Speed-up over %s, one thread, %s (arithmetic means)\n", baseline, s->type);
    fprintf(out, "  %-26s  %-22s  %-22s  %s\n", "", "10 000 entries", "100 000 entries", "common set, 10 000");
    fprintf(out, "  %-26s", "kernel");
    for (int t = 0; t < LIMITS + 1; t++) fprintf(out, "  %4s  %7s  %7s", "set", "avg", "max");
    fputc('\n', out);
    for (int k = 0; k < s->kernel_count; k++) {
        fprintf(out, "  %-26s", s->kernels[k]);
        for (int l = 0; l < LIMITS; l++) print_figure(out, figure_of(s, k, limits[l], 0));
        print_figure(out, figure_of(s, k, limits[0], 1));
        fputc('\n', out);
    }
    fputc('\n', out);
}

static int find_kernel(const results *s, const char *name)
{
    for (int k = 0; k < s->kernel_count; k++)
        if (strcmp(s->kernels[k], name) == 0) return k;
    return -1;
}

/* The share of matrices on which CSR-Scalar beats CSR-Vector, and what the CSR kernels do on those. */
static void print_scalar_and_vector(FILE *out, const results *s, int64_t limit)
{
    int scalar = find_kernel(s, "csr_scalar_cuda"), vector = find_kernel(s, "csr_vector_shared_cuda");
    int adaptive = find_kernel(s, "csr_adaptive_atomic_cuda"), both = 0, beaten = 0, adaptive_wins = 0;
    double sums[3] = {0};
    if (scalar < 0 || vector < 0) return;
    for (int m = 0; m < s->matrix_count; m++) {
        double a = *at(s, m, scalar), b = *at(s, m, vector);
        if (s->matrices[m]->nnz < limit || isnan(a) || isnan(b)) continue;
        both++;
        if (a <= b) continue;
        double c = adaptive < 0 ? NAN : *at(s, m, adaptive);
        beaten++;
        adaptive_wins += c > a;
        sums[0] += a;
        sums[1] += b;
        sums[2] += c;
    }
    fprintf(out, "%s, %lld entries: csr_scalar beats csr_vector_shared on %d of %d matrices", s->type, (long long)limit,
            beaten, both);
    if (beaten > 0) {
        fprintf(out, " (%.0f %%); there scalar %.2f, vector %.2f", 100.0 * beaten / both, sums[0] / beaten,
                sums[1] / beaten);
        if (adaptive >= 0) fprintf(out, ", adaptive %.2f, ahead of scalar on %d", sums[2] / beaten, adaptive_wins);
    }
    fputc('\n', out);
}

/* Figure 7: the mean speed-up of the COO kernels by mean row length. */
static void print_row_lengths(FILE *out, const results *s)
{
    static const double edges[] = {0, 2, 4, 8, 16, 32, 64, INFINITY};
    enum { BINS = sizeof edges / sizeof *edges - 1 };
    int printed = 0;
    for (int k = 0; k < s->kernel_count; k++) {
        if (strncmp(s->kernels[k], "coo_", 4) != 0) continue;
        if (!printed++)
            fprintf(out,
                    "\nSpeed-up of COO by mean row length, %s (avg, matrices)\n  %-26s   under 2    2 to 4    "
                    "4 to 8   8 to 16  16 to 32  32 to 64    longer\n",
                    s->type, "kernel");
        fprintf(out, "  %-26s", s->kernels[k]);
        for (int b = 0; b < BINS; b++) {
            figure f = {0};
            for (int m = 0; m < s->matrix_count; m++) {
                const bench_record *r = s->matrices[m];
                double length = r->rows > 0 ? (double)r->nnz / (double)r->rows : 0, speedup = *at(s, m, k);
                if (isnan(speedup) || length < edges[b] || length >= edges[b + 1]) continue;
                f.count++;
                f.mean += speedup;
            }
            if (f.count > 0)
                fprintf(out, "%7.2f %2d", f.mean / f.count, f.count);
            else
                fprintf(out, "%10s", "-");
        }
        fputc('\n', out);
    }
}

static int winner_of(const results *s, int matrix)
{
    int best = -1;
    for (int k = 0; k < s->kernel_count; k++)
        if (!isnan(*at(s, matrix, k)) && (best < 0 || *at(s, matrix, k) > *at(s, matrix, best))) best = k;
    return best;
}

/* Figures 8c and 8d, table 9: who is fastest on each matrix, and where that changes with the type. */
static void print_winners(FILE *out, const results types[2])
{
    int changes = 0, both = 0;
    fprintf(out, "\nFastest kernel of each matrix of at least %lld entries\n  %-24s  %10s  %10s  %8s  %-34s  %s\n",
            (long long)limits[0], "matrix", "rows", "entries", "a row", types[0].type, types[1].type);
    const results *lead = types[0].matrix_count >= types[1].matrix_count ? &types[0] : &types[1];
    for (int m = 0; m < lead->matrix_count; m++) {
        const bench_record *r = lead->matrices[m];
        char text[2][96] = {"-", "-"};
        int winners[2] = {-1, -1};
        if (r->nnz < limits[0]) continue;
        for (int t = 0; t < 2; t++) {
            int n;
            if (!baseline_of(&types[t], r, &n)) continue;
            winners[t] = winner_of(&types[t], n);
            if (winners[t] >= 0)
                snprintf(text[t], sizeof text[t], "%s %.2f", types[t].kernels[winners[t]],
                         *at(&types[t], n, winners[t]));
        }
        int changed = winners[0] >= 0 && winners[1] >= 0 &&
                      strcmp(types[0].kernels[winners[0]], types[1].kernels[winners[1]]) != 0;
        both += winners[0] >= 0 && winners[1] >= 0;
        changes += changed;
        fprintf(out, "  %-24s  %10lld  %10lld  %8.1f  %-34s  %s%s\n", r->matrix, (long long)r->rows, (long long)r->nnz,
                r->rows > 0 ? (double)r->nnz / (double)r->rows : 0.0, text[0], text[1], changed ? "  changes" : "");
    }
    fprintf(out, "The fastest kernel changes with the type on %d of %d matrices.\n\n", changes, both);
}

void bench_print_seed000(FILE *out, const bench_record *records, int count)
{
    results types[2] = {{.type = "f32"}, {.type = "f64"}};
    if (!collect(&types[0], records, count) || !collect(&types[1], records, count)) {
        fputs("Not enough memory for the tables of suite seed000.\n", out);
    } else if (types[0].matrix_count + types[1].matrix_count == 0) {
        fprintf(out, "No tables: nothing was timed beside %s.\n", baseline);
    } else {
        for (int t = 0; t < 2; t++)
            if (types[t].matrix_count > 0) print_speedups(out, &types[t]);
        for (int t = 0; t < 2; t++)
            for (int l = 0; l < LIMITS; l++) print_scalar_and_vector(out, &types[t], limits[l]);
        for (int t = 0; t < 2; t++) print_row_lengths(out, &types[t]);
        print_winners(out, types);
    }
    release(&types[0]);
    release(&types[1]);
}
