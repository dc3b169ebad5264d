/* Numbers, pictures and bars for people. */
#include "cli/cli.h"
#include "cli/table.h"
#include "common/density.h"
#include "spry/matrix.h"

#include "common/disturbance.h"

#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

cli_text cli_bytes(int64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    cli_text t;
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 999.5 && unit < 5; unit++) value /= 1000;
    snprintf(t.s, sizeof t.s, unit == 0 || value >= 99.95 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return t;
}

cli_text cli_count(int64_t count)
{
    cli_text t;
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)count), used = 0;
    for (int d = 0; d < length; d++) {
        if (d > 0 && (length - d) % 3 == 0 && digits[d - 1] != '-') t.s[used++] = ' ';
        t.s[used++] = digits[d];
    }
    t.s[used] = '\0';
    return t;
}

cli_text cli_decimal(double value)
{
    cli_text t = {"-"};
    if (!(value < 1e15)) return t;
    t = cli_count((int64_t)floor(value + 0.05));
    const size_t used = strlen(t.s);
    snprintf(t.s + used, sizeof t.s - used, ".%d", (int)(10 * (value + 0.05 - floor(value + 0.05))));
    return t;
}

cli_text cli_time(double us)
{
    cli_text t;
    if (us < 1000)
        snprintf(t.s, sizeof t.s, "%.3g us", us);
    else if (us < 1e6)
        snprintf(t.s, sizeof t.s, "%.3g ms", us * 1e-3);
    else
        snprintf(t.s, sizeof t.s, "%.3g s", us * 1e-6);
    return t;
}

const char *cli_known(spry_known k)
{
    return k == SPRY_KNOWN_YES ? "yes" : k == SPRY_KNOWN_NO ? "no" : "not known";
}

void cli_print_disturbed(double share)
{
    if (share >= DISTURBED_SHARE)
        cli_print_line(stdout, "disturbed", "other programs used %.0f %% of the processors: the time is not reliable",
                       100 * share);
}

bool cli_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* ---- pictures ----------------------------------------------------------------------------------- */

static const char *const unicode_shades[] = {" ", "░", "▒", "▓", "█"};
static const char *const ascii_shades[] = {" ", ".", ":", "+", "#"};

/* Returns the shade of a cell, 0 to 4, relative to the mean. Evenly spread entries are light, a band is dark. */
static int shade_of(int64_t count, int64_t most, double mean)
{
    if (count == 0) return 0;
    if (most <= 1) return 4;
    return (double)count <= mean / 2 ? 1 : (double)count <= 2 * mean ? 2 : (double)count <= 8 * mean ? 3 : 4;
}

static void print_edge(FILE *out, int width, int indent, bool top)
{
    const char *const left = top ? "┌" : "└", *const right = top ? "┐" : "┘";
    fprintf(out, "%*s%s", indent, "", cli_utf8() ? left : "+");
    for (int c = 0; c < width; c++) fputs(cli_utf8() ? "─" : "-", out);
    fprintf(out, "%s\n", cli_utf8() ? right : "+");
}

bool cli_print_spy(FILE *out, const spry_matrix *A, int height, int width, int indent)
{
    spry_error err = {0};
    int64_t *counts = calloc((size_t)height * (size_t)width, sizeof *counts), most = 0;
    if (!counts) {
        cli_message("out of memory for the picture");
        return false;
    }
    if (count_density(A, counts, height, width, &err) != SPRY_OK) {
        free(counts);
        cli_fail(&err);
        return false;
    }
    double mean = 0;
    for (int c = 0; c < height * width; c++) {
        if (counts[c] > most) most = counts[c];
        mean += (double)counts[c] / (height * width);
    }
    const char *const *shades = cli_utf8() ? unicode_shades : ascii_shades;
    const char *side = cli_utf8() ? "│" : "|";
    print_edge(out, width, indent, true);
    for (int r = 0; r < height; r++) {
        fprintf(out, "%*s%s", indent, "", side);
        for (int c = 0; c < width; c++) fputs(shades[shade_of(counts[r * width + c], most, mean)], out);
        fprintf(out, "%s\n", side);
    }
    print_edge(out, width, indent, false);
    if (most <= 1)
        fprintf(out, "%*sblank: no entries; %s: one entry\n", indent, "", shades[4]);
    else
        fprintf(out, "%*sblank: no entries; %s %s %s %s: up to 1/2, 2 and 8 times the mean, and more\n", indent, "",
                shades[1], shades[2], shades[3], shades[4]);
    free(counts);
    return true;
}

void cli_print_bar(FILE *out, double share, int width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (!cli_utf8()) {
        int cells = (int)ceil(share * width);
        for (int c = 0; c < cells; c++) fputc('#', out);
        return;
    }
    int parts = (int)ceil(share * width * 8);
    for (int c = 0; c < parts / 8; c++) fputs("█", out);
    fputs(eighths[parts % 8], out);
}
