/*
 * Files of choices that plans with the policy "measure" made. A file is text with one choice per line.
 *
 *     spry-choices 0.3.0       first: the library's version
 *     4f0c... 15 words ...     fingerprint, rows, columns, entries, operation, device, types, calls, format, kernel,
 *                              times in us (measured, measured of csr, predicted, predicted of csr), date
 *     end 19b3...              last: the checksum of all lines before
 *
 * Blanks inside a word are written as "_". A file that does not have this form is reported as damaged. To change a
 * file, the library locks its folder, reads the file again and replaces the whole file. A lock of the file itself would
 * be lost in the replacement.
 */
#include "choose/choices.h"

#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "choose/state.h"
#include "io/decimal.h"
#include "io/output.h"
#include "spry/tune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL /* header-only, as in io/container.c */
#include <xxhash.h>

/* ---- lists of choices ----------------------------------------------------------------------------------- */

static int place_of(const spryi_choice_list *list, const char *fingerprint)
{
    for (int c = list->count - 1; c >= 0; c--)
        if (strcmp(list->list[c].fingerprint, fingerprint) == 0) return c;
    return -1;
}

/* Makes room for one more choice. */
static spry_status make_room(spry_context *context, spryi_choice_list *list, spry_error *err)
{
    spry_choice_info *larger = NULL;
    const int room = list->room > 0 ? 2 * list->room : 8;
    if (list->count < list->room) return SPRY_OK;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &larger, room, "choices that were measured", err));
    if (list->count > 0) memcpy(larger, list->list, (size_t)list->count * sizeof *larger);
    spryi_release(context, list->list);
    list->list = larger;
    list->room = room;
    return SPRY_OK;
}

static void remove_choice(spryi_choice_list *list, int place)
{
    list->count--;
    memmove(list->list + place, list->list + place + 1, (size_t)(list->count - place) * sizeof *list->list);
}

spry_status spryi_choice_put(spry_context *context, spryi_choice_list *to, const spry_choice_info *choice,
                             spry_error *err)
{
    const int matching = place_of(to, choice->fingerprint);
    if (matching >= 0) remove_choice(to, matching);
    if (to->count == SPRYI_MOST_CHOICES) remove_choice(to, 0);
    SPRYI_OK_OR_RETURN(make_room(context, to, err));
    to->list[to->count++] = *choice;
    return SPRY_OK;
}

static void clear_list(spry_context *context, spryi_choice_list *list)
{
    spryi_release(context, list->list);
    *list = (spryi_choice_list){0};
}

enum { WORDS = 15, LINE_BYTES = 1024 };
static const char magic[] = "spry-choices ";

/* Returns the checksum of all lines up to this line. sum: the checksum of the lines before. */
static unsigned long long add_line(unsigned long long sum, const char *line, size_t length)
{
    return XXH3_64bits_withSeed(line, length, sum);
}

/* ---- a line ---------------------------------------------------------------------------------------------- */

/* Copies a word and changes each "_" to a blank. Returns false if the word is empty or too long. */
static bool parse_text(char *to, size_t size, const char *word)
{
    const size_t length = strlen(word);
    if (length == 0 || length >= size) return false;
    for (size_t c = 0; c <= length; c++) to[c] = word[c] == '_' ? ' ' : word[c];
    return true;
}

/*
 * Copies a word in which "_" does not stand for a blank, such as the name of a format. Returns false if the word is
 * empty or too long.
 */
static bool parse_name(char *to, size_t size, const char *word)
{
    const size_t length = strlen(word);
    if (length == 0 || length >= size) return false;
    memcpy(to, word, length + 1);
    return true;
}

static bool parse_count(int64_t *to, const char *word)
{
    spryi_decimal d = {0};
    const char *end = word + strlen(word);
    if (spryi_decimal_scan(word, end, &d) != end || !d.integer || d.negative || d.cut || d.exponent != 0) return false;
    *to = (int64_t)d.digits;
    return d.digits <= (uint64_t)INT64_MAX;
}

static bool parse_time(double *to, const char *word)
{
    spryi_decimal d = {0};
    const char *end = word + strlen(word);
    if (spryi_decimal_scan(word, end, &d) != end) return false;
    *to = spryi_decimal_f64(&d);
    return *to >= 0 && *to < 1e15;
}

/* Parses a line without its newline. Returns false if the line is not a choice. */
static bool parse_choice(spry_choice_info *to, char *line)
{
    char *words[WORDS] = {NULL}, *rest = line;
    int count = 0;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (count == WORDS) return false;
        words[count++] = word;
    }
    if (count != WORDS) return false;
    *to = (spry_choice_info){.struct_size = sizeof *to};
    const bool transposed = strcmp(words[4], "spmv_t") == 0;
    to->op = transposed ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    return parse_name(to->fingerprint, sizeof to->fingerprint, words[0]) && parse_count(&to->rows, words[1]) &&
           parse_count(&to->columns, words[2]) && parse_count(&to->nnz, words[3]) &&
           (transposed || strcmp(words[4], "spmv") == 0) && parse_text(to->device, sizeof to->device, words[5]) &&
           parse_text(to->types, sizeof to->types, words[6]) && parse_count(&to->calls, words[7]) &&
           parse_name(to->format, sizeof to->format, words[8]) && parse_name(to->kernel, sizeof to->kernel, words[9]) &&
           parse_time(&to->measured_us, words[10]) && parse_time(&to->csr_us, words[11]) &&
           parse_time(&to->predicted_us, words[12]) && parse_time(&to->predicted_csr_us, words[13]) &&
           parse_name(to->date, sizeof to->date, words[14]);
}

typedef struct word_text {
    char s[96];
} word_text;

static word_text as_word(const char *text)
{
    word_text word;
    snprintf(word.s, sizeof word.s, "%s", text[0] ? text : "_");
    for (char *c = word.s; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f) *c = '_';
    return word;
}

/* Returns the length of the line, newline included. */
static size_t write_choice(char line[LINE_BYTES], const spry_choice_info *c)
{
    return (size_t)spryi_write(line, LINE_BYTES, "%s %lld %lld %lld %s %s %s %lld %s %s %.6g %.6g %.6g %.6g %s\n",
                               c->fingerprint, (long long)c->rows, (long long)c->columns, (long long)c->nnz,
                               c->op == SPRY_TRANSPOSE ? "spmv_t" : "spmv", as_word(c->device).s, as_word(c->types).s,
                               (long long)c->calls, as_word(c->format).s, as_word(c->kernel).s, c->measured_us,
                               c->csr_us, c->predicted_us, c->predicted_csr_us, as_word(c->date).s);
}

/* ---- reading --------------------------------------------------------------------------------------------- */

typedef struct reader {
    spry_context *context;
    const char *path;
    spryi_choice_list *list;
    int64_t number;         /* number of the current line */
    unsigned long long sum; /* checksum of the lines before the current line */
    bool ended;
} reader;

static spry_status parse_head(const reader *r, const char *line, spry_error *err)
{
    if (strncmp(line, magic, sizeof magic - 1) != 0)
        return spryi_fail_file(err, SPRY_BAD_FILE, r->path, r->number,
                               "not a file of choices: expected a first line \"%s%s\"", magic, spry_version());
    const char *version = line + sizeof magic - 1;
    if (strcmp(version, spry_version()) != 0)
        return spryi_fail_file(err, SPRY_BAD_FILE, r->path, r->number,
                               "the choices are of version %.40s, but this library is version %s: clear them "
                               "('spry tune --clear')",
                               version, spry_version());
    return SPRY_OK;
}

static spry_status parse_line(reader *r, char *line, spry_error *err)
{
    spry_choice_info choice;
    char end[32];
    if (r->number == 1) return parse_head(r, line, err);
    if (r->ended) return spryi_fail_file(err, SPRY_BAD_FILE, r->path, r->number, "there is text after the end");
    snprintf(end, sizeof end, "end %016llx", r->sum);
    r->ended = strcmp(line, end) == 0;
    if (r->ended) return SPRY_OK;
    if (strncmp(line, "end ", 4) == 0)
        return spryi_fail_file(err, SPRY_BAD_FILE, r->path, r->number,
                               "lines are missing or damaged: expected the checksum of the lines before, \"%s\"", end);
    if (!parse_choice(&choice, line))
        return spryi_fail_file(err, SPRY_BAD_FILE, r->path, r->number,
                               "the line is damaged: expected a choice of %d words", WORDS);
    return spryi_choice_put(r->context, r->list, &choice, err);
}

static spry_status read_lines(reader *r, FILE *file, spry_error *err)
{
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file)) {
        const size_t length = strcspn(line, "\n");
        const unsigned long long sum = add_line(r->sum, line, length);
        r->number++;
        if (line[length] != '\n')
            return spryi_fail_file(err, SPRY_BAD_FILE, r->path, r->number,
                                   "the line is cut, or longer than %d characters", LINE_BYTES - 2);
        line[length] = '\0';
        SPRYI_OK_OR_RETURN(parse_line(r, line, err));
        r->sum = sum;
    }
    if (ferror(file)) return spryi_fail_errno(err, r->path, "cannot be read", errno);
    if (r->number > 0 && !r->ended)
        return spryi_fail_file(err, SPRY_BAD_FILE, r->path, r->number,
                               "the file is cut: expected a last line \"end CHECKSUM\"");
    return SPRY_OK;
}

/* Reads the choices of a file. A missing or empty file has none. */
static spry_status read_file(spry_context *context, const char *path, spryi_choice_list *list, spry_error *err)
{
    SPRYI_DEFAULT_FLOATS;
    reader r = {.context = context, .path = path, .list = list};
    struct stat facts;
    if (stat(path, &facts) != 0)
        return errno == ENOENT ? SPRY_OK : spryi_fail_errno(err, path, "cannot be read", errno);
    if (!S_ISREG(facts.st_mode))
        return spryi_fail_file(err, SPRY_FILE_ERROR, path, 0, "not a regular file, expected a file of choices");
    FILE *file = fopen(path, "re");
    if (!file) return errno == ENOENT ? SPRY_OK : spryi_fail_errno(err, path, "cannot be read", errno);
    const spry_status status = read_lines(&r, file, err);
    fclose(file);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------------------- */

/* Writes a line with its newline. sum: checksum of all lines so far. */
static spry_status put(const spryi_output *output, const char *line, size_t length, unsigned long long *sum,
                       spry_error *err)
{
    *sum = add_line(*sum, line, length - 1);
    return spryi_output_write(output, line, length, err);
}

static spry_status write_lines(const spryi_output *output, const spryi_choice_list *list, spry_error *err)
{
    char line[LINE_BYTES];
    unsigned long long sum = 0;
    SPRYI_OK_OR_RETURN(
        put(output, line, (size_t)snprintf(line, sizeof line, "%s%s\n", magic, spry_version()), &sum, err));
    for (int c = 0; c < list->count; c++)
        SPRYI_OK_OR_RETURN(put(output, line, write_choice(line, &list->list[c]), &sum, err));
    return put(output, line, (size_t)snprintf(line, sizeof line, "end %016llx\n", sum), &sum, err);
}

/* Writes the file. If list is NULL, only checks that the file can be created, and writes nothing. */
static spry_status write_file(spry_context *context, const char *path, const spryi_choice_list *list, spry_error *err)
{
    spryi_output *output = NULL; /* on the heap, since its two paths are too large for small stacks */
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &output, 1, "paths of choices", err));
    output->fd = -1;
    spry_status status = spryi_output_open(output, path, err);
    if (status == SPRY_OK && list) status = write_lines(output, list, err);
    const spry_status closed = spryi_output_close(output, list ? status : SPRY_FILE_ERROR, list ? err : NULL);
    spryi_release(context, output);
    return list ? closed : status;
}

/* ---- the lock -------------------------------------------------------------------------------------------- */

/*
 * Locks the folder of the file. The caller closes *lock unless it is -1. If the folder cannot be locked, for example
 * because the file system has no locks, returns SPRY_OK: of two writers, the last one then wins. Fails if another
 * process holds the lock for a second.
 */
static spry_status take_lock(int *lock, const char *path, spry_error *err)
{
    enum { TRIES = 200 };
    const struct timespec pause = {0, 5000000};
    char folder[PATH_MAX];
    *lock = -1;
    if (!spryi_output_target(folder, path)) return spryi_fail_errno(err, path, "cannot be locked", errno);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    *lock = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int n = 0; *lock >= 0 && n < TRIES; n++) {
        if (flock(*lock, LOCK_EX | LOCK_NB) == 0) return SPRY_OK;
        if (errno != EWOULDBLOCK && errno != EINTR) break;
        if (n == TRIES - 1) {
            (void)close(*lock);
            *lock = -1;
            return spryi_fail_file(err, SPRY_FILE_ERROR, path, 0, "another process has held the lock for a second");
        }
        (void)nanosleep(&pause, NULL);
    }
    return SPRY_OK;
}

static void give_lock(int lock)
{
    if (lock >= 0) (void)close(lock);
}

/* ---- choices of a context -------------------------------------------------------------------------------- */

void spryi_choices_open(spryi_choices *choices)
{
    pthread_mutex_init(&choices->lock, NULL); /* default attributes cannot fail on the systems Spry supports */
    pthread_mutex_init(&choices->measuring, NULL);
}

void spryi_choices_close(spry_context *context, spryi_choices *choices)
{
    clear_list(context, &choices->known);
    spryi_release(context, choices->path);
    pthread_mutex_destroy(&choices->lock);
    pthread_mutex_destroy(&choices->measuring);
}

bool spryi_choice_find(spryi_choices *choices, spry_choice_info *asked)
{
    pthread_mutex_lock(&choices->lock);
    const int place = place_of(&choices->known, asked->fingerprint);
    const spry_choice_info *found = place >= 0 ? &choices->known.list[place] : NULL;
    const bool matching = found && found->rows == asked->rows && found->columns == asked->columns &&
                          found->nnz == asked->nnz;
    if (matching) *asked = *found;
    pthread_mutex_unlock(&choices->lock);
    return matching;
}

/* Adds a choice to the file. Reads the file again first, since other processes may have changed it. */
static spry_status add_to_file(spry_context *context, const char *path, const spry_choice_info *choice, spry_error *err)
{
    spryi_choice_list list = {0};
    spry_status status = SPRY_OK;
    int lock = -1;
    SPRYI_TRY(take_lock(&lock, path, err));
    SPRYI_TRY(read_file(context, path, &list, err));
    SPRYI_TRY(spryi_choice_put(context, &list, choice, err));
    SPRYI_TRY(write_file(context, path, &list, err));
done:
    give_lock(lock);
    clear_list(context, &list);
    return status;
}

spry_status spryi_choice_keep(spry_context *context, const spry_choice_info *choice, spry_error *err)
{
    spryi_choose_state *state = NULL;
    SPRYI_OK_OR_RETURN(spryi_choose_state_get(context, &state, err));
    spryi_choices *choices = &state->choices;
    pthread_mutex_lock(&choices->lock);
    const spry_status status = spryi_choice_put(context, &choices->known, choice, err);
    pthread_mutex_unlock(&choices->lock);
    return status == SPRY_OK && choices->path ? add_to_file(context, choices->path, choice, err) : status;
}

/* Makes a path absolute, since the program may change its working folder. */
static spry_status make_absolute(spry_context *context, char **absolute, const char *path, spry_error *err)
{
    char folder[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(folder, sizeof folder))
        return spryi_fail_errno(err, path, "cannot be made absolute", errno);
    const size_t size = strlen(folder) + strlen(path) + 2;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, absolute, (int64_t)size, "path of choices", err));
    snprintf(*absolute, size, "%s%s%s", folder, folder[0] ? "/" : "", path);
    return SPRY_OK;
}

spry_status spry_context_set_choices(spry_context *context, const char *path, spry_error *err)
{
    if (!context) return spryi_fail_missing(err, "context");
    spryi_choose_state *state = spryi_choose_state_of(context);
    spryi_choice_list list = {0};
    char *absolute = NULL;
    spry_status status = SPRY_OK;
    if (!path && !state) return SPRY_OK;
    if (path) {
        SPRYI_TRY(read_file(context, path, &list, err));
        SPRYI_TRY(make_absolute(context, &absolute, path, err));
        if (access(absolute, F_OK) != 0) SPRYI_TRY(write_file(context, absolute, NULL, err));
        SPRYI_TRY(spryi_choose_state_get(context, &state, err));
        clear_list(context, &state->choices.known);
        state->choices.known = list;
        list = (spryi_choice_list){0};
    }
    spryi_release(context, state->choices.path);
    state->choices.path = absolute;
    absolute = NULL;
    spryi_choose_state_release_empty(context);
done:
    spryi_release(context, absolute);
    clear_list(context, &list);
    return status;
}

spry_status spry_choice_get_info(const spry_context *context, spry_choice_info *info, int index, spry_error *err)
{
    if (!context || !info) return spryi_fail_missing(err, !context ? "context" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    spryi_choose_state *state = spryi_choose_state_of(context);
    int count = 0;
    if (state) {
        pthread_mutex_lock(&state->choices.lock);
        count = state->choices.known.count;
        if (index >= 0 && index < count) SPRYI_GIVE(info, &state->choices.known.list[index]);
        pthread_mutex_unlock(&state->choices.lock);
    }
    if (index >= 0 && index < count) return SPRY_OK;
    return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, count, "choice %d does not exist, there are %d",
                            index, count);
}

/* Refuses a file that is not empty and does not begin as files of choices do. Does not check the rest of the file. */
static spry_status check_ours(const char *path, spry_error *err)
{
    char head[sizeof magic] = "";
    struct stat facts;
    if (stat(path, &facts) != 0) return spryi_fail_errno(err, path, "cannot be cleared", errno);
    FILE *file = S_ISREG(facts.st_mode) ? fopen(path, "re") : NULL;
    if (!file && S_ISREG(facts.st_mode)) return spryi_fail_errno(err, path, "cannot be read", errno);
    const size_t length = file ? fread(head, 1, sizeof magic - 1, file) : 0;
    if (file) fclose(file);
    if (file && (length == 0 || memcmp(head, magic, sizeof magic - 1) == 0)) return SPRY_OK;
    return spryi_fail_file(err, SPRY_BAD_FILE, path, file ? 1 : 0, "not a file of choices, so it is not cleared");
}

static spry_status clear_file(spry_context *context, const char *path, spry_error *err)
{
    const spryi_choice_list none = {0};
    char *absolute = NULL;
    spry_status status = SPRY_OK;
    int lock = -1;
    SPRYI_TRY(make_absolute(context, &absolute, path, err)); /* so that "-" is a file and not standard output */
    SPRYI_TRY(take_lock(&lock, absolute, err));
    SPRYI_TRY(check_ours(path, err));
    SPRYI_TRY(write_file(context, absolute, &none, err));
done:
    give_lock(lock);
    spryi_release(context, absolute);
    return status;
}

spry_status spry_context_clear_choices(spry_context *context, const char *path, spry_error *err)
{
    if (!context) return spryi_fail_missing(err, "context");
    spryi_choose_state *state = spryi_choose_state_of(context);
    const char *own = state ? state->choices.path : NULL;
    struct stat facts;
    const bool exists = own && stat(own, &facts) == 0; /* false before the first choice, which creates the file */
    if (path) SPRYI_OK_OR_RETURN(clear_file(context, path, err));
    if (exists) SPRYI_OK_OR_RETURN(clear_file(context, own, err));
    if (state) clear_list(context, &state->choices.known);
    spryi_choose_state_release_empty(context);
    return SPRY_OK;
}
