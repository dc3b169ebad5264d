#include "common/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void matrix_name(char *name, size_t size, const char *path)
{
    if (strcmp(path, "-") == 0) path = "stdin";
    if (strncmp(path, "gen:", 4) == 0) {
        snprintf(name, size, "%s", path + 4);
        return;
    }
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash && slash[1] ? slash + 1 : path);
    static const char *const endings[] = {".gz", ".mtx"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        size_t length = strlen(name), cut = strlen(endings[e]);
        if (length > cut && strcmp(name + length - cut, endings[e]) == 0) name[length - cut] = '\0';
    }
}

spry_status read_csr(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                     spry_error *err)
{
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    spry_matrix *csr = NULL;
    spry_status status = spry_matrix_read(context, A, path, options, err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(*A, &arrays, err);
    if (status != SPRY_OK || arrays.layout == SPRY_CSR) return status;
    status = spry_matrix_convert(context, &csr, *A, NULL, err);
    spry_matrix_destroy(*A);
    *A = csr; /* NULL if that failed */
    return status;
}

void *allocate_pages(size_t bytes)
{
    const size_t large = (size_t)2 << 20;
    void *memory = NULL;
    if (posix_memalign(&memory, bytes < large ? 64 : large, bytes + 8) != 0) return NULL;
    if (bytes >= large) (void)madvise(memory, bytes, MADV_HUGEPAGE); /* advice only */
    return memory;
}

/* A bijection of 64 bits, SplitMix64's. */
static uint64_t mix_bits(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static double random_number(uint64_t i, uint64_t seed)
{
    const uint64_t bits = mix_bits(i * UINT64_C(0x9E3779B97F4A7C15) + seed);
    const double value = 0.25 + 0.75 * (double)(bits >> 11) * 0x1p-53;
    return bits & 1 ? -value : value;
}

void fill_random(void *data, int64_t length, spry_type type, uint64_t seed, int threads)
{
    float *f32 = type == SPRY_F32 ? data : NULL;
    double *f64 = type == SPRY_F32 ? NULL : data;
#pragma omp parallel num_threads(threads) if (length > 1 << 16)
    if (f32) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < length; i++) f32[i] = (float)random_number((uint64_t)i, seed);
    } else {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < length; i++) f64[i] = random_number((uint64_t)i, seed);
    }
}

void fill_constant(void *data, int64_t length, spry_type type, double value, int threads)
{
    float *f32 = type == SPRY_F32 ? data : NULL;
    double *f64 = type == SPRY_F32 ? NULL : data;
#pragma omp parallel num_threads(threads) if (length > 1 << 16)
    if (f32) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < length; i++) f32[i] = (float)value;
    } else {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < length; i++) f64[i] = value;
    }
}
