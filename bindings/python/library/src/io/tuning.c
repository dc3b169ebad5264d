/*
 * Tuning tables: text, a fact a line, in any order.
 *
 *     spry-tuning 3            first: the version
 *     cpu csr2 96              rows a super-row on CPUs
 *     cpu csr3 96 8            the same of csr3, super-rows a super-super-row
 *     cuda 9                   the compute capability, major number, that the rest is for
 *     cuda ssrs 8.9 1.25       8.9 - 1.25 ln d super-rows a super-super-row, d entries a row
 *     cuda srs 10.1 1.5        the same of rows a super-row
 *     cuda whole 8 32          both sizes are rounded to whole eights, from 8 up to 32
 *     cuda case2 1.5 2         what both are multiplied by where 8 < d <= 16; case3: 16 < d <= 32, case4: above
 *
 *     class avx512-amd cpu     rates of a class of devices and its kind (core/rates.h); what follows is of it:
 *     title AMD processors     what it is, and to what it was fitted, for people
 *     fitted to two threads of an AMD EPYC, 2026-11-25
 *     number cache_bytes 1.6e7
 *     rate csr launch 1.65     a rate of a format; of one of its kernels: rate csr:csr_vector_cuda launch 4
 *
 *     end 13                   last: how many facts there are
 *
 * Blank lines, and what follows a #, mean nothing.
 */
#include "io/tuning.h"
#include "core/context.h"
#include "core/error.h"
#include "core/float_env.h"
#include "core/memory.h"
#include "io/decimal.h"
#include "spry/io.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 3, LINE_BYTES = 256 };
static const char first_line[] = "\"spry-tuning 3\" first";
static const double least_formula = -1e6, most_formula = 1e6;

typedef spryi_tuning_line line;

/* All of a table. */
typedef struct table {
    spryi_tuning sizes;
    spryi_tuning_classes classes;
    int headed, ended, facts;
} table;

static void split(line *l, char *text)
{
    text[strcspn(text, "#\r\n")] = '\0';
    const size_t blank = strspn(text, " \t"), word_end = blank + strcspn(text + blank, " \t");
    snprintf(l->rest, sizeof l->rest, "%s", text + word_end + strspn(text + word_end, " \t"));
    l->count = 0;
    for (char *word = strtok_r(text, " \t", &text); word && l->count <= SPRYI_TUNING_WORDS;
         word = strtok_r(NULL, " \t", &text))
        l->words[l->count++] = word;
}

static spry_status wrong(const line *l, const char *expected, spry_error *err)
{
    return spryi_tuning_wrong(l, expected, err);
}

spry_status spryi_tuning_wrong(const line *l, const char *expected, spry_error *err)
{
    return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "%s is no line of a tuning table: expected %s",
                           l->count > 0 ? l->words[0] : "nothing", expected);
}

int spryi_tuning_number(const char *word, double least, double most, double *value)
{
    spryi_decimal d = {0};
    const char *end = word + strlen(word);
    if (spryi_decimal_scan(word, end, &d) != end) return 0;
    *value = spryi_decimal_f64(&d);
    return *value >= least && *value <= most;
}

static int is_size(const char *word, int64_t *size)
{
    double value;
    if (!spryi_tuning_number(word, 1, SPRYI_MOST_GROUP, &value) || value != floor(value)) return 0;
    *size = (int64_t)value;
    return 1;
}

static spry_status take_cpu(const line *l, spryi_tuning *t, spry_error *err)
{
    static const char expected[] = "\"cpu csr2 SRS\" or \"cpu csr3 SRS SSRS\", sizes from 1 to 32768";
    const int csr2 = l->count == 3 && strcmp(l->words[1], "csr2") == 0;
    const int csr3 = l->count == 4 && strcmp(l->words[1], "csr3") == 0;
    int64_t srs = 0, ssrs = 0;
    if (!(csr2 || csr3) || !is_size(l->words[2], &srs) || (csr3 && !is_size(l->words[3], &ssrs)))
        return wrong(l, expected, err);
    if (csr2) {
        t->csr2_srs = srs;
    } else {
        t->csr3_srs = srs;
        t->csr3_ssrs = ssrs;
    }
    return SPRY_OK;
}

static spry_status take_cuda(const line *l, spryi_tuning *t, spry_error *err)
{
    static const char expected[] =
        "\"cuda MAJOR\", \"cuda ssrs|srs CONSTANT FALL\", \"cuda whole STEP MOST\" or \"cuda "
        "case2|case3|case4 FACTOR FACTOR\" with numbers";
    double a, b;
    if (l->count == 2 && spryi_tuning_number(l->words[1], 1, 99, &a) && a == floor(a)) {
        t->gpu_major = (int)a;
        return SPRY_OK;
    }
    if (l->count != 4 || !spryi_tuning_number(l->words[2], least_formula, most_formula, &a) ||
        !spryi_tuning_number(l->words[3], least_formula, most_formula, &b))
        return wrong(l, expected, err);
    spryi_size_formula *formula = strcmp(l->words[1], "ssrs") == 0  ? &t->ssrs
                                  : strcmp(l->words[1], "srs") == 0 ? &t->srs
                                                                    : NULL;
    const int part = l->words[1][0] == 'c' && strncmp(l->words[1], "case", 4) == 0 && strlen(l->words[1]) == 5
                         ? l->words[1][4] - '2'
                         : -1;
    if (formula) {
        formula->constant = a;
        formula->fall = b;
    } else if (strcmp(l->words[1], "whole") == 0 && is_size(l->words[2], &t->step) && is_size(l->words[3], &t->most) &&
               t->most >= t->step) {
        return SPRY_OK;
    } else if (part >= 0 && part < 3 && a > 0 && b > 0) {
        t->ssrs.factor[part] = a;
        t->srs.factor[part] = b;
    } else {
        return wrong(l, expected, err);
    }
    return SPRY_OK;
}

static spry_status take_head(const line *l, table *t, spry_error *err)
{
    double version;
    if (l->count != 2 || strcmp(l->words[0], "spry-tuning") != 0 || !spryi_tuning_number(l->words[1], 1, 1e9, &version))
        return wrong(l, first_line, err);
    if (version != VERSION)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number,
                               "the table is of version %g, this library reads version %d%s", version, VERSION,
                               version < VERSION ? ": make it anew with 'spry tune'" : "");
    t->headed = 1;
    return SPRY_OK;
}

static spry_status take_end(const line *l, table *t, spry_error *err)
{
    double facts;
    if (l->count != 2 || !spryi_tuning_number(l->words[1], 0, INT32_MAX, &facts) || facts != t->facts)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "lines are missing: expected \"end %d\"",
                               t->facts);
    t->ended = 1;
    return SPRY_OK;
}

static spry_status take_line(spry_context *context, const line *l, table *t, spry_error *err)
{
    if (!t->headed) return take_head(l, t, err);
    if (t->ended) return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "there is text behind the end");
    if (strcmp(l->words[0], "end") == 0) return take_end(l, t, err);
    t->facts++;
    if (strcmp(l->words[0], "cpu") == 0) return take_cpu(l, &t->sizes, err);
    if (strcmp(l->words[0], "cuda") == 0) return take_cuda(l, &t->sizes, err);
    if (spryi_tuning_is_of_class(l)) return spryi_tuning_take_class(context, &t->classes, l, err);
    return wrong(l, "cpu, cuda, class, title, fitted, number or rate and what they say, or end", err);
}

/* A table that tells of a GPU has both formulas; factors that it leaves out are 1. */
static spry_status complete(const line *l, table *all, spry_error *err)
{
    spryi_tuning *t = &all->sizes;
    if (!all->headed) return wrong(l, first_line, err);
    if (!all->ended)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number,
                               "the table is cut: expected \"end %d\" behind this line", all->facts);
    SPRYI_OK_OR_RETURN(spryi_tuning_check_classes(&all->classes, l, err));
    const int formulas = t->ssrs.constant != 0 && t->srs.constant != 0;
    if ((t->gpu_major > 0) != formulas)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number,
                               "the table ends without %s, which goes with what it says of a GPU",
                               formulas ? "\"cuda MAJOR\"" : "\"cuda ssrs\" and \"cuda srs\"");
    for (int part = 0; part < 3; part++) {
        if (t->ssrs.factor[part] == 0) t->ssrs.factor[part] = 1;
        if (t->srs.factor[part] == 0) t->srs.factor[part] = 1;
    }
    return SPRY_OK;
}

/* The next line, without its newline; *more 0: there is none. */
static spry_status next_line(line *l, char text[LINE_BYTES], FILE *file, int *more, spry_error *err)
{
    int length = 0, c;
    while ((c = getc(file)) != EOF && c != '\n') {
        if (length == 0) l->number++;
        if (c == '\0')
            return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "the line has a NUL byte, expected text");
        if (length == LINE_BYTES - 2)
            return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "the line is longer than %d characters",
                                   LINE_BYTES - 2);
        text[length++] = (char)c;
    }
    if (ferror(file)) return spryi_fail_errno(err, l->path, "cannot be read", errno);
    *more = c != EOF;
    if (*more && length == 0) l->number++;
    if (!*more && length > 0)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number,
                               "the table is cut in this line: expected the rest of it, and \"end N\" behind it");
    text[length] = '\0';
    return SPRY_OK;
}

static spry_status read_table(spry_context *context, FILE *file, const char *path, table *t, spry_error *err)
{
    char text[LINE_BYTES];
    line l = {.path = path};
    int more;
    for (;;) {
        SPRYI_OK_OR_RETURN(next_line(&l, text, file, &more, err));
        if (!more) return complete(&l, t, err);
        split(&l, text);
        if (l.count > 0) SPRYI_OK_OR_RETURN(take_line(context, &l, t, err));
    }
}

spry_status spry_context_load_tuning(spry_context *context, const char *path, spry_error *err)
{
    if (!context || !path) return spryi_fail_missing(err, !context ? "context" : "path");
    SPRYI_DEFAULT_FLOATS;
    table t = {0};
    struct stat kind;
    if (stat(path, &kind) == 0 && !S_ISREG(kind.st_mode))
        return spryi_fail_file(err, SPRY_FILE_ERROR, path, 0, "cannot be read: it is no regular file");
    FILE *file = fopen(path, "r");
    if (!file) return spryi_fail_file(err, SPRY_FILE_ERROR, path, 0, "cannot be read: %s", strerror(errno));
    spry_status status = read_table(context, file, path, &t, err);
    fclose(file);
    if (status == SPRY_OK) status = spryi_context_adopt_classes(context, t.classes.list, t.classes.count, err);
    if (status == SPRY_OK) context->tuning = t.sizes;
    for (int n = 0; status != SPRY_OK && n < t.classes.count; n++) spryi_release(context, t.classes.list[n]);
    return status;
}
