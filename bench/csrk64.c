/*
 * The 64 matrices of the CSR-k study (P. A. Lane and J. D. Booth, Heterogeneous sparse matrix-vector multiplication via
 * compressed sparse row format, table 1) and the figures that it draws from them: GFLOP/s by class, regular and
 * irregular, symmetric and not; and what the choice of k costs.
 *
 * The table prints sizes in millions with two decimals; the numbers here lie inside what those allow, and give the mean
 * row length printed beside them. Of thermal2 the table's 1.28 million rows and 8.58 million entries contradict its
 * mean of 6.99: 1.228 million fits. A matrix that is not in the folder is replaced by a twin (gen:twin) of these
 * figures, marked as such in every record.
 */
#include "bench/csrk64.h"

#include <math.h>
#include <string.h>

/* Sorted as printed; ids r regular, i irregular. Symmetry: of the pattern, in per cent. */
const bench_study_matrix bench_csrk64[BENCH_CSRK64] = {
    {"r1", "belgium_osm", 1440000, 3100000, 10, 100, "road", 0, 1},
    {"r2", "netherlands_osm", 2220000, 4880000, 7, 100, "road", 0, 1},
    {"r3", "roadNet-TX", 1390000, 3840000, 12, 100, "road", 0, 1},
    {"r4", "roadNet-CA", 1970000, 5530000, 12, 100, "road", 0, 1},
    {"r5", "roadNet-PA", 1088800, 3081200, 9, 100, "road", 0, 1},
    {"r6", "hugetrace-00000", 4590000, 13760000, 3, 100, "hexagons", 0, 1},
    {"r7", "hugetric-00000", 5824900, 17470000, 3, 100, "hexagons", 0, 1},
    {"r8", "debr", 1048000, 4192000, 4, 100, "words", 0, 1},
    {"r9", "venturiLevel3", 4030000, 16110000, 6, 100, "mesh2", 0, 1},
    {"r10", "rajat31", 4690000, 20320000, 1200, 100, "circuit", 1, 1},
    {"r11", "G3_circuit", 1586700, 7663300, 6, 100, "mesh2", 1, 1},
    {"r12", "ecology1", 1000000, 5000000, 5, 100, "mesh2", 1, 1},
    {"r13", "333SP", 3712800, 22217200, 28, 100, "triangles", 0, 1},
    {"r14", "AS365", 3800200, 22739800, 14, 100, "triangles", 0, 1},
    {"r15", "NACA0015", 1040000, 6230000, 10, 100, "triangles", 0, 1},
    {"r16", "M6", 3500000, 21000000, 10, 100, "triangles", 0, 1},
    {"r17", "NLR", 4160500, 24979500, 20, 100, "triangles", 0, 1},
    {"r18", "delaunay_n20", 1048600, 6291400, 23, 100, "triangles", 0, 1},
    {"r19", "delaunay_n21", 2097200, 12582800, 23, 100, "triangles", 0, 1},
    {"r20", "delaunay_n22", 4191900, 25168100, 23, 100, "triangles", 0, 1},
    {"r21", "atmosmodl", 1489300, 10320700, 7, 100, "mesh3", 1, 1},
    {"r22", "atmosmodm", 1489300, 10320700, 7, 100, "mesh3", 1, 1},
    {"r23", "atmosmodd", 1269500, 8810300, 7, 100, "mesh3", 1, 1},
    {"r24", "atmosmodj", 1269500, 8810300, 7, 100, "mesh3", 1, 1},
    {"r25", "thermal2", 1228000, 8580300, 11, 100, "triangles", 1, 1},
    {"r26", "CurlCurl_3", 1218800, 13540900, 13, 100, "mesh3", 1, 1},
    {"r27", "CurlCurl_4", 2380500, 26519500, 13, 100, "mesh3", 1, 1},
    {"r28", "StocF-1465", 1465400, 21013800, 189, 100, "mesh3", 1, 1},
    {"r29", "Transport", 1601500, 23478500, 15, 100, "mesh3", 1, 1},
    {"r30", "packing-500x100x100-b050", 2146200, 34983100, 18, 100, "mesh3", 1, 1},
    {"r31", "af_shell10", 1508200, 52259100, 35, 100, "mesh2", 1, 5},
    {"r32", "Hamrle3", 1448100, 5511900, 9, 0, "circuit", 1, 1},
    {"r33", "circuit5M_dc", 3520300, 14869700, 24, 90, "circuit", 1, 1},
    {"r34", "memchip", 2708400, 13341600, 27, 90, "circuit", 1, 1},
    {"r35", "Freescale1", 3430000, 17050000, 25, 90, "circuit", 1, 1},
    {"i1", "com-Youtube", 1134000, 5976200, 28800, 100, "social", 0, 1},
    {"i2", "kkt_power", 2062500, 12767500, 90, 100, "web", 1, 1},
    {"i3", "FullChip", 2989000, 26621000, 2300000, 100, "circuit", 1, 1},
    {"i4", "circuit5M", 5559500, 59520500, 1300000, 100, "circuit", 1, 1},
    {"i5", "as-Skitter", 1696700, 22192800, 35500, 100, "social", 0, 1},
    {"i6", "rgg_n_2_20_s0", 1048800, 13781200, 36, 100, "ball2", 0, 1},
    {"i7", "rgg_n_2_21_s0", 2097200, 28982800, 37, 100, "ball2", 0, 1},
    {"i8", "cage14", 1505800, 27134200, 41, 100, "ball3", 1, 1},
    {"i9", "dgreen", 1200800, 26609700, 97, 100, "ball3", 1, 1},
    {"i10", "nv2", 1453700, 37476400, 84, 100, "ball3", 1, 1},
    {"i11", "nlpkkt80", 1062100, 28188100, 28, 100, "kkt", 1, 1},
    {"i12", "Hook_1498", 1497699, 59368800, 93, 100, "ball3", 1, 3},
    {"i13", "dielFilterV2real", 1157400, 48541400, 110, 100, "ball3", 1, 1},
    {"i14", "wiki-Talk", 2390000, 5020000, 3300, 10, "social", 0, 1},
    {"i15", "wiki-talk-temporal", 1141000, 3309000, 3300, 20, "social", 0, 1},
    {"i16", "webbase-1M", 1000000, 3110000, 28600, 10, "web", 0, 1},
    {"i17", "patents", 3770000, 14970000, 762, 0, "citation", 0, 1},
    {"i18", "cit-Patents", 3770000, 16520000, 779, 0, "citation", 0, 1},
    {"i19", "Freescale2", 3000000, 14310000, 14900, 100, "circuit", 1, 1},
    {"i20", "wikipedia-20051105", 1634600, 19746000, 75500, 10, "social", 0, 1},
    {"i21", "in-2004", 1383200, 16916800, 21900, 40, "web", 0, 1},
    {"i22", "wikipedia-20060925", 2983700, 37266400, 159000, 10, "social", 0, 1},
    {"i23", "wikipedia-20061104", 3148100, 39381900, 168000, 10, "social", 0, 1},
    {"i24", "wikipedia-20070206", 3568300, 45031700, 187000, 10, "social", 0, 1},
    {"i25", "sx-stackoverflow", 2600800, 36229200, 22300, 40, "social", 0, 1},
    {"i26", "wiki-topcats", 1790800, 28509500, 238000, 20, "social", 0, 1},
    {"i27", "soc-Pokec", 1632900, 30617100, 230000, 50, "social", 0, 1},
    {"i28", "ss", 1652300, 34747900, 27, 70, "ball3", 1, 1},
    {"i29", "vas_stokes_1M", 1090600, 34769400, 1000, 40, "ball3", 1, 1},
};

void bench_twin_spec(char *spec, size_t size, const bench_study_matrix *m)
{
    snprintf(spec, size, "gen:twin,rows=%lld,entries=%lld,longest=%lld,kind=%s,symmetry=%d,diagonal=%d,dof=%d",
             (long long)m->rows, (long long)m->entries, (long long)m->longest, m->kind, m->symmetry, m->diagonal,
             m->dof);
}

/* ---- the study's figures ------------------------------------------------------------------------ */

enum { REGULAR_SYMMETRIC, REGULAR_OTHER, IRREGULAR_SYMMETRIC, IRREGULAR_OTHER, CLASSES, MOST_LINES = 128 };

const bench_study_matrix *bench_csrk64_find(const char *name)
{
    for (int m = 0; m < BENCH_CSRK64; m++)
        if (strcmp(bench_csrk64[m].name, name) == 0) return &bench_csrk64[m];
    return NULL;
}

static int class_of(const bench_study_matrix *m)
{
    return (m->id[0] == 'r' ? REGULAR_SYMMETRIC : IRREGULAR_SYMMETRIC) + (m->symmetry < 100);
}

/* With all threads: fewer are for the study of those. */
static int timed(const bench_record *r)
{
    return r->status == BENCH_OK && r->mean_us > 0 && !r->fewer_threads && bench_csrk64_find(r->matrix) != NULL;
}

/* By the study's arithmetic mean of the runs. */
static double gflops_of(const bench_record *r)
{
    return 2e-3 * (double)r->nnz / r->mean_us;
}

/* A kernel under an ordering, or (ordering NULL) under its better one on each matrix. */
typedef struct line {
    const char *kernel, *ordering;
} line;

static int fits(const bench_record *r, const char *type, line l)
{
    return timed(r) && strcmp(r->type, type) == 0 && strcmp(r->kernel, l.kernel) == 0 &&
           (!l.ordering || strcmp(r->ordering, l.ordering) == 0);
}

/* The best GFLOP/s of a line on a matrix, NaN where it did not run. */
static double rate_of(const bench_record *records, int count, const char *type, line l, const char *matrix)
{
    double best = NAN;
    for (int i = 0; i < count; i++)
        if (fits(&records[i], type, l) && strcmp(records[i].matrix, matrix) == 0)
            best = isnan(best) ? gflops_of(&records[i]) : fmax(best, gflops_of(&records[i]));
    return best;
}

static int add_line(line *lines, int count, line l)
{
    for (int i = 0; i < count; i++)
        if (strcmp(lines[i].kernel, l.kernel) == 0 &&
            (l.ordering ? lines[i].ordering && strcmp(lines[i].ordering, l.ordering) == 0 : !lines[i].ordering))
            return count;
    if (count < MOST_LINES) lines[count++] = l;
    return count;
}

/* Every kernel under every ordering that it ran under, and under the better one where there are several. */
static int find_lines(line *lines, const bench_record *records, int count, const char *type)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        if (timed(&records[i]) && strcmp(records[i].type, type) == 0)
            found = add_line(lines, found, (line){records[i].kernel, records[i].ordering});
    for (int a = 0, kinds = found; a < kinds; a++)
        for (int b = 0; b < a; b++)
            if (strcmp(lines[a].kernel, lines[b].kernel) == 0)
                found = add_line(lines, found, (line){lines[a].kernel, NULL});
    return found;
}

static void print_line(FILE *out, const bench_record *records, int count, const char *type, line l)
{
    double sums[CLASSES] = {0};
    int sets[CLASSES] = {0};
    for (int m = 0; m < BENCH_CSRK64; m++) {
        const double rate = rate_of(records, count, type, l, bench_csrk64[m].name);
        if (isnan(rate)) continue;
        sums[class_of(&bench_csrk64[m])] += rate;
        sets[class_of(&bench_csrk64[m])]++;
    }
    fprintf(out, "  %-24s  %-7s", l.kernel, l.ordering ? l.ordering : "better");
    for (int c = 0; c < CLASSES; c += 2)
        for (int part = 0; part < 3; part++) {
            const int first = part == 2 ? c : c + part, last = part == 2 ? c + 1 : first;
            double sum = 0;
            int set = 0;
            for (int k = first; k <= last; k++) sum += sums[k], set += sets[k];
            if (set > 0)
                fprintf(out, "  %2d %7.2f", set, sum / set);
            else
                fprintf(out, "  %10s", "-");
        }
    fputc('\n', out);
}

/* ---- the choice of k ---------------------------------------------------------------------------- */

static double best_of_format(const bench_record *records, int count, const char *type, const char *device,
                             const char *format, const char *matrix)
{
    double best = NAN;
    for (int i = 0; i < count; i++) {
        const bench_record *r = &records[i];
        if (timed(r) && !r->peer && strcmp(r->type, type) == 0 && strncmp(r->device, device, strlen(device)) == 0 &&
            strcmp(r->format, format) == 0 && strcmp(r->matrix, matrix) == 0)
            best = isnan(best) ? gflops_of(r) : fmax(best, gflops_of(r));
    }
    return best;
}

static void print_choice_of_k(FILE *out, const bench_record *records, int count, const char *type, const char *device)
{
    double sums[2] = {0};
    int both = 0, two_wins = 0;
    char names[1024] = "";
    size_t used = 0;
    for (int m = 0; m < BENCH_CSRK64; m++) {
        const char *name = bench_csrk64[m].name;
        const double two = best_of_format(records, count, type, device, "csr2", name);
        const double three = best_of_format(records, count, type, device, "csr3", name);
        if (isnan(two) || isnan(three)) continue;
        both++;
        sums[0] += two;
        sums[1] += three;
        if (two <= 1.05 * three) continue;
        two_wins++;
        if (used < sizeof names) used += (size_t)snprintf(names + used, sizeof names - used, " %s", name);
    }
    if (both == 0) return;
    fprintf(out,
            "k on %s, %s: csr2 %.2f and csr3 %.2f GFLOP/s over %d matrices; csr2 is ahead by over 5 %% on %d of "
            "them%s%s\n",
            device, type, sums[0] / both, sums[1] / both, both, two_wins, two_wins > 0 ? ":" : "", names);
}

/* The first timed record of a matrix, NULL: none. */
static const bench_record *record_of(const bench_record *records, int count, const char *matrix)
{
    for (int i = 0; i < count; i++)
        if (timed(&records[i]) && strcmp(records[i].matrix, matrix) == 0) return &records[i];
    return NULL;
}

/* How many were measured, which are real, and which were not measured. 0: none was. */
static int print_matrices(FILE *out, const bench_record *records, int count)
{
    int twins = 0, real = 0;
    for (int m = 0; m < BENCH_CSRK64; m++) {
        const bench_record *r = record_of(records, count, bench_csrk64[m].name);
        if (r) *(r->twin == 1 ? &twins : &real) += 1;
    }
    if (twins + real == 0) {
        fputs("No tables: nothing was timed.\n", out);
        return 0;
    }
    fprintf(out, "%d matrices, %d of them twins: generated from the study's figures.\n", twins + real, twins);
    if (twins > 0 && real > 0) fputs("No twins:", out);
    for (int m = 0; m < BENCH_CSRK64 && twins > 0 && real > 0; m++) {
        const bench_record *r = record_of(records, count, bench_csrk64[m].name);
        if (r && r->twin != 1) fprintf(out, " %s", bench_csrk64[m].name);
    }
    if (twins > 0 && real > 0) fputs(".\n", out);
    if (twins + real < BENCH_CSRK64) fputs("Left out:", out);
    for (int m = 0; m < BENCH_CSRK64 && twins + real < BENCH_CSRK64; m++)
        if (!record_of(records, count, bench_csrk64[m].name)) fprintf(out, " %s", bench_csrk64[m].name);
    if (twins + real < BENCH_CSRK64) fputs(".\n", out);
    fputs("Rates here are of the arithmetic mean of a case's samples, as in the study; the records have medians "
          "too.\n\n",
          out);
    return 1;
}

void bench_print_csrk64(FILE *out, const bench_record *records, int count)
{
    static const char *const types[] = {"f32", "f64"};
    if (!print_matrices(out, records, count)) return;
    for (int t = 0; t < 2; t++) {
        line lines[MOST_LINES];
        const int found = find_lines(lines, records, count, types[t]);
        if (found == 0) continue;
        fprintf(out,
                "Mean GFLOP/s by class, %s (matrices, then the arithmetic mean; sym.: of symmetric pattern)\n"
                "  %-24s  %-7s  %-10s  %-10s  %-10s  %-10s  %-10s  %-10s\n",
                types[t], "kernel", "order", "reg. sym.", "reg. other", "regular", "irr. sym.", "irr. other",
                "irregular");
        for (int l = 0; l < found; l++) print_line(out, records, count, types[t], lines[l]);
        print_choice_of_k(out, records, count, types[t], "cpu");
        print_choice_of_k(out, records, count, types[t], "cuda");
        fputc('\n', out);
        bench_print_csrk64_ratios(out, records, count, types[t], "cpu");
        bench_print_csrk64_ratios(out, records, count, types[t], "cuda");
        bench_print_csrk64_scaling(out, records, count, types[t]);
    }
}
