/*
 * Products and methods by programs that need a process of their own, an interpreter each, started by prepare and ended
 * by destroy. The process measures the time of its work itself, so that neither line nor file is in it.
 *   scipy_smmp         SciPy's csr_matrix @ csr_matrix, which is SMMP: one thread, rows left unsorted
 *   scipy_smmp_sorted  the same and sort_indices
 *   octave             GNU Octave's sparse product, the seed's Matlab column: f64, one thread, sorted
 *   scipy_spmm         SciPy's csr_matrix @ array with several columns, and transposed A.T @ array: one thread. The
 *                      result of arrays in column order is in row order; the time includes its copy to column order
 *   scipy_pagerank     power iteration with SciPy's csr_matrix @ vector and NumPy's vectors, one thread
 *                      (process_rank.py)
 *   cupy_cg            cupyx.scipy.sparse.linalg.cg on the first GPU (process_cupy.py)
 *
 * Matrices go to the process, and a result comes back, as raw arrays in a temporary file; commands and answers are
 * lines on a socket. Several columns, and b and x, are in a file that both map. Commands of methods: matrix FILE ROWS
 * NNZ VALUE_BYTES INDEX_BYTES; method FILE ALPHA TOLERANCE LIMIT; solve, answered by "ok ITERATIONS RESIDUAL
 * MICROSECONDS". SPRY_PYTHON and SPRY_OCTAVE name the interpreters. Their defaults are the Python that
 * ./quickstart --peers built, else python3, and octave-cli.
 */
#include "bench/peer.h"
#include "common/wall_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <process_scripts.h> /* scipy_script and others, made by CMake of the files beside this one */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- an interpreter in a process of its own, spoken to in lines ------------------------------------- */

#define CONST_OFF(text) ((char *)(uintptr_t)(text)) /* posix_spawn's arguments lack const */

typedef struct process {
    pid_t id; /* 0: none */
    FILE *in; /* its answers, */
    int out;  /* our commands: the same socket */
    char line[512];
    int64_t rows, cols;
    int value_bytes;
    void *arrays; /* of C when it was fetched */
    char *shared; /* X and Y of several columns, or b and x of a method; NULL: none */
    size_t x_bytes, y_bytes;
    double us; /* of the last product with them */
} process;

/*
 * A command ends with a blank behind its line, since Octave's fgetl looks at what follows before it returns.
 * Answers are "ok ..." or "no REASON". load FILE SORT ROWS INNER COLS NNZ_A NNZ_B SQUARE VALUE_BYTES INDEX_BYTES;
 * run -> "ok MICROSECONDS"; fetch FILE -> "ok NNZ OFFSET_BYTES INDEX_BYTES"; release. Of several columns, after load:
 * columns FILE COUNT ROW_MAJOR TRANSPOSE; multiply -> "ok MICROSECONDS".
 */

enum { AS_IT_COMES, SORTED }; /* the kernels' variants: what is done to the rows of C */

/* ---- lines -------------------------------------------------------------------------------------- */

/* The rest of an answer behind "ok"; NULL, with the reason in error. */
static const char *hear(process *p, spry_peer_error *error)
{
    if (!fgets(p->line, sizeof p->line, p->in)) {
        spry_peer_fail(error, SPRY_PEER_FAILED, "the interpreter ended");
        return NULL;
    }
    p->line[strcspn(p->line, "\n")] = '\0';
    if (strncmp(p->line, "ok", 2) == 0) return p->line + 2;
    spry_peer_fail(error, SPRY_PEER_FAILED, "%.240s", strncmp(p->line, "no ", 3) == 0 ? p->line + 3 : p->line);
    return NULL;
}

static const char *ask(process *p, const char *command, spry_peer_error *error)
{
    size_t length = strlen(command);
    /* The interpreter may be gone: an answer, not a signal. */
    if (send(p->out, command, length, MSG_NOSIGNAL) != (ssize_t)length) {
        spry_peer_fail(error, SPRY_PEER_FAILED, "the interpreter ended");
        return NULL;
    }
    return hear(p, error);
}

/* ---- the process -------------------------------------------------------------------------------- */

static int start(process *p, char *const *arguments, spry_peer_cost *cost, spry_peer_error *error)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 || posix_spawn_file_actions_init(&actions) != 0)
        return spry_peer_fail(error, SPRY_PEER_FAILED, "a socket: %s", strerror(errno));
    int fault = posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    if (!fault) fault = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (!fault) fault = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
    if (!fault) fault = posix_spawnp(&p->id, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (fault) {
        p->id = 0;
        close(ends[0]);
        return spry_peer_fail(error, fault == ENOENT ? SPRY_PEER_UNSUPPORTED : SPRY_PEER_FAILED, "there is no %s: %s",
                              arguments[0], strerror(fault));
    }
    p->out = ends[0];
    p->in = fdopen(ends[0], "r");
    const char *name = p->in ? hear(p, error) : NULL;
    if (name) snprintf(cost->version, sizeof cost->version, "%s", name + strspn(name, " "));
    return name ? SPRY_PEER_OK : SPRY_PEER_UNSUPPORTED;
}

static void release(void *state)
{
    process *p = state;
    spry_peer_error error;
    free(p->arrays);
    p->arrays = NULL;
    if (p->id > 0 && p->in) (void)ask(p, "release\n ", &error);
}

static void destroy(void *state)
{
    process *p = state;
    free(p->arrays);
    if (p->shared) munmap(p->shared, p->x_bytes + p->y_bytes);
    if (p->in) fclose(p->in); /* the end of its input ends it */
    if (p->id > 0) {
        while (waitpid(p->id, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    free(p);
}

/* ---- files -------------------------------------------------------------------------------------- */

static FILE *temporary_file(char *path, size_t size, spry_peer_error *error)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%.200s/spry-peer-XXXXXX", folder && folder[0] ? folder : "/tmp");
    int descriptor = strpbrk(path, " \n") ? -1 : mkstemp(path); /* a path is a word of a line */
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w+") : NULL;
    if (!file) spry_peer_fail(error, SPRY_PEER_FAILED, "a temporary file %.200s: %s", path, strerror(errno));
    return file;
}

static int put(FILE *file, const void *array, int64_t count, int bytes)
{
    return count == 0 || fwrite(array, (size_t)bytes, (size_t)count, file) == (size_t)count;
}

static int put_arrays(FILE *file, const spry_peer_matrix *a)
{
    return put(file, a->offsets, a->rows + 1, a->offset_bytes) && put(file, a->columns, a->nnz, a->index_bytes) &&
           put(file, a->values, a->nnz, a->value_bytes);
}

static int share_file(process *p, size_t bytes, const char *command, const char *arguments, spry_peer_error *error)
{
    char path[256], line[512];
    FILE *file = temporary_file(path, sizeof path, error);
    if (!file) return SPRY_PEER_FAILED;
    const int fault = posix_fallocate(fileno(file), 0, (off_t)bytes);
    void *map = fault ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    int good = map != MAP_FAILED;
    if (good)
        p->shared = map;
    else
        spry_peer_fail(error, SPRY_PEER_FAILED, "%zu bytes in %.150s: %s", bytes, path,
                       strerror(fault ? fault : errno));
    snprintf(line, sizeof line, "%s %s %s\n ", command, path, arguments);
    good = good && ask(p, line, error);
    fclose(file);
    unlink(path);
    return good ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

static int load(process *p, const spry_peer_spgemm_request *request, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->a, *b = &request->b;
    const int square = a->values == b->values;
    char path[256], command[512];
    FILE *file = temporary_file(path, sizeof path, error);
    if (!file) return SPRY_PEER_FAILED;
    int good = put_arrays(file, a) && (square || put_arrays(file, b));
    good &= fclose(file) == 0;
    if (!good) spry_peer_fail(error, SPRY_PEER_FAILED, "%.200s: %s", path, strerror(errno));
    snprintf(command, sizeof command, "load %s %d %lld %lld %lld %lld %lld %d %d %d\n ", path,
             request->variant == SORTED, (long long)a->rows, (long long)a->cols, (long long)b->cols, (long long)a->nnz,
             (long long)b->nnz, square, a->value_bytes, a->index_bytes);
    good = good && ask(p, command, error);
    unlink(path);
    return good ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

/* ---- the interface ------------------------------------------------------------------------------ */

static int prepare_any(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost,
                       char *const *arguments, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->a;
    if (a->offset_bytes != a->index_bytes)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "it has one index type: 64-bit offsets with 32-bit columns do not fit it");
    process *p = spry_peer_new(state, sizeof *p, error);
    if (!p) return SPRY_PEER_FAILED;
    p->rows = a->rows;
    p->cols = request->b.cols;
    p->value_bytes = a->value_bytes;
    double begin = now_us();
    int result = start(p, arguments, cost, error);
    cost->startup_us = now_us() - begin;
    cost->threads = 1;
    return result == SPRY_PEER_OK ? load(p, request, error) : result;
}

static const char *interpreter_of(const char *variable, const char *built, const char *other)
{
    const char *named = getenv(variable);
    if (named && named[0]) return named;
    return built && access(built, X_OK) == 0 ? built : other;
}

static int prepare_scipy(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost,
                         spry_peer_error *error)
{
    const char *python = interpreter_of("SPRY_PYTHON", SPRY_PEERS_PYTHON, "python3");
    char *const arguments[] = {CONST_OFF(python), CONST_OFF("-c"), CONST_OFF(scipy_script), NULL};
    return prepare_any(state, request, cost, arguments, error);
}

static int has_zeros(const spry_peer_matrix *a)
{
    for (int64_t k = 0; k < a->nnz; k++)
        if (((const double *)a->values)[k] == 0) return 1;
    return 0;
}

static int prepare_octave(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost,
                          spry_peer_error *error)
{
    const char *octave = interpreter_of("SPRY_OCTAVE", NULL, "octave-cli");
    char *const arguments[] = {CONST_OFF(octave),   CONST_OFF("--no-init-file"), CONST_OFF("--no-site-file"),
                               CONST_OFF("--eval"), CONST_OFF(octave_script),    NULL};
    if (request->a.value_bytes != 8)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "Octave's sparse matrices are f64 alone");
    if (has_zeros(&request->a) || has_zeros(&request->b))
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "Octave leaves stored zeros out: it would multiply another structure");
    return prepare_any(state, request, cost, arguments, error);
}

static int run(void *state, spry_peer_product *product, spry_peer_error *error)
{
    const char *answer = ask(state, "run\n ", error);
    if (!answer) return SPRY_PEER_FAILED;
    product->us = strtod(answer, NULL);
    return SPRY_PEER_OK;
}

static int fetch(void *state, spry_peer_matrix *c, spry_peer_error *error)
{
    process *p = state;
    char path[256], command[320];
    FILE *file = temporary_file(path, sizeof path, error);
    if (!file) return SPRY_PEER_FAILED;
    snprintf(command, sizeof command, "fetch %s\n ", path);
    const char *answer = ask(p, command, error);
    long long nnz = 0;
    int offset_bytes = 8, index_bytes = 8,
        good = answer && sscanf(answer, "%lld %d %d", &nnz, &offset_bytes, &index_bytes) == 3;
    if (good) {
        size_t offsets = ((size_t)p->rows + 1) * (size_t)offset_bytes, columns = (size_t)nnz * (size_t)index_bytes;
        size_t values = (size_t)nnz * (size_t)p->value_bytes;
        /* values behind columns of 4 bytes: on a place that suits them */
        size_t columns_at = (offsets + 7) & ~(size_t)7, values_at = columns_at + ((columns + 7) & ~(size_t)7);
        char *arrays = p->arrays = malloc(values_at + values + 8);
        good = arrays && fread(arrays, 1, offsets, file) == offsets &&
               fread(arrays + columns_at, 1, columns, file) == columns &&
               fread(arrays + values_at, 1, values, file) == values;
        if (good)
            *c = (spry_peer_matrix){p->rows,           p->cols,     nnz,    p->value_bytes,
                                    offset_bytes,      index_bytes, arrays, arrays + columns_at,
                                    arrays + values_at};
        else
            spry_peer_fail(error, SPRY_PEER_FAILED, "the result could not be taken over from %.200s", path);
    }
    fclose(file);
    unlink(path);
    return good ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

static const spry_peer_spgemm products[] =
    {{"scipy_smmp", "cpu", "SciPy's csr_matrix product (SMMP), rows left unsorted", 1, prepare_scipy, run, fetch,
      release, destroy, AS_IT_COMES},
     {"scipy_smmp_sorted", "cpu", "SciPy's csr_matrix product (SMMP) and sort_indices", 1, prepare_scipy, run, fetch,
      release, destroy, SORTED},
     {"octave", "cpu", "GNU Octave's sparse product", 1, prepare_octave, run, fetch, release, destroy, AS_IT_COMES}};

/* ---- several columns ---------------------------------------------------------------------------- */

static int share_columns(process *p, const spry_peer_request *request, spry_peer_error *error)
{
    const size_t column_bytes = (size_t)request->columns * (size_t)p->value_bytes;
    const size_t rows_bytes = (size_t)request->matrix.rows * column_bytes;
    const size_t cols_bytes = (size_t)request->matrix.cols * column_bytes;
    char arguments[64];
    if (rows_bytes == 0 || cols_bytes == 0)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "it shares no vectors without entries");
    p->x_bytes = request->transpose ? rows_bytes : cols_bytes;
    p->y_bytes = request->transpose ? cols_bytes : rows_bytes;
    snprintf(arguments, sizeof arguments, "%lld %d %d", (long long)request->columns, request->row_major,
             request->transpose);
    return share_file(p, p->x_bytes + p->y_bytes, "columns", arguments, error);
}

static int prepare_columns(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_spgemm_request alone = {request->matrix, request->matrix, AS_IT_COMES, request->threads};
    SPRY_PEER_TRY(prepare_scipy(state, &alone, cost, error));
    process *p = *state;
    cost->us = &p->us;
    return share_columns(p, request, error);
}

static int run_columns(void *state, double alpha, const void *x, double beta, void *y)
{
    process *p = state;
    spry_peer_error error;
    if (alpha != 1 || beta != 0) return SPRY_PEER_FAILED;
    memcpy(p->shared, x, p->x_bytes);
    const char *answer = ask(p, "multiply\n ", &error);
    if (!answer) return SPRY_PEER_FAILED;
    p->us = strtod(answer, NULL);
    memcpy(y, p->shared + p->x_bytes, p->y_bytes);
    return SPRY_PEER_OK;
}

static const spry_peer_kernel spmm[] = {
    {"scipy_spmm", "csr", "cpu", "SciPy's csr_matrix @ array", 1, prepare_columns, run_columns, destroy, 0}};

/* ---- methods ------------------------------------------------------------------------------------- */

enum { RANKS, CUPY }; /* the scripts */

static int send_matrix(process *p, const spry_peer_matrix *a, spry_peer_error *error)
{
    char path[256], command[512];
    FILE *file = temporary_file(path, sizeof path, error);
    if (!file) return SPRY_PEER_FAILED;
    int good = put_arrays(file, a);
    good &= fclose(file) == 0;
    if (!good) spry_peer_fail(error, SPRY_PEER_FAILED, "%.200s: %s", path, strerror(errno));
    snprintf(command, sizeof command, "matrix %s %lld %lld %d %d\n ", path, (long long)a->rows, (long long)a->nnz,
             a->value_bytes, a->index_bytes);
    good = good && ask(p, command, error);
    unlink(path);
    return good ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

static int prepare(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    const char *python = interpreter_of("SPRY_PYTHON", SPRY_PEERS_PYTHON, "python3");
    const char *script = request->variant == RANKS ? rank_script : cupy_script;
    char *const arguments[] = {CONST_OFF(python), CONST_OFF("-c"), CONST_OFF(script), NULL};
    char method[128];
    if (a->offset_bytes != a->index_bytes)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "it has one index type: 64-bit offsets with 32-bit columns do not fit it");
    process *p = spry_peer_new(state, sizeof *p, error);
    if (!p) return SPRY_PEER_FAILED;
    const double begin = now_us();
    SPRY_PEER_TRY(start(p, arguments, cost, error));
    cost->startup_us = now_us() - begin;
    cost->threads = request->variant == RANKS ? 1 : 0;
    SPRY_PEER_TRY(send_matrix(p, a, error));
    p->x_bytes = p->y_bytes = (size_t)a->rows * (size_t)a->value_bytes;
    snprintf(method, sizeof method, "%.17g %.17g %lld", request->alpha, request->tolerance,
             (long long)request->max_iterations);
    return share_file(p, p->x_bytes + p->y_bytes, "method", method, error);
}

static int solve(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error)
{
    process *p = state;
    long long iterations = 0;
    if (b) memcpy(p->shared, b, p->x_bytes);
    const char *answer = ask(p, "solve\n ", error);
    if (!answer) return SPRY_PEER_FAILED;
    if (sscanf(answer, "%lld %lf %lf", &iterations, &solution->residual, &solution->us) != 3)
        return spry_peer_fail(error, SPRY_PEER_FAILED, "it answered '%.200s'", answer);
    solution->iterations = iterations;
    memcpy(x, p->shared + p->x_bytes, p->y_bytes);
    return SPRY_PEER_OK;
}

static const spry_peer_solver solvers[] = {{"scipy_pagerank", "cpu",
                                            "power iteration with SciPy's csr_matrix @ vector and NumPy",
                                            SPRY_PEER_PAGERANK, 1, prepare, solve, destroy, RANKS},
                                           {"cupy_cg", "cuda", "cupyx.scipy.sparse.linalg.cg", SPRY_PEER_CG, 0, prepare,
                                            solve, destroy, CUPY}};

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                            .name = "process",
                                            .version = "as installed",
                                            .spgemm_count = sizeof products / sizeof *products,
                                            .spgemm = products,
                                            .spmm_count = sizeof spmm / sizeof *spmm,
                                            .spmm = spmm,
                                            .solver_count = sizeof solvers / sizeof *solvers,
                                            .solvers = solvers};
    (void)error;
    return &module;
}
