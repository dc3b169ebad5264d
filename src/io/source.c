#include "io/source.h"

#include "core/error.h"
#include "spry/io.h"

#include <stdio.h>
#include <string.h>

spry_status spry_matrix_get_source(const spry_matrix *A, spry_source_info *info, spry_error *err)
{
    if (!A || !info) return spryi_fail_missing(err, !A ? "A" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spryi_source *s = &A->source;
    spry_source_info told = {.rows = -1, .cols = -1, .entries = -1, .index_base = A->index_base};
    if (s->kind) {
        snprintf(told.kind, sizeof told.kind, "%s", s->kind);
        snprintf(told.layout, sizeof told.layout, "%s", s->layout);
        snprintf(told.field, sizeof told.field, "%s", s->field ? s->field : "");
        snprintf(told.symmetry, sizeof told.symmetry, "%s", s->symmetry ? s->symmetry : "");
        snprintf(told.packing, sizeof told.packing, "%s", s->packing ? s->packing : "");
        told.gzip = strcmp(told.packing, "gzip") == 0;
        told.rows = s->rows;
        told.cols = s->cols;
        told.entries = s->entries;
        told.by_row = s->by_row;
        told.by_column = s->by_column;
        told.duplicates = s->duplicates;
    }
    SPRYI_GIVE(info, &told);
    return SPRY_OK;
}
