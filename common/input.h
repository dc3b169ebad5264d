/* The inputs of products: matrices as CSR, vectors of random numbers, and memory for them. */
#pragma once

#include "common/wall_clock.h"
#include "spry/io.h"
#include "spry/spry.h"

#include <stdbool.h>

/* "dir/G3_circuit.mtx.gz" -> "G3_circuit", "gen:grid7" -> "grid7", "-" -> "stdin". */
void matrix_name(char *name, size_t size, const char *path);

/* A matrix, the place of its name, and the path that it is read from. */
typedef struct named_matrix {
    char *name;
    size_t size; /* of the array name */
    const char *path;
} named_matrix;

/*
 * Makes names of matrix_name distinct where several files share one: they get the folders before them
 * ("Newman/football"), and files of one folder keep their endings. False: out of memory.
 */
bool tell_names_apart(named_matrix *matrices, int count);

/* Returns the length of a file's name without .gz, .bz2, .xz or .zst. */
size_t unpacked_length(const char *name);

/* 1: the name of an edge list (docs/files.md), plain or gzip. */
int is_edge_list_name(const char *path);

/* "spry" in the user's cache folder: of XDG_CACHE_HOME, else ~/.cache. 0: there is none, or its name is too long. */
int cache_folder(char *folder, size_t size);

/* Sets the base of all matrices that open_matrix opens from now on; -1: that of each file. */
void set_index_base(int base);
/* Returns the base, 0 or 1, that rows and columns of A are counted from in messages and output. */
int index_base_of(const spry_matrix *A);
/*
 * Reads a file or standard input ("-"), or generates a matrix ("gen:NAME,key=value,..."). index_base and undirected of
 * the options only apply to edge lists. err must not be NULL.
 */
spry_status open_matrix(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                        spry_error *err);
/* Calls open_matrix, and converts the matrix to CSR if a container holds another layout. */
spry_status read_csr(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                     spry_error *err);

/* Fields of spry_context_info. */
int pool_threads(const spry_context *context);
int64_t available_memory_bytes(const spry_context *context);

/* The number of the device with that name; NULL: SPRY_DEVICE_DEFAULT. */
spry_status number_of_device(const spry_context *context, int *device, const char *name, spry_error *err);

/* Returns the bytes of an offset or index, 4 or 8. */
static inline int index_type_bytes(spry_index_type type)
{
    return type == SPRY_I64 ? 8 : 4;
}

/* Returns element k of offsets or indices. */
static inline int64_t index_at(const void *array, spry_index_type type, int64_t k)
{
    return type == SPRY_I64 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

/* Bytes of the offsets (part 0), indices (1) or values (2) of CSR. */
int64_t csr_part_bytes(const spry_arrays *a, int part);

/* Aligned, in large pages where the system has them, as the library's own arrays. NULL: out of memory; free() it. */
void *allocate_pages(size_t bytes);

/* Distinct numbers of both signs, a quarter to one in size, so that no wrong index goes unseen; any threads. */
void fill_random(void *data, int64_t length, spry_type type, uint64_t seed, int threads);
/* The same number everywhere. */
void fill_constant(void *data, int64_t length, spry_type type, double value, int threads);
/* Column c of a vector of `columns` in rows (one behind the other, of all columns), copied together; and back. */
void gather_column(void *to, const void *rows, int64_t length, int64_t columns, int64_t c, spry_type type, int threads);
void scatter_column(void *rows, const void *from, int64_t length, int64_t columns, int64_t c, spry_type type,
                    int threads);
