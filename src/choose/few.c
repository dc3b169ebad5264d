/*
 * Kernels of csr differ by what they prepare (on a GPU from 10 us to some hundreds) and by how they bear long rows.
 * Rows are found by entries that lie at equal distances, so that a row is met as often as its share of the entries: a
 * row that keeps a kernel waiting is not missed. What columns would tell is set to what most matrices have.
 */
#include "choose/few.h"

#include "core/row_lengths.h"

#include <math.h>
#include <string.h>

/* Of mean and longest row; the deviation by entries that are met. */
static spryi_row_profile sample_rows(const spry_arrays *csr)
{
    enum { SAMPLES = 64 };
    spryi_row_profile rows = {.mean = (double)csr->nnz / (double)csr->rows};
    double sum = 0;
    for (int64_t s = 0; s < SAMPLES; s++) {
        const int64_t i = spryi_sampled_row(csr, s, SAMPLES);
        const double length = (double)spryi_row_length(csr, i);
        rows.longest = fmax(rows.longest, length);
        sum += length / SAMPLES;
    }
    /* the mean by entries is that by rows times 1 + the squared deviation */
    rows.deviation = rows.body_deviation = sqrt(fmax(sum / rows.mean - 1, 0));
    return rows;
}

const char *spryi_kernel_for_few(const spry_matrix *A, spry_type vector_type, const spryi_device_class *device,
                                 int64_t calls)
{
    static const double SECTORS = 0.4, NEAR = 0.2; /* an entry */
    const spry_arrays *a = &A->a;
    if (a->layout != SPRY_CSR || a->device != 0 || !device->rates[0].kernel) return NULL;
    const spryi_features f = {.rows = a->rows,
                              .cols = a->cols,
                              .nnz = a->nnz,
                              .value_bytes = (int)spry_type_bytes(a->value_type),
                              .index_bytes = (int)spry_index_type_bytes(a->index_type),
                              .offset_bytes = (int)spry_index_type_bytes(a->offset_type),
                              .number_bytes = (int)spry_type_bytes(vector_type),
                              .lengths = sample_rows(a),
                              .slots = 1,
                              .slot_sectors = SECTORS,
                              .warp_sectors = SECTORS,
                              .near_sectors = NEAR};
    const char *best = NULL;
    double least = INFINITY;
    for (int r = 0; r < device->formats; r++) {
        const spryi_format_rates *rates = &device->rates[r];
        if (strcmp(rates->format, "csr") != 0 || !rates->kernel) continue;
        if (spryi_waits_for_rows(rates, &f.lengths)) continue;
        const spryi_work w = spryi_work_of(rates, device, &f, 1);
        const double us = spryi_setup_of(rates, &f, 1) + (double)calls * spryi_time_of(rates, &w, device, 1);
        if (us < least) best = rates->kernel;
        if (us < least) least = us;
    }
    return best;
}
