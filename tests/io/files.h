/* Helpers of the reader's and writer's tests: a temporary folder, contexts, reading from memory and from a file. */
#pragma once

#include "testing.h"

/* A folder of this process, removed with all in it at exit. */
const char *temporary_folder(void);

/* PATH of `name` in it: constant until the next call but three. */
const char *temporary_path(const char *name);

/* Writes a file there and returns its path. */
const char *temporary_file(const char *name, const void *text, size_t bytes);

/* How many files the folder holds. */
int count_files(void);

/* gzip of text in one member; *bytes is its length. To be freed. */
unsigned char *gzip_of(const void *text, size_t length, size_t *bytes);

/* Reads the whole file; a NUL is put behind. To be freed. */
char *content_of(const char *path, size_t *bytes);

/* Dense copy of a matrix of f64 values with 32/32 indices, by rows. To be freed. */
double *dense_of(const spry_matrix *A);

/* Fails the test unless both hold the same arrays, bit by bit. */
void assert_same_matrix(const spry_matrix *A, const spry_matrix *B);
