/*
 * Generated matrices. A generator has a name, defaults of its keys, and a kind. A kind provides the entries, row by row
 * or as a list. io/generate.c reads a specification and builds the matrix; kinds.c has the kinds.
 *
 * A specification gives the same bits on every machine. Random numbers come from base/random.h. Floating point is
 * restricted to + - * / and sqrt, which IEEE 754 defines. These files are compiled without fused multiply-add
 * (-ffp-contract=off).
 */
#pragma once

#include "base/random.h"
#include "matrix/assemble.h"
#include "spry/io.h"
#include "spry/spry.h"

#include <stdbool.h>

typedef enum spryi_key {
    SPRYI_KEY_X,
    SPRYI_KEY_Y,
    SPRYI_KEY_Z,
    SPRYI_KEY_DOF,
    SPRYI_KEY_SIDE,
    SPRYI_KEY_SCALE,
    SPRYI_KEY_EDGES,
    SPRYI_KEY_DEGREE,
    SPRYI_KEY_ROWS,
    SPRYI_KEY_COLS,
    SPRYI_KEY_HALF,
    SPRYI_KEY_WIDTH,
    SPRYI_KEY_SYMBOLS,
    SPRYI_KEY_LENGTH,
    SPRYI_KEY_SEED,
    SPRYI_KEY_SHUFFLE,
    SPRYI_KEY_ENTRIES,
    SPRYI_KEY_LONGEST,
    SPRYI_KEY_SYMMETRY,
    SPRYI_KEY_DIAGONAL,
    SPRYI_KEY_DISTINCT, /* number of distinct random values; 0: no limit */
    SPRYI_KEY_BITS,     /* significant bits of random values */
    SPRYI_KEY_ORDER,    /* the next two are words */
    SPRYI_KEY_KIND,
    SPRYI_KEY_AX, /* the next keys are real numbers */
    SPRYI_KEY_AY,
    SPRYI_KEY_AZ,
    SPRYI_KEY_DENSITY,
    SPRYI_KEYS
} spryi_key;

struct spryi_kind;

typedef struct spryi_generator {
    spry_generator_info info; /* info.parameters also defines the defaults */
    const struct spryi_kind *kind;
} spryi_generator;

/* A specification that is being generated. */
typedef struct spryi_generation {
    spry_context *context;
    const spryi_generator *generator;
    int64_t n[SPRYI_KEYS]; /* integers by key; SPRYI_KEY_ORDER: 1 by degree; KIND: index of the kind's word */
    double real[SPRYI_KEYS];
    int64_t rows, cols;
    double entries; /* lower estimate of the number of entries */
    void *work[4];  /* memory of the kind, from spryi_allocate; released after the build */
    int64_t count[2];
} spryi_generation;

/* Receives the entries of a row, or counts them if indices is NULL. */
typedef struct spryi_sink {
    void *indices, *values;
    spry_index_type index_type;
    spry_type value_type;
    int64_t at;
} spryi_sink;

static inline void spryi_put(spryi_sink *sink, int64_t column, double value)
{
    if (sink->indices) spryi_set_index(sink->indices, sink->index_type, sink->at, column);
    if (sink->values) spryi_set_value(sink->values, sink->value_type, sink->at, value);
    sink->at++;
}

typedef enum spryi_mirror {
    SPRYI_MIRROR_NONE = 0,
    SPRYI_MIRROR_PATTERN = 1, /* entry (i,j) is stored if entry (j,i) is stored */
    SPRYI_MIRROR_VALUES = 2   /* and both have the same value */
} spryi_mirror;

typedef struct spryi_kind {
    /* Sets rows, cols and entries. Fails if they are not the sizes of a matrix. */
    spry_status (*shape)(spryi_generation *g, spry_error *err);
    /* Allocates work if needed. May be NULL. */
    spry_status (*prepare)(spryi_generation *g, spry_error *err);
    /*
     * A kind has one of two functions. row gives the entries of one row. list gives all entries, of at most INT32_MAX
     * rows, as arrays in work[0] and work[1].
     */
    void (*row)(const spryi_generation *g, int64_t i, spryi_sink *sink);
    spry_status (*list)(spryi_generation *g, int64_t *nnz, spry_error *err);
    bool loose;          /* rows may be unsorted and have duplicates */
    bool own_values;     /* row gives values; otherwise values are random, drawn in the order of the entries */
    bool weights;        /* random values are link weights in (0, 1]; otherwise in [-0.5, 0.5) */
    uint64_t value_seed; /* seed of random values; 0: the value of the key `seed` */
    spryi_mirror mirror;
    const char *const *words; /* words of the key `kind`, then NULL; NULL: no such key */
} spryi_kind;

extern const spryi_kind spryi_kind_grid_star, spryi_kind_grid_full, spryi_kind_laplace;
extern const spryi_kind spryi_kind_road, spryi_kind_rgg, spryi_kind_rmat, spryi_kind_uniform, spryi_kind_circuit;
extern const spryi_kind spryi_kind_debruijn, spryi_kind_diagonal, spryi_kind_banded, spryi_kind_arrow;
extern const spryi_kind spryi_kind_dense, spryi_kind_random, spryi_kind_empty;
