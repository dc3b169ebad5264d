/* How neighbouring rows of CSR resemble each other, by a sample. */
#pragma once

#include "core/estimate.h"
#include "matrix/columns.h"

/* Computes the relations from a sample of rows. */
spry_status spryi_find_relations(spryi_row_relations *relations, spryi_column_reader *reader, spryi_effort effort,
                                 spry_error *err);
