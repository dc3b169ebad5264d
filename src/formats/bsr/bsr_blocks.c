/* The steps between CSR and BSR, for each type. */
#if defined(__OPTIMIZE__) && !defined(__clang__)
#pragma GCC optimize("O2") /* -O3 makes half as much code again of loops that wait for memory all the same */
#endif
#include "formats/bsr/bsr_build.h"
#include "matrix/matrix.h"

#include <string.h>

/* The first block of block row I. */
static inline int64_t block_offset(const spryi_bsr *s, int64_t I)
{
    return spryi_index_at(s->offsets, s->types.offset_type, I);
}

#define SPRYI_NO_OFFSETS
#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/bsr/bsr_blocks.tmpl.c"
#include "base/instantiate.h"

const spryi_bsr_steps *spryi_bsr_steps_of(spry_type value_type, spry_index_type offset_type, spry_index_type index_type)
{
#define STEPS(s)                                                                                                       \
    {                                                                                                                  \
        count_##s, fill_##s, lengths_##s, rows_##s, fault_##s                                                          \
    }
#define STEPS_OF_ROW(tag, s, v, c, argument) {STEPS(tag##_32_32), STEPS(tag##_32_32), STEPS(tag##_64_64)},
    static const spryi_bsr_steps steps[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = {SPRYI_PLAIN_ROWS(STEPS_OF_ROW, 0){{0}},
                                                                               SPRYI_ROW_3(STEPS_OF_ROW, 0)
                                                                                   SPRYI_ROW_4(STEPS_OF_ROW, 0)};
#undef STEPS
    return &steps[spryi_stored_row(value_type)][spryi_index_pair(offset_type, index_type)];
}
