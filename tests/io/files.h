/* Helpers for tests of the reader and the writer: files in a temporary folder, compression, comparison of matrices. */
#pragma once

#include "testing.h"

/* Returns a folder of this process. At exit the folder and its files are removed. */
const char *temporary_folder(void);

/* Returns the path of `name` in the temporary folder. The fourth call after this one overwrites the string. */
const char *temporary_path(const char *name);

/* Writes a file in the temporary folder and returns its path. */
const char *temporary_file(const char *name, const void *text, size_t bytes);

/* Returns the number of files in the temporary folder. */
int count_files(void);

/* Compresses text to one gzip member. *bytes is its length. The caller frees the result. */
unsigned char *gzip_of(const void *text, size_t length, size_t *bytes);

/* Reads the whole file and appends a NUL. The caller frees the result. */
char *content_of(const char *path, size_t *bytes);

/* Returns a dense row-major copy of a matrix with f64 values and 32/32 indices. The caller frees the copy. */
double *dense_of(const spry_matrix *A);

/* Fails the test unless all arrays of both matrices are bitwise equal. */
void assert_same_matrix(const spry_matrix *A, const spry_matrix *B);
