#include "common/input.h"

#include "common/parallel.h"
#include "spry/io.h"
#include "spry/matrix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file_name(const char *path)
{
    return path[0] && strcmp(path, "-") != 0 && strncmp(path, "gen:", 4) != 0;
}

size_t unpacked_length(const char *name)
{
    static const char *const endings[] = {".gz", ".bz2", ".xz", ".zst"};
    const size_t length = strlen(name);
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        const size_t cut = strlen(endings[e]);
        if (length > cut && strcmp(name + length - cut, endings[e]) == 0) return length - cut;
    }
    return length;
}

/* Removes the ending of a file's name. */
static void cut_ending(char *name)
{
    name[unpacked_length(name)] = '\0';
    static const char *const endings[] = {".mtx", ".npz", ".txt", ".csv", ".tsv", ".edges", ".el"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        size_t length = strlen(name), cut = strlen(endings[e]);
        if (length > cut && strcmp(name + length - cut, endings[e]) == 0) name[length - cut] = '\0';
    }
}

/* Returns the last part of a path, preceded by the given number of folders. */
static const char *last_parts(const char *path, int folders)
{
    const char *at = path + strlen(path);
    while (at > path && (at[-1] != '/' || !at[0] || folders-- > 0)) at--;
    return at;
}

void matrix_name(char *name, size_t size, const char *path)
{
    if (strcmp(path, "-") == 0) path = "stdin";
    if (strncmp(path, "gen:", 4) == 0) {
        snprintf(name, size, "%s", path + 4);
        return;
    }
    snprintf(name, size, "%s", last_parts(path, 0));
    cut_ending(name);
}

/* Returns true if another matrix has the name of matrix i; in_folder: counts only matrices of the same folder. */
static bool is_shared(const named_matrix *m, int count, int i, bool in_folder)
{
    const size_t folder = (size_t)(last_parts(m[i].path, 0) - m[i].path);
    for (int j = 0; j < count; j++) {
        if (strcmp(m[i].name, m[j].name) != 0 || strcmp(m[i].path, m[j].path) == 0) continue;
        if (!in_folder ||
            ((size_t)(last_parts(m[j].path, 0) - m[j].path) == folder && strncmp(m[i].path, m[j].path, folder) == 0))
            return true;
    }
    return false;
}

bool make_names_distinct(named_matrix *m, int count)
{
    enum { MOST_FOLDERS = 32, SHARED = 1, KEEPS_ENDING = 2 };
    char *marks = calloc((size_t)count + 1, 1);
    if (!marks) return false;
    for (int folders = 0, again = 1; again && folders < MOST_FOLDERS; folders++) {
        again = 0;
        for (int i = 0; i < count; i++) {
            marks[i] &= KEEPS_ENDING;
            if (!is_file_name(m[i].path)) continue;
            if (!is_shared(m, count, i, folders == 0)) continue;
            /* True if the name already is the whole path, so that no folder can be added. */
            const bool is_whole = folders > 1 && last_parts(m[i].path, folders - 1) == m[i].path;
            marks[i] |= folders == 0 || is_whole ? SHARED | KEEPS_ENDING : SHARED;
        }
        for (int i = 0; i < count; i++) {
            if (!(marks[i] & SHARED)) continue;
            snprintf(m[i].name, m[i].size, "%s", last_parts(m[i].path, folders));
            if (!(marks[i] & KEEPS_ENDING)) cut_ending(m[i].name);
            again = 1;
        }
        again |= folders == 0;
    }
    free(marks);
    return true;
}

bool is_edge_list_name(const char *path)
{
    static const char *const endings[] = {".txt", ".csv", ".tsv", ".edges", ".el"};
    const size_t length = unpacked_length(path);
    if (strncmp(path, "gen:", 4) == 0) return false;
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        const size_t cut = strlen(endings[e]);
        if (length > cut && strncmp(path + length - cut, endings[e], cut) == 0) return true;
    }
    return false;
}

bool cache_folder(char *folder, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && cache[0] == '/') /* the XDG specification ignores relative paths */
        length = snprintf(folder, size, "%s/spry", cache);
    else if (home && home[0] == '/')
        length = snprintf(folder, size, "%s/.cache/spry", home);
    return length >= 0 && (size_t)length < size;
}

spry_status find_device(const spry_context *context, int *device, const char *name, spry_error *err)
{
    *device = SPRY_DEVICE_DEFAULT;
    return name ? spry_device_find(context, device, name, err) : SPRY_OK;
}

int index_base_of(const spry_matrix *A)
{
    spry_source_info info = SPRY_INIT(spry_source_info);
    return spry_matrix_get_source(A, &info, NULL) == SPRY_OK ? info.index_base : 0;
}

static const char standard_input[] = "standard input";
static int stated_base = -1;

void set_index_base(int base)
{
    stated_base = base;
}

/*
 * Returns true if /dev/stdin can be opened and reads from the current position. Sockets cannot be opened, and an opened
 * file would start at its beginning.
 */
static bool can_be_reopened(void)
{
    struct stat facts;
    if (fstat(STDIN_FILENO, &facts) != 0) return true; /* opening reports why */
    if (S_ISREG(facts.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) != 0) return false;
    return !S_ISSOCK(facts.st_mode) && access("/dev/stdin", R_OK) == 0;
}

/* Reads the rest of standard input into *content, which the caller frees. Returns 0 or an errno value. */
static int read_rest(char **content, size_t *bytes)
{
    size_t room = (size_t)1 << 16;
    *bytes = 0;
    *content = malloc(room);
    for (;;) {
        if (!*content) return ENOMEM;
        const ssize_t got = read(STDIN_FILENO, *content + *bytes, room - *bytes);
        if (got == 0) return 0;
        if (got < 0 && errno != EINTR) return errno;
        if (got > 0) *bytes += (size_t)got;
        if (*bytes < room) continue;
        room *= 2;
        char *const larger = realloc(*content, room);
        if (!larger) return ENOMEM;
        *content = larger;
    }
}

/* Replaces the path at the start of a message by "standard input". */
static void name_standard_input(spry_error *err, const char *path)
{
    const size_t length = strlen(path);
    if (!err || strncmp(err->message, path, length) != 0) return;
    char rest[sizeof err->message];
    snprintf(rest, sizeof rest, "%s", err->message + length);
    snprintf(err->message, sizeof err->message, "%s%.*s", standard_input,
             (int)(sizeof err->message - sizeof standard_input), rest);
    snprintf(err->file, sizeof err->file, "%s", standard_input);
}

static spry_status read_standard_input(spry_context *context, spry_matrix **A, const spry_read_options *options,
                                       spry_error *err)
{
    static const char path[] = "/dev/stdin";
    char *content = NULL;
    size_t bytes = 0;
    spry_status status = SPRY_OK;
    if (can_be_reopened()) {
        status = spry_matrix_read(context, A, path, options, err);
        if (status != SPRY_OK) name_standard_input(err, path);
        return status;
    }
    const int failure = read_rest(&content, &bytes);
    if (failure == 0) {
        status = spry_matrix_read_memory(context, A, content, bytes, standard_input, options, err);
    } else {
        status = failure == ENOMEM ? SPRY_OUT_OF_MEMORY : SPRY_FILE_ERROR;
        *err = (spry_error){.status = status};
        snprintf(err->message, sizeof err->message, "%s: cannot be read: %s", standard_input, strerror(failure));
        snprintf(err->file, sizeof err->file, "%s", standard_input);
    }
    free(content);
    return status;
}

spry_status open_matrix(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                        spry_error *err)
{
    spry_read_options of_file = *options;
    spry_status status;
    const bool is_generated = strncmp(path, "gen:", 4) == 0;
    if (is_generated) of_file.input = NULL;
    if (!is_edge_list_name(path) && !of_file.input) {
        of_file.index_base = 0;
        of_file.undirected = false;
    }
    if (is_generated)
        status = spry_matrix_generate(context, A, path, &of_file, err);
    else if (strcmp(path, "-") == 0)
        status = read_standard_input(context, A, &of_file, err);
    else
        status = spry_matrix_read(context, A, path, &of_file, err);
    if (status != SPRY_OK || stated_base < 0) return status;
    return spry_matrix_set_index_base(*A, stated_base, err);
}

spry_status read_csr(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                     spry_error *err)
{
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    spry_matrix *csr = NULL;
    spry_matrix_options as_stored = SPRY_INIT(spry_matrix_options);
    spry_status status = open_matrix(context, A, path, options, err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(*A, &arrays, err);
    if (status != SPRY_OK || arrays.layout == SPRY_CSR) return status;
    as_stored.offset_type = arrays.offset_type;
    status = spry_matrix_convert(context, &csr, NULL, *A, &as_stored, err);
    spry_matrix_destroy(*A);
    *A = csr; /* NULL if the conversion failed */
    return status;
}

static spry_context_info info_of(const spry_context *context)
{
    spry_context_info info = SPRY_INIT(spry_context_info);
    (void)spry_context_get_info(context, &info, NULL);
    return info;
}

int pool_threads(const spry_context *context)
{
    return info_of(context).threads;
}

int64_t available_memory_bytes(const spry_context *context)
{
    return info_of(context).available_memory_bytes;
}

int64_t csr_part_bytes(const spry_arrays *a, int part)
{
    if (part == 0) return (a->rows + 1) * index_type_bytes(a->offset_type);
    return a->nnz * (part == 1 ? index_type_bytes(a->index_type) : (int64_t)spry_type_bytes(a->value_type));
}

void *allocate_pages(size_t bytes)
{
    const size_t large = (size_t)2 << 20;
    void *memory = NULL;
    if (posix_memalign(&memory, bytes < large ? 64 : large, bytes + 8) != 0) return NULL;
    if (bytes >= large) (void)madvise(memory, bytes, MADV_HUGEPAGE); /* advice only */
    return memory;
}

/* Mixes 64 bits by SplitMix64's bijection. */
static uint64_t mix_bits(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static double random_value(uint64_t i, uint64_t seed)
{
    const uint64_t bits = mix_bits(i * UINT64_C(0x9E3779B97F4A7C15) + seed);
    const double value = 0.25 + 0.75 * (double)(bits >> 11) * 0x1p-53;
    return bits & 1 ? -value : value;
}

enum { ONE_THREAD = 1 << 16 }; /* up to this length one thread runs, because more threads do not help */

typedef struct filling {
    void *data;
    spry_type type;
    bool random; /* true: element i depends on i and the seed; false: all elements are `value` */
    uint64_t seed;
    double value;
} filling;

static void fill_some(void *job, int64_t begin, int64_t end)
{
    const filling *f = job;
    float *f32 = f->type == SPRY_F32 ? f->data : NULL;
    double *f64 = f->type == SPRY_F32 ? NULL : f->data;
    for (int64_t i = begin; i < end; i++) {
        const double value = f->random ? random_value((uint64_t)i, f->seed) : f->value;
        if (f32)
            f32[i] = (float)value;
        else
            f64[i] = value;
    }
}

void fill_random(void *data, int64_t length, spry_type type, uint64_t seed, int threads)
{
    run_shares(length > ONE_THREAD ? threads : 1, length, fill_some, &(filling){data, type, true, seed, 0});
}

void fill_constant(void *data, int64_t length, spry_type type, double value, int threads)
{
    run_shares(length > ONE_THREAD ? threads : 1, length, fill_some, &(filling){data, type, false, 0, value});
}

/* Arguments of copy_strided. Strides count elements. */
typedef struct strided_copy {
    void *to;
    int64_t to_stride;
    const void *from;
    int64_t from_stride;
    spry_type type;
} strided_copy;

static void copy_strided(void *job, int64_t begin, int64_t end)
{
    const strided_copy c = *(const strided_copy *)job;
    const bool f64 = c.type == SPRY_F64;
    for (int64_t i = begin; i < end; i++)
        if (f64)
            ((double *)c.to)[i * c.to_stride] = ((const double *)c.from)[i * c.from_stride];
        else
            ((float *)c.to)[i * c.to_stride] = ((const float *)c.from)[i * c.from_stride];
}

void gather_column(void *to, const void *rows, int64_t length, int64_t columns, int64_t c, spry_type type, int threads)
{
    const char *from = (const char *)rows + (size_t)c * spry_type_bytes(type);
    run_shares(length > ONE_THREAD ? threads : 1, length, copy_strided, &(strided_copy){to, 1, from, columns, type});
}

void scatter_column(void *rows, const void *from, int64_t length, int64_t columns, int64_t c, spry_type type,
                    int threads)
{
    char *to = (char *)rows + (size_t)c * spry_type_bytes(type);
    run_shares(length > ONE_THREAD ? threads : 1, length, copy_strided, &(strided_copy){to, columns, from, 1, type});
}
