/* One array of NumPy's within a .npz: its head (NumPy Enhancement Proposal 1), and its elements as they are needed. */
#ifndef SPRYI_NPY_H
#define SPRYI_NPY_H

#include "io/zip.h"

enum { SPRYI_NPY_DIMENSIONS = 3 };

typedef struct spryi_npy {
    const char *name; /* of the member */
    char kind;        /* NumPy's letter: f, i, u, b, c, S, U */
    int item_bytes;
    int swapped; /* elements have the other byte order than this machine */
    int fortran; /* the first dimension runs fastest */
    int dimensions;
    int64_t shape[SPRYI_NPY_DIMENSIONS]; /* 1 where there is no such dimension */
    int64_t count;                       /* of elements */
} spryi_npy;

/* *there 0: the archive has no such member, and *npy means nothing. Otherwise one of the next three has to follow. */
spry_status spryi_npy_open(spryi_zip *zip, const char *name, spryi_npy *npy, int *there, spry_error *err);

/* Text of one element, at most size - 1 characters. */
spry_status spryi_npy_read_text(spryi_zip *zip, const spryi_npy *npy, char *to, size_t size, spry_error *err);

/* Whole numbers, the first `checked` of which have to be least .. most, in an array of the type. */
spry_status spryi_npy_read_integers(spryi_zip *zip, const spryi_npy *npy, void *to, spry_index_type type,
                                    int64_t checked, int64_t least, int64_t most, spry_error *err);

/* Values, rounded to f32 or f64; to SPRY_PATTERN: none are kept. SPRY_UNSUPPORTED where they are complex, say. */
spry_status spryi_npy_read_values(spryi_zip *zip, const spryi_npy *npy, void *to, spry_type type, spry_error *err);

/* "float64", "int32", as NumPy calls the type: at most 23 characters. */
void spryi_npy_type_name(const spryi_npy *npy, char *to, size_t size);

#endif
