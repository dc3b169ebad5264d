#include "choose/blocks.h"

static double csr_entry_bytes(const spry_arrays *csr)
{
    return (double)spry_type_bytes(csr->value_type) + (double)spry_index_type_bytes(csr->index_type) +
           (double)spry_index_type_bytes(csr->offset_type) * (double)csr->rows / (double)csr->nnz;
}

spry_status spryi_find_blocks(spryi_column_reader *reader, spry_context *context, spryi_bsr_guess *guess,
                              double adjacent, int64_t longest, spryi_effort effort, spry_error *err)
{
    static const double ADJACENT = 0.4; /* blocks of 2 have 0.5 and, with one place in eight empty, 0.43 */
    *guess = (spryi_bsr_guess){.block = 1, .bytes = csr_entry_bytes(reader->csr) * (double)reader->csr->nnz};
    return adjacent < ADJACENT ? SPRY_OK : spryi_bsr_guess_of(context, guess, reader, longest, effort, err);
}
