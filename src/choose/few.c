/*
 * Kernels of csr differ by what they prepare (on a GPU from 10 us to some hundreds) and by how they bear long rows.
 * Rows at equal distances tell how long rows are, and one of the longest; where the offsets lie on a device, all
 * rows do. What columns would tell is set to what most matrices have.
 */
#include "choose/few.h"

#include "core/error.h"
#include "core/row_lengths.h"
#include "formats/csr/csr.h"

#include <math.h>
#include <string.h>

/* Of CSR in host memory, by rows at equal distances with some behind them, and by one of the longest. */
static spryi_row_look sample_rows(const spry_arrays *csr)
{
    enum { PLACES = 64, ROWS = 7 /* whose offsets share a line of the cache */ };
    const int64_t places = csr->rows < PLACES ? csr->rows : PLACES;
    spryi_row_look look = {.longest = (double)spryi_row_length(csr, spryi_long_row(csr, PLACES))};
    double seen = 0;
    for (int64_t n = 0; n < places; n++) {
        const int64_t first = spryi_range_of_rows(csr->rows, n, places);
        const int64_t end = first + ROWS < csr->rows ? first + ROWS : csr->rows;
        for (int64_t i = first; i < end; i++) {
            const double length = (double)spryi_row_length(csr, i);
            look.longest = fmax(look.longest, length);
            look.squares += length * length;
        }
        seen += (double)(end - first);
    }
    look.squares *= (double)csr->rows / seen;
    return look;
}

/* Of all rows where the arrays lie on a device, which takes one pass over the offsets, if none was made before. */
static spry_status find_rows(spryi_row_profile *rows, const spry_matrix *A)
{
    const spry_arrays *a = &A->a;
    const double mean = rows->mean;
    spryi_row_look look;
    if (a->device == 0)
        look = sample_rows(a);
    else
        SPRYI_OK_OR_RETURN(spryi_matrix_look(&look, A, 0, NULL));
    rows->longest = look.longest;
    rows->deviation = sqrt(fmax(look.squares / ((double)a->rows * mean * mean) - 1, 0));
    rows->body_deviation = rows->deviation * fmin(mean, 1); /* rows that are empty keep nobody waiting */
    return SPRY_OK;
}

spryi_features spryi_unseen_features(const spry_arrays *csr, spry_type vector_type)
{
    static const double WARP = 0.4, SLOTS = 0.6, NEAR = 0.2; /* an entry, as meshes have them in the mean */
    const double mean = (double)csr->nnz / (double)csr->rows;
    spryi_features f = spryi_sizes_as_features(csr, vector_type);
    f.lengths = (spryi_row_profile){.mean = mean, .longest = mean};
    f.slots = 1;
    f.slot_sectors = SLOTS;
    f.warp_sectors = WARP;
    f.near_sectors = NEAR;
    return f;
}

/* us of set-up and so many products. The first of csr's kernels looks at all entries, but not for one or two. */
static double cost_of(const spryi_format_rates *rates, const spryi_device_class *device, const spryi_features *f,
                      int64_t calls)
{
    const spryi_work w = spryi_work_of(rates, device, f, 1);
    const int unlooked = rates == &device->rates[0] && calls < SPRYI_CSR_CALLS_FOR_RUNS;
    const double setup = unlooked ? rates->setup : spryi_setup_of(rates, f, 1);
    return setup + (double)calls * spryi_time_of(rates, &w, device, 1);
}

/* The least of csr's kernels; NULL: all would wait for long rows. */
static const spryi_format_rates *least_of(const spryi_device_class *device, const spryi_features *f, int64_t calls,
                                          double *us)
{
    const spryi_format_rates *best = NULL;
    *us = INFINITY;
    for (int r = 0; r < device->formats; r++) {
        const spryi_format_rates *rates = &device->rates[r];
        if (strcmp(rates->format, "csr") != 0 || !rates->kernel) continue;
        if (spryi_waits_for_rows(rates, &f->lengths)) continue;
        const double cost = cost_of(rates, device, f, calls);
        if (cost < *us) best = rates;
        if (cost < *us) *us = cost;
    }
    return best;
}

const char *spryi_kernel_for_few(const spry_matrix *A, spry_type vector_type, const spryi_device_class *device,
                                 int64_t calls)
{
    static const double SUMS = 10; /* us that sums of rows take on a device */
    double us;
    if (A->a.layout != SPRY_CSR || !device->rates[0].kernel) return NULL;
    if (spryi_is_mixed(A->a.value_type, vector_type)) return NULL; /* one kernel has them */
    spryi_features f = spryi_unseen_features(&A->a, vector_type);
    if (A->a.device > 0) { /* is there anything to gain, were the rows alike? */
        (void)least_of(device, &f, calls, &us);
        if (cost_of(&device->rates[0], device, &f, calls) - us < SUMS) return NULL;
    }
    if (find_rows(&f.lengths, A) != SPRY_OK) return NULL;
    const spryi_format_rates *best = least_of(device, &f, calls, &us);
    return best ? best->kernel : NULL;
}
