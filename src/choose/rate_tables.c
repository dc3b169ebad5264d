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
    /* clang-format off */
    /* table, name, title, fitted, driver, cache_bytes, most_memory, copy, faster_memory; then rates and their number */
    {"hopper", {"h200", "NVIDIA H200", "to an NVIDIA H100, 2026-11-25, with the H200's memory",
                "cuda", 62.9e6, 1e9, 4.13e6, 1.41, NULL, 0}},
    {"hopper", {"h100", "NVIDIA H100", "to an NVIDIA H100, 2026-11-25", "cuda", 52.4e6, 1e9, 2.92e6, 0, NULL, 0}},
    {"avx512", {"avx512", "Intel processors with AVX-512",
                "to two threads of an Intel Xeon (Sapphire Rapids), 2026-11-25", "cpu", 2.4e7, 2.4e5, 0, 0, NULL, 0}},
    {"avx2", {"avx2", "Intel processors with AVX2 or less",
              "to one thread of an Intel Xeon without AVX-512, 2026-11-27", "cpu", 2.4e7, 2.4e5, 0, 0, NULL, 0}},
    {"avx512_amd", {"avx512-amd", "AMD processors with AVX-512",
                    "to two threads of an AMD EPYC (Zen 4), 2026-11-25", "cpu", 1.6e7, 1e5, 0, 0, NULL, 0}},
    {"avx2_amd", {"avx2-amd", "AMD processors with AVX2 or less",
                  "to one thread of an AMD EPYC with AVX2, 2026-11-27", "cpu", 1.6e7, 1e5, 0, 0, NULL, 0}},
    /* clang-format on */
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
                if (strcmp(row->table, classes[n].table) == 0 && c->formats < SPRYI_MOST_RATES) {
                    tables[n][c->formats] = row->rates;
                    tables[n][c->formats++].format = spryi_estimated_at(f)->name;
                }
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
