/*
 * The library's tables of rates, one for each class of devices. Each table was fitted by `spry tune` to times of one
 * machine, which `fitted` names. The rows of a table are in the families (<family>_work.c).
 */
#include "catalogue/catalogue.h"
#include "core/estimate.h"

#include <pthread.h>
#include <string.h>

/* A class, and the name of its table in spryi_rates_row. Both Hopper GPUs have one processor and one table. */
static struct {
    const char *table;
    spryi_device_class c;
} classes[] = {
    {"hopper",
     {.name = "h200",
      .title = "NVIDIA H200",
      .fitted = "to an NVIDIA H100, 2026-11-25, with the H200's memory",
      .driver = "cuda",
      .cache_bytes = 62.9e6,
      .most_memory = 1e9,
      .copy = 4.13e6,
      .faster_memory = 1.41}},
    {"hopper",
     {.name = "h100",
      .title = "NVIDIA H100",
      .fitted = "to an NVIDIA H100, 2026-11-25",
      .driver = "cuda",
      .cache_bytes = 52.4e6,
      .most_memory = 1e9,
      .copy = 2.92e6}},
    {"avx512",
     {.name = "avx512",
      .title = "Intel processors with AVX-512",
      .fitted = "to two threads of an Intel Xeon (Sapphire Rapids), 2026-11-25",
      .driver = "cpu",
      .cache_bytes = 2.4e7,
      .most_memory = 2.4e5}},
    {"avx2",
     {.name = "avx2",
      .title = "Intel processors with AVX2 or less",
      .fitted = "to one thread of an Intel Xeon without AVX-512, 2026-11-27",
      .driver = "cpu",
      .cache_bytes = 2.4e7,
      .most_memory = 2.4e5}},
    {"avx512_amd",
     {.name = "avx512-amd",
      .title = "AMD processors with AVX-512",
      .fitted = "to two threads of an AMD EPYC (Zen 4), 2026-11-25",
      .driver = "cpu",
      .cache_bytes = 1.6e7,
      .most_memory = 1e5}},
    {"avx2_amd",
     {.name = "avx2-amd",
      .title = "AMD processors with AVX2 or less",
      .fitted = "to one thread of an AMD EPYC with AVX2, 2026-11-27",
      .driver = "cpu",
      .cache_bytes = 1.6e7,
      .most_memory = 1e5}},
};
enum { CLASSES = sizeof classes / sizeof *classes };

static spryi_format_rates tables[CLASSES][SPRYI_MOST_RATES];
static pthread_once_t collected = PTHREAD_ONCE_INIT;

/* Collects the rows of each table from the families. */
static void collect_rates(void)
{
    for (int n = 0; n < CLASSES; n++) {
        spryi_device_class *c = &classes[n].c;
        c->rates = tables[n];
        for (int f = 0; spryi_estimated_at(f); f++)
            for (const spryi_rates_row *row = spryi_estimated_at(f)->estimator->rates; row->table; row++)
                if (strcmp(row->table, classes[n].table) == 0 && c->formats < SPRYI_MOST_RATES)
                    tables[n][c->formats++] = row->rates;
    }
}

const spryi_device_class *spryi_device_class_at(int n)
{
    (void)pthread_once(&collected, collect_rates);
    return n >= 0 && n < CLASSES ? &classes[n].c : NULL;
}

const spryi_device_class *spryi_device_class_named(const char *name)
{
    for (int n = 0; spryi_device_class_at(n); n++)
        if (strcmp(classes[n].c.name, name) == 0) return &classes[n].c;
    return NULL;
}
