/* How neighbouring rows of CSR resemble each other, by a sample. */
#pragma once

#include "core/columns.h"
#include "core/kernel.h"

/* Shares of the entries of sampled rows. */
typedef struct spryi_row_relations {
    double adjacent; /* entries whose right neighbour is one too */
    double
        repeated; /* in rows whose columns are those of the row before, or all one further: csr does not read them, */
    double moved; /* the latter alone: nor are they gathered */
} spryi_row_relations;

spry_status spryi_find_relations(spryi_row_relations *relations, spryi_column_reader *reader, spryi_effort effort,
                                 spry_error *err);
