/*
 * What the CSR-k study draws beside its classes: scalability over thread counts (figure 5), and how everybody's better
 * numbering compares with each other library's.
 */
#include "bench/csrk64.h"

#include <math.h>
#include <string.h>

enum { MOST_KERNELS = 48, MOST_TEAMS = 24 };

typedef struct name_set {
    const char *names[MOST_KERNELS];
    int count;
} name_set;

static void add_name(name_set *set, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->names[i], name) == 0) return;
    if (set->count < MOST_KERNELS) set->names[set->count++] = name;
}

/* ---- scalability -------------------------------------------------------------------------------- */

/* The study's threads: the CPU's products of the matrix as given. */
static int scales(const bench_record *r, const char *type)
{
    return r->status == BENCH_OK && r->mean_us > 0 && r->threads > 0 && strcmp(r->device, "cpu") == 0 &&
           strcmp(r->type, type) == 0 && strcmp(r->ordering, "none") == 0 && bench_csrk64_find(r->matrix);
}

/* Rising; returns how many. */
static int find_teams(int *teams, const bench_record *records, int count, const char *type)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        int at = 0;
        if (!scales(&records[i], type)) continue;
        while (at < found && teams[at] < records[i].threads) at++;
        if ((at < found && teams[at] == records[i].threads) || found == MOST_TEAMS) continue;
        memmove(&teams[at + 1], &teams[at], (size_t)(found - at) * sizeof *teams);
        teams[at] = records[i].threads;
        found++;
    }
    return found;
}

/* NaN where it did not run. */
static double time_of(const bench_record *records, int count, const char *type, const char *kernel, int threads,
                      const char *matrix)
{
    for (int i = 0; i < count; i++)
        if (scales(&records[i], type) && records[i].threads == threads && strcmp(records[i].kernel, kernel) == 0 &&
            strcmp(records[i].matrix, matrix) == 0)
            return records[i].mean_us;
    return NAN;
}

/* Geometric mean of base over time; *sets: of how many matrices. */
static double speedup_of(const bench_record *records, int count, const char *type, const char *base, int base_threads,
                         const char *kernel, int threads, int *sets)
{
    double sum = 0;
    *sets = 0;
    for (int m = 0; m < BENCH_CSRK64; m++) {
        const char *matrix = bench_csrk64[m].name;
        const double ratio = time_of(records, count, type, base, base_threads, matrix) /
                             time_of(records, count, type, kernel, threads, matrix);
        if (isnan(ratio)) continue;
        sum += log(ratio);
        ++*sets;
    }
    return *sets > 0 ? exp(sum / *sets) : NAN;
}

void bench_print_csrk64_scaling(FILE *out, const bench_record *records, int count, const char *type)
{
    int teams[MOST_TEAMS + 1];
    const int team_count = find_teams(teams, records, count, type);
    name_set kernels = {.count = 0};
    const char *base = NULL;
    for (int i = 0; i < count; i++) {
        if (!scales(&records[i], type)) continue;
        add_name(&kernels, records[i].kernel);
        if (strcmp(records[i].kernel, "mkl_csr_optimized") == 0 ||
            (!base && strncmp(records[i].kernel, "mkl_csr", 7) == 0))
            base = records[i].kernel;
    }
    if (team_count < 2 || !base) return; /* no study was made, or not against MKL */
    fprintf(out,
            "Scalability, %s, matrices as given: speed-up over %s at %d thread%s, geometric mean (matrices)\n  %-24s",
            type, base, teams[0], teams[0] == 1 ? "" : "s", "threads");
    for (int t = 0; t < team_count; t++) fprintf(out, "  %10d", teams[t]);
    fputc('\n', out);
    for (int k = 0; k < kernels.count; k++) {
        fprintf(out, "  %-24s", kernels.names[k]);
        for (int t = 0; t < team_count; t++) {
            int sets = 0;
            const double s = speedup_of(records, count, type, base, teams[0], kernels.names[k], teams[t], &sets);
            if (sets > 0)
                fprintf(out, "  %5.2f (%2d)", s, sets);
            else
                fprintf(out, "  %10s", "-");
        }
        fputc('\n', out);
    }
    fputc('\n', out);
}

/* ---- against others ----------------------------------------------------------------------------- */

static int rated(const bench_record *r, const char *type, const char *device)
{
    return r->status == BENCH_OK && r->mean_us > 0 && !r->fewer_threads && strcmp(r->type, type) == 0 &&
           strncmp(r->device, device, strlen(device)) == 0 && bench_csrk64_find(r->matrix);
}

/* The least mean time of a kernel over its numberings; kernel NULL: of all peers. NaN: none. */
static double least_of(const bench_record *records, int count, const char *type, const char *device, const char *kernel,
                       const char *matrix)
{
    double least = NAN;
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i];
        if (!rated(r, type, device) || strcmp(r->matrix, matrix) != 0) continue;
        if (kernel ? strcmp(r->kernel, kernel) == 0 : r->peer == 1)
            least = isnan(least) ? r->mean_us : fmin(least, r->mean_us);
    }
    return least;
}

/* Of a class, 'r' or 'i', or of both: 0. */
static void print_ratio(FILE *out, const bench_record *records, int count, const char *type, const char *device,
                        const char *kernel, const char *peer, char class)
{
    double sum = 0;
    int sets = 0;
    for (int m = 0; m < BENCH_CSRK64; m++) {
        if (class && bench_csrk64[m].id[0] != class) continue;
        const double ratio = least_of(records, count, type, device, peer, bench_csrk64[m].name) /
                             least_of(records, count, type, device, kernel, bench_csrk64[m].name);
        if (isnan(ratio)) continue;
        sum += log(ratio);
        sets++;
    }
    if (sets > 0)
        fprintf(out, "  %5.2f (%2d)", exp(sum / sets), sets);
    else
        fprintf(out, "  %10s", "-");
}

void bench_print_csrk64_ratios(FILE *out, const bench_record *records, int count, const char *type, const char *device)
{
    name_set ours = {.count = 0}, peers = {.count = 0};
    for (int i = 0; i < count; i++)
        if (rated(&records[i], type, device)) add_name(records[i].peer == 1 ? &peers : &ours, records[i].kernel);
    if (ours.count == 0 || peers.count == 0) return;
    fprintf(out,
            "Speed-up on %s, %s, geometric mean (matrices), everybody in the better numbering on each matrix\n"
            "  %-24s  %-20s  %-10s  %-10s  %-10s\n",
            device, type, "kernel", "over", "regular", "irregular", "all");
    for (int k = 0; k < ours.count; k++)
        for (int p = 0; p <= peers.count; p++) {
            if (p == peers.count && p == 1) continue; /* the only one is the best one */
            const char *peer = p < peers.count ? peers.names[p] : NULL;
            fprintf(out, "  %-24s  %-20s", ours.names[k], peer ? peer : "the best of them");
            print_ratio(out, records, count, type, device, ours.names[k], peer, 'r');
            print_ratio(out, records, count, type, device, ours.names[k], peer, 'i');
            print_ratio(out, records, count, type, device, ours.names[k], peer, 0);
            fputc('\n', out);
        }
    fputc('\n', out);
}
