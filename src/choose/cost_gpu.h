/* What a product takes on a GPU in each format, by the features of a matrix and a table of rates. */
#ifndef SPRYI_COST_GPU_H
#define SPRYI_COST_GPU_H

#include "choose/features.h"

enum { SPRYI_GPU_FORMATS = 6 };

typedef struct spryi_estimate {
    const char *format;
    double us;       /* of a product */
    double setup_us; /* of the conversion on the device, without the upload */
} spryi_estimate;

/* Estimates of the formats that can be taken, in no order; how many there are, csr always. */
int spryi_estimate_on_gpu(spryi_estimate *list, const spryi_features *features);

#endif
