/* How neighbouring rows of CSR resemble each other, by a sample. */
#ifndef SPRYI_RELATIONS_H
#define SPRYI_RELATIONS_H

#include "core/kernel.h"

/* Shares of the entries of sampled rows. */
typedef struct spryi_row_relations {
    double adjacent; /* entries whose right neighbour is one too */
    double
        repeated; /* in rows whose columns are those of the row before, or all one further: csr does not read them, */
    double moved; /* the latter alone: nor are they gathered */
} spryi_row_relations;

spryi_row_relations spryi_find_relations(const spry_arrays *csr, spryi_effort effort);

#endif
