#include "choose/rates.h"

#include <string.h>

/* rates_gpu.c, rates_intel.c, rates_amd.c: each table was fitted to times of one machine, which it names. */
static const spryi_device_class *const classes[] = {&spryi_class_h200, &spryi_class_h100,       &spryi_class_avx512,
                                                    &spryi_class_avx2, &spryi_class_avx512_amd, &spryi_class_avx2_amd};

const spryi_device_class *spryi_device_class_at(int n)
{
    return n >= 0 && n < (int)(sizeof classes / sizeof *classes) ? classes[n] : NULL;
}

const spryi_device_class *spryi_device_class_named(const char *name)
{
    for (int n = 0; spryi_device_class_at(n); n++)
        if (strcmp(classes[n]->name, name) == 0) return classes[n];
    return NULL;
}
