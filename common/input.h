/* Inputs of products: matrices, random vectors, and their memory. */
#pragma once

#include "common/wall_clock.h"
#include "spry/io.h"
#include "spry/spry.h"

#include <stdbool.h>

/* Writes a matrix's name: "G3_circuit" for "dir/G3_circuit.mtx.gz", "grid7" for "gen:grid7", "stdin" for "-". */
void matrix_name(char *name, size_t size, const char *path);

/* A matrix: its name, which the caller owns, and the path from which it is read. */
typedef struct named_matrix {
    char *name;
    size_t size; /* size of the array `name` */
    const char *path;
} named_matrix;

/*
 * Makes the names of matrix_name distinct. Files with equal names get their folders as prefix ("Newman/football").
 * Files in one folder with equal names keep their endings. Returns false if memory is short.
 */
bool make_names_distinct(named_matrix *matrices, int count);

/* Returns the length of a file's name without .gz, .bz2, .xz or .zst. */
size_t unpacked_length(const char *name);

/* Returns true if the name is that of an edge list (docs/files.md), compressed or not. */
bool is_edge_list_name(const char *path);

/* Writes $XDG_CACHE_HOME/spry, else ~/.cache/spry. Returns false if neither is known or the path does not fit. */
bool cache_folder(char *folder, size_t size);

/* Sets the base of the matrices that open_matrix opens from now on; -1: the base that each file states. */
void set_index_base(int base);
/* Returns the base, 0 or 1, that rows and columns of A are counted from in messages and output. */
int index_base_of(const spry_matrix *A);
/*
 * Reads a file or standard input ("-"), or generates a matrix ("gen:NAME,key=value,..."). The options index_base and
 * undirected apply only to edge lists. err must not be NULL.
 */
spry_status open_matrix(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                        spry_error *err);
/* Calls open_matrix, and converts the matrix to CSR if it has another layout. */
spry_status read_csr(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                     spry_error *err);

/* Return fields of spry_context_info. */
int pool_threads(const spry_context *context);
int64_t available_memory_bytes(const spry_context *context);

/* Finds the device with this name; NULL: SPRY_DEVICE_DEFAULT. */
spry_status find_device(const spry_context *context, int *device, const char *name, spry_error *err);

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

/* Returns the bytes of the offsets (part 0), indices (1) or values (2) of CSR. */
int64_t csr_part_bytes(const spry_arrays *a, int part);

/*
 * Allocates aligned memory, in huge pages if the system has them. Returns NULL if memory is short. Release by free().
 */
void *allocate_pages(size_t bytes);

/*
 * Fills a vector with random elements of both signs and magnitudes of 0.25 to 1. Equal elements are rare, so a wrong
 * index changes the result. Any number of threads gives the same elements.
 */
void fill_random(void *data, int64_t length, spry_type type, uint64_t seed, int threads);
/* Sets all elements to value. */
void fill_constant(void *data, int64_t length, spry_type type, double value, int threads);
/* Copies column c of a row-major block with `columns` columns to contiguous memory; scatter_column copies it back. */
void gather_column(void *to, const void *rows, int64_t length, int64_t columns, int64_t c, spry_type type, int threads);
void scatter_column(void *rows, const void *from, int64_t length, int64_t columns, int64_t c, spry_type type,
                    int threads);
