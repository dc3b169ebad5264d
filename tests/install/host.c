/*
 * host LIBRARY CYCLES: repeatedly loads libspry, multiplies with multiple threads, and closes the library. Every other
 * cycle destroys the context. The program is not linked with the library. If dlclose unmapped the library, its sleeping
 * threads would wake in unmapped code.
 */
#include "spry/spry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 30000 };
static int32_t offsets[N + 1], columns[2 * N];
static double values[2 * N], x[N], y[N];

static void make_matrix(void)
{
    int32_t k = 0;
    for (int32_t i = 0; i < N; i++) {
        for (int32_t j = i; j < i + 2 && j < N; j++) {
            columns[k] = j;
            values[k++] = 1;
        }
        offsets[i + 1] = k;
        x[i] = i;
    }
}

/* Sets *function to the library's function of that name. POSIX requires equal sizes of both pointer types. */
static void find(void *library, const char *name, void **function)
{
    *function = dlsym(library, name);
    if (!*function) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
}

static int cycle(const char *path, int destroys)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    union {
        void *found;
        __typeof__(spry_context_create) *call;
    } create;
    union {
        void *found;
        __typeof__(spry_matrix_borrow_csr_f64) *call;
    } borrow;
    union {
        void *found;
        __typeof__(spry_spmv) *call;
    } multiply;
    union {
        void *found;
        __typeof__(spry_matrix_destroy) *call;
    } destroy_matrix;
    union {
        void *found;
        __typeof__(spry_context_destroy) *call;
    } destroy;
    find(library, "spry_context_create", &create.found);
    find(library, "spry_matrix_borrow_csr_f64", &borrow.found);
    find(library, "spry_spmv", &multiply.found);
    find(library, "spry_matrix_destroy", &destroy_matrix.found);
    find(library, "spry_context_destroy", &destroy.found);

    spry_context *context = NULL;
    spry_matrix *A = NULL;
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.threads = 3;
    y[N / 2] = 0;
    int good = create.call(&context, &options, NULL) == SPRY_OK &&
               borrow.call(context, &A, N, N, offsets, columns, values, NULL) == SPRY_OK &&
               multiply.call(context, spry_vector_f64(y, N), NULL, A, spry_const_vector_f64(x, N), NULL, NULL) ==
                   SPRY_OK &&
               y[N / 2] == N + 1;
    if (destroys) {
        destroy_matrix.call(A);
        destroy.call(context);
    }
    return dlclose(library) == 0 && good;
}

/* Returns the number of threads of this process, or 0 if the system does not report it. */
static int thread_count(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Threads: %d", &count) == 1) break;
    if (file) fclose(file);
    return count;
}

int main(int count, char **arguments)
{
    const struct timespec moment = {0, 20000000};
    const int cycles = count > 2 ? atoi(arguments[2]) : 1;
    int threads = 0;
    make_matrix();
    for (int c = 0; c < cycles; c++) {
        if (!cycle(arguments[1], c % 2)) return 1;
        nanosleep(&moment, NULL); /* the threads stop spinning meanwhile */
        if (c == 0) threads = thread_count();
    }
    /* threads of contexts that were not destroyed still exist, all others have ended */
    if (thread_count() > 1 + (threads - 1) * ((cycles + 1) / 2)) {
        fprintf(stderr, "%d threads after the first cycle, %d after the last\n", threads, thread_count());
        return 1;
    }
    return 0;
}
