/*
 * Tuning tables: text with one fact per line, in any order unless stated.
 *
 *     spry-tuning 3            first: the version
 *     cpu csr2 96              rows per super-row on CPUs
 *     cpu csr3 96 8            the same for csr3, and super-rows per super-super-row
 *     cuda 9                   major compute capability that the other cuda lines are for
 *     cuda ssrs 8.9 1.25       8.9 - 1.25 ln d super-rows per super-super-row, with d entries per row
 *     cuda srs 10.1 1.5        the same for rows per super-row
 *     cuda whole 8 32          both sizes are rounded to multiples of 8, from 8 to 32
 *     cuda case2 1.5 2         factors for both sizes if 8 < d <= 16; case3: 16 < d <= 32, case4: above
 *
 *     class avx512-amd cpu     a class of devices and its kind (choose/rates.h); the next lines are about this class:
 *     title AMD processors     name of the class in messages
 *     fitted to two threads of an AMD EPYC, 2026-11-25     machine and date of the fit
 *     number cache_bytes 1.6e7
 *     rate csr launch 1.65     a rate of a format
 *     rate csr:csr_vector_cuda launch 4     a rate of one kernel of the format
 *
 *     end 13                   last: the number of facts
 *
 * Blank lines and text after # are ignored.
 */
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "choose/state.h"
#include "io/decimal.h"
#include "spry/io.h"
#include "spry/tune.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 3, LINE_BYTES = 256 };
static const char first_line[] = "\"spry-tuning 3\" first";
static const double least_formula = -1e6, most_formula = 1e6;

enum { WORDS = 4 };

typedef struct line {
    const char *words[WORDS + 1];
    char rest[256]; /* text after the first word, unchanged */
    int count, number;
    const char *path;
} line;

/* Classes that were read. The next lines of the table belong to the last class. */
typedef struct classes_read {
    spryi_own_class *list[SPRYI_MOST_OWN_CLASSES];
    int count;
} classes_read;

/* Content of a table. */
typedef struct table {
    spryi_group_table sizes;
    classes_read classes;
    bool headed, ended;
    int facts;
} table;

static void split(line *l, char *text)
{
    text[strcspn(text, "#\r\n")] = '\0';
    const size_t blank = strspn(text, " \t"), word_end = blank + strcspn(text + blank, " \t");
    snprintf(l->rest, sizeof l->rest, "%s", text + word_end + strspn(text + word_end, " \t"));
    l->count = 0;
    for (char *word = strtok_r(text, " \t", &text); word && l->count <= WORDS; word = strtok_r(NULL, " \t", &text))
        l->words[l->count++] = word;
}

/* Returns SPRY_BAD_FILE with the file and the line. */
static spry_status wrong(const line *l, const char *expected, spry_error *err)
{
    return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "%s is not a line of a tuning table: expected %s",
                           l->count > 0 ? l->words[0] : "nothing", expected);
}

/* Parses a decimal number. Returns false if the word is not a number from least to most. */
static bool number_of(const char *word, double least, double most, double *value)
{
    spryi_decimal d = {0};
    const char *end = word + strlen(word);
    if (spryi_decimal_scan(word, end, &d) != end) return false;
    *value = spryi_decimal_f64(&d);
    return *value >= least && *value <= most;
}

static bool is_size(const char *word, int64_t *size)
{
    double value;
    if (!number_of(word, 1, SPRYI_MOST_GROUP, &value) || value != floor(value)) return false;
    *size = (int64_t)value;
    return true;
}

static spry_status parse_cpu(const line *l, spryi_group_table *t, spry_error *err)
{
    static const char expected[] = "\"cpu csr2 SRS\" or \"cpu csr3 SRS SSRS\", sizes from 1 to 32768";
    const bool csr2 = l->count == 3 && strcmp(l->words[1], "csr2") == 0;
    const bool csr3 = l->count == 4 && strcmp(l->words[1], "csr3") == 0;
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

static spry_status parse_cuda(const line *l, spryi_group_table *t, spry_error *err)
{
    static const char expected[] =
        "\"cuda MAJOR\", \"cuda ssrs|srs CONSTANT FALL\", \"cuda whole STEP MOST\" or \"cuda "
        "case2|case3|case4 FACTOR FACTOR\" with numbers";
    double a, b;
    if (l->count == 2 && number_of(l->words[1], 1, 99, &a) && a == floor(a)) {
        t->gpu_major = (int)a;
        return SPRY_OK;
    }
    if (l->count != 4 || !number_of(l->words[2], least_formula, most_formula, &a) ||
        !number_of(l->words[3], least_formula, most_formula, &b))
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

/* ---- rates --------------------------------------------------------------------------------------- */

static const char *const words[] = {"class", "title", "fitted", "number", "rate"};

static bool is_of_class(const line *l)
{
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        if (strcmp(l->words[0], words[n]) == 0) return true;
    return false;
}

/* Checks that the line names a class of the library and the kind of that class. No device has another class. */
static spry_status check_class(const line *l, spry_error *err)
{
    const spryi_device_class *known = spryi_device_class_named(l->words[1]);
    if (known && strcmp(known->driver, l->words[2]) == 0) return SPRY_OK;
    if (known)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "class %s is for %s, not for %s", known->name,
                               known->driver, l->words[2]);
    return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "no device has the class \"%s\", expected one of %s",
                           l->words[1], spryi_list_classes().text);
}

static spry_status begin_class(spry_context *context, classes_read *classes, const line *l, spry_error *err)
{
    spryi_own_class *own = NULL;
    const bool fits = l->count == 3 && strlen(l->words[1]) < sizeof own->name &&
                      strlen(l->words[2]) < sizeof own->driver;
    if (!fits || (strcmp(l->words[2], "cpu") != 0 && strcmp(l->words[2], "cuda") != 0))
        return wrong(l, "\"class NAME cpu\" or \"class NAME cuda\", a name of at most 31 characters", err);
    SPRYI_OK_OR_RETURN(check_class(l, err));
    for (int n = 0; n < classes->count; n++)
        if (strcmp(classes->list[n]->name, l->words[1]) == 0) return wrong(l, "each class once", err);
    if (classes->count == SPRYI_MOST_OWN_CLASSES) return wrong(l, "at most 8 classes", err);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &own, 1, "a table of rates", err));
    memset(own, 0, sizeof *own);
    memcpy(own->name, l->words[1], strlen(l->words[1]));
    memcpy(own->driver, l->words[2], strlen(l->words[2]));
    own->c = (spryi_device_class){.name = own->name,
                                  .title = own->title,
                                  .fitted = own->fitted,
                                  .driver = own->driver,
                                  .rates = own->rates};
    classes->list[classes->count++] = own;
    return SPRY_OK;
}

static spry_status parse_text(char *to, size_t size, const line *l, spry_error *err)
{
    if (strlen(l->rest) >= size) return wrong(l, "a shorter text", err);
    memcpy(to, l->rest, strlen(l->rest) + 1);
    return SPRY_OK;
}

static const spryi_rate_name *name_of(const spryi_rate_name *names, const char *word)
{
    while (names->name && strcmp(names->name, word) != 0) names++;
    return names->name ? names : NULL;
}

static spry_status parse_number(void *to, const spryi_rate_name *name, const char *word, const line *l, spry_error *err)
{
    if (!number_of(word, name->least, SPRYI_MOST_RATE, spryi_rate(to, name)))
        return wrong(l, name->least > 0 ? "a number from 1 to 1e15" : "a number from 0 to 1e15", err);
    return SPRY_OK;
}

/*
 * Returns the rates of a format, word "csr", or of one of its kernels, word "csr:csr_vector_cuda". Adds the rates if
 * they are missing. Returns NULL if there is no such format or kernel, or if the table is full.
 */
static spryi_format_rates *rates_of(spryi_own_class *own, const char *word)
{
    const char *colon = strchr(word, ':');
    const spryi_kernel *kernel = colon ? spryi_find_kernel(colon + 1) : NULL;
    const spryi_format *format = spryi_find_format(kernel ? kernel->format : word);
    const size_t length = colon ? (size_t)(colon - word) : strlen(word);
    if (!format || strlen(format->name) != length || strncmp(format->name, word, length) != 0 || (colon && !kernel) ||
        (kernel && strcmp(kernel->device, own->driver) != 0))
        return NULL;
    for (int r = 0; r < own->c.formats; r++)
        if (own->rates[r].format == format->name && own->rates[r].kernel == (kernel ? kernel->name : NULL))
            return &own->rates[r];
    if (own->c.formats == SPRYI_MOST_RATES) return NULL;
    spryi_format_rates *rates = &own->rates[own->c.formats++];
    rates->format = format->name;
    rates->kernel = kernel ? kernel->name : NULL;
    return rates;
}

static spry_status parse_rate(spryi_own_class *own, const line *l, spry_error *err)
{
    const spryi_rate_name *name = l->count == 4 ? name_of(spryi_rate_names, l->words[2]) : NULL;
    if (!name) return wrong(l, "\"rate FORMAT NAME NUMBER\" with a rate's name", err);
    spryi_format_rates *rates = rates_of(own, l->words[1]);
    if (!rates) return wrong(l, "a format, or a format and its kernel as csr:csr_vector_cuda", err);
    return parse_number(rates, name, l->words[3], l, err);
}

static spry_status parse_class(spry_context *context, classes_read *classes, const line *l, spry_error *err)
{
    if (strcmp(l->words[0], "class") == 0) return begin_class(context, classes, l, err);
    if (classes->count == 0) return wrong(l, "a class before its title, numbers and rates", err);
    spryi_own_class *own = classes->list[classes->count - 1];
    if (strcmp(l->words[0], "title") == 0) return parse_text(own->title, sizeof own->title, l, err);
    if (strcmp(l->words[0], "fitted") == 0) return parse_text(own->fitted, sizeof own->fitted, l, err);
    if (strcmp(l->words[0], "rate") == 0) return parse_rate(own, l, err);
    const spryi_rate_name *name = l->count == 3 ? name_of(spryi_class_names, l->words[1]) : NULL;
    if (!name) return wrong(l, "\"number cache_bytes|most_memory|copy|faster_memory NUMBER\"", err);
    return parse_number(&own->c, name, l->words[2], l, err);
}

/* Checks that each class is complete. l: the table's last line. */
static spry_status check_classes(const classes_read *classes, const line *l, spry_error *err)
{
    for (int n = 0; n < classes->count; n++) {
        const spryi_device_class *c = &classes->list[n]->c;
        bool complete = c->formats > 0 && strcmp(c->rates[0].format, "csr") == 0 && c->cache_bytes > 0 &&
                        c->most_memory > 0;
        for (int r = 0; r < c->formats; r++)
            complete &= c->rates[r].sharp >= 1 && c->rates[r].cached >= 1 && c->rates[r].memory >= 1;
        if (!complete)
            return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number,
                                   "the table ends, and class %s lacks cache_bytes, most_memory, rates of csr first, "
                                   "or sharp, cached or memory of a format",
                                   c->name);
    }
    return SPRY_OK;
}

/* ---- a table --------------------------------------------------------------------------------------- */

static spry_status parse_head(const line *l, table *t, spry_error *err)
{
    double version;
    if (l->count != 2 || strcmp(l->words[0], "spry-tuning") != 0 || !number_of(l->words[1], 1, 1e9, &version))
        return wrong(l, first_line, err);
    if (version != VERSION)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number,
                               "the table is of version %g, this library reads version %d%s", version, VERSION,
                               version < VERSION ? ": create it with 'spry tune'" : "");
    t->headed = true;
    return SPRY_OK;
}

static spry_status parse_end(const line *l, table *t, spry_error *err)
{
    double facts;
    if (l->count != 2 || !number_of(l->words[1], 0, INT32_MAX, &facts) || facts != t->facts)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "lines are missing: expected \"end %d\"",
                               t->facts);
    t->ended = true;
    return SPRY_OK;
}

static spry_status parse_line(spry_context *context, const line *l, table *t, spry_error *err)
{
    if (!t->headed) return parse_head(l, t, err);
    if (t->ended) return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "there is text after the end");
    if (strcmp(l->words[0], "end") == 0) return parse_end(l, t, err);
    t->facts++;
    if (strcmp(l->words[0], "cpu") == 0) return parse_cpu(l, &t->sizes, err);
    if (strcmp(l->words[0], "cuda") == 0) return parse_cuda(l, &t->sizes, err);
    if (is_of_class(l)) return parse_class(context, &t->classes, l, err);
    return wrong(l, "cpu, cuda, class, title, fitted, number or rate with values, or end", err);
}

/* Checks that a table is complete. A table for a GPU needs the formulas of ssrs and srs. Sets missing factors to 1. */
static spry_status complete(const line *l, table *all, spry_error *err)
{
    spryi_group_table *t = &all->sizes;
    if (!all->headed) return wrong(l, first_line, err);
    if (!all->ended)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number,
                               "the table is cut: expected \"end %d\" after this line", all->facts);
    SPRYI_OK_OR_RETURN(check_classes(&all->classes, l, err));
    const bool formulas = t->ssrs.constant != 0 && t->srs.constant != 0;
    if ((t->gpu_major > 0) != formulas)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number,
                               "the table ends without %s, which its lines about a GPU need",
                               formulas ? "\"cuda MAJOR\"" : "\"cuda ssrs\" and \"cuda srs\"");
    for (int part = 0; part < 3; part++) {
        if (t->ssrs.factor[part] == 0) t->ssrs.factor[part] = 1;
        if (t->srs.factor[part] == 0) t->srs.factor[part] = 1;
    }
    return SPRY_OK;
}

/* Reads the next line, without its newline. *more becomes false if there is none. */
static spry_status next_line(line *l, char text[LINE_BYTES], FILE *file, bool *more, spry_error *err)
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
                               "the table is cut in this line: expected the rest of the line, then \"end N\"");
    text[length] = '\0';
    return SPRY_OK;
}

static spry_status read_table(spry_context *context, FILE *file, const char *path, table *t, spry_error *err)
{
    char text[LINE_BYTES];
    line l = {.path = path};
    bool more;
    for (;;) {
        SPRYI_OK_OR_RETURN(next_line(&l, text, file, &more, err));
        if (!more) return complete(&l, t, err);
        split(&l, text);
        if (l.count > 0) SPRYI_OK_OR_RETURN(parse_line(context, &l, t, err));
    }
}

spry_status spry_context_load_tuning(spry_context *context, const char *path, spry_error *err)
{
    if (!context || !path) return spryi_fail_missing(err, !context ? "context" : "path");
    SPRYI_DEFAULT_FLOATS;
    table t = {0};
    struct stat kind;
    if (stat(path, &kind) == 0 && !S_ISREG(kind.st_mode))
        return spryi_fail_file(err, SPRY_FILE_ERROR, path, 0, "not a regular file");
    FILE *file = fopen(path, "r");
    if (!file) return spryi_fail_file(err, SPRY_FILE_ERROR, path, 0, "cannot be read: %s", strerror(errno));
    spry_status status = read_table(context, file, path, &t, err);
    fclose(file);
    if (status == SPRY_OK) status = spryi_context_adopt_classes(context, t.classes.list, t.classes.count, err);
    if (status == SPRY_OK) spryi_choose_state_of(context)->groups = t.sizes;
    for (int n = 0; status != SPRY_OK && n < t.classes.count; n++) spryi_release(context, t.classes.list[n]);
    return status;
}

/* ---- writing -------------------------------------------------------------------------------------------- */

typedef struct printed {
    char *text;
    int64_t size, length;
} printed;

static void print(printed *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print(printed *p, const char *format, ...)
{
    char line[320];
    va_list list;
    va_start(list, format);
    const int length = spryi_write_list(line, sizeof line, format, list);
    va_end(list);
    if (p->length + length < p->size) memcpy(p->text + p->length, line, (size_t)length + 1);
    p->length += length;
}

static void print_class(printed *p, const spryi_device_class *c)
{
    print(p, "class %s %s\ntitle %s\nfitted %s\n", c->name, c->driver, c->title, c->fitted);
    for (const spryi_rate_name *n = spryi_class_names; n->name; n++)
        print(p, "number %s %.4g\n", n->name, *spryi_rate((void *)(uintptr_t)c, n));
    for (int r = 0; r < c->formats; r++)
        for (const spryi_rate_name *n = spryi_rate_names; n->name; n++) {
            const spryi_format_rates *rates = &c->rates[r];
            const double value = *spryi_rate((void *)(uintptr_t)rates, n);
            if (value == 0) continue;
            print(p, "rate %s%s%s %s %.4g\n", rates->format, rates->kernel ? ":" : "",
                  rates->kernel ? rates->kernel : "", n->name, value);
        }
}

spry_status spry_rates_print(const spry_context *context, char *text, int64_t size, int64_t *length,
                             const char *device_class, spry_error *err)
{
    const char *missing = !context ? "context" : !device_class ? "device_class" : !length ? "length" : NULL;
    if (missing || (!text && size > 0)) return spryi_fail_missing(err, missing ? missing : "text");
    const spryi_device_class *c = NULL;
    printed p = {.text = text, .size = size};
    SPRYI_OK_OR_RETURN(spryi_find_class(context, &c, device_class, err));
    print_class(&p, c);
    *length = p.length;
    if (p.length < size) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "size", size, p.length + 1,
                            "the table needs %lld bytes, but size is %lld", (long long)p.length + 1, (long long)size);
}
