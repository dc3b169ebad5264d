/*
 * Generated matrices. A generator is a name, the defaults of its keys, and a kind. A kind says row by row, or as a
 * list of entries, what is stored. io/generate.c reads a specification and builds the matrix; kinds.c has the kinds.
 *
 * The same specification gives the same bits on every machine. Random numbers come from base/random.h. Floating point
 * is restricted to + - * / and sqrt, which IEEE 754 fixes. These files are compiled without fused multiply-add
 * (-ffp-contract=off).
 */
#pragma once

#include "base/random.h"
#include "matrix/assemble.h"
#include "spry/io.h"
#include "spry/spry.h"

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
    SPRYI_KEY_ORDER, /* these two are words */
    SPRYI_KEY_KIND,
    SPRYI_KEY_AX, /* from here on real numbers */
    SPRYI_KEY_AY,
    SPRYI_KEY_AZ,
    SPRYI_KEY_DENSITY,
    SPRYI_KEYS
} spryi_key;

struct spryi_kind;

typedef struct spryi_generator {
    spry_generator_info info; /* info.parameters is also where the defaults are read from */
    const struct spryi_kind *kind;
} spryi_generator;

/* One specification being carried out. */
typedef struct spryi_generation {
    spry_context *context;
    const spryi_generator *generator;
    int64_t n[SPRYI_KEYS]; /* whole numbers by key; SPRYI_KEY_ORDER: 1 by degree; KIND: number of the kind's word */
    double real[SPRYI_KEYS];
    int64_t rows, cols;
    double entries; /* about how many there will be; never more */
    void *work[4];  /* of the kind, by spryi_allocate; released after building */
    int64_t count[2];
} spryi_generation;

/* Takes the entries of a row, or counts them when indices is NULL. */
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
    SPRYI_MIRROR_PATTERN = 1, /* (i,j) is stored when (j,i) is */
    SPRYI_MIRROR_VALUES = 2   /* with the same value */
} spryi_mirror;

typedef struct spryi_kind {
    /* Sets rows, cols and entries. Fails when they make no matrix. */
    spry_status (*shape)(spryi_generation *g, spry_error *err);
    /* May allocate work. May be NULL. */
    spry_status (*prepare)(spryi_generation *g, spry_error *err);
    /* One of the two: a row's entries; or all entries, of at most INT32_MAX rows, with arrays in work[0], work[1]. */
    void (*row)(const spryi_generation *g, int64_t i, spryi_sink *sink);
    spry_status (*list)(spryi_generation *g, int64_t *nnz, spry_error *err);
    int loose;           /* rows may be unsorted and hold a column twice */
    int own_values;      /* row gives values; otherwise they are random, drawn in the order of the entries */
    int weights;         /* random values are those of a graph's links, in (0, 1]; otherwise in [-0.5, 0.5) */
    uint64_t value_seed; /* of random values; 0: the key seed */
    spryi_mirror mirror;
    const char *const *words; /* that the key `kind` may have, then NULL; NULL: there is no such key */
} spryi_kind;

extern const spryi_kind spryi_kind_grid_star, spryi_kind_grid_full, spryi_kind_laplace;
extern const spryi_kind spryi_kind_road, spryi_kind_rgg, spryi_kind_rmat, spryi_kind_uniform, spryi_kind_circuit;
extern const spryi_kind spryi_kind_debruijn, spryi_kind_diagonal, spryi_kind_banded, spryi_kind_arrow;
extern const spryi_kind spryi_kind_dense, spryi_kind_random, spryi_kind_empty;
