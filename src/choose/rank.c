#include "choose/rank.h"

#include "choose/structure.h"
#include "core/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int spryi_looking_pays(const spry_arrays *a, spry_op op, const spryi_device_class *c, int64_t calls)
{
    static const double SHARE = 0.03, LOOK = 300, LOOK_ENTRY = 0.003; /* us, us an entry of those looked at, */
    static const double FETCH = 2000;                                 /* bytes a us from a device */
    enum { LOOKED_AT = 1 << 20 };                                     /* which are at most so many */
    const int on_gpu = strcmp(c->driver, "cpu") != 0;
    const double entry = (double)spry_type_bytes(a->value_type) + (double)spry_index_type_bytes(a->index_type);
    const double rate = c->rates[0].cached * (on_gpu ? 1 : SPRYI_COMPARED_THREADS);
    const double us = (on_gpu ? c->rates[0].launch : 0) + entry * (double)a->nnz / rate;
    const int fetched = on_gpu && (a->device > 0 || op == SPRY_TRANSPOSE);
    const double structure = (double)a->nnz * (double)spry_index_type_bytes(a->index_type);
    const double look = LOOK + LOOK_ENTRY * fmin((double)a->nnz, LOOKED_AT) + (fetched ? structure / FETCH : 0);
    return SHARE * (double)calls * us >= look;
}

static int by_time(const void *a, const void *b)
{
    const spryi_estimate *one = a, *other = b;
    if (!one->refused != !other->refused) return one->refused ? 1 : -1;
    return one->us < other->us ? -1 : one->us > other->us;
}

static void find_least(spryi_ranking *r)
{
    double least = INFINITY;
    for (int k = 0; k < r->allowed; k++) {
        const double total = r->list[k].setup_us + (double)r->calls * r->list[k].us;
        if (strcmp(r->list[k].format, "csr") == 0) r->csr = k;
        if (total < least) r->taken = k;
        if (total < least) least = total;
    }
}

spry_status spryi_rank(spryi_ranking *r, const spry_matrix *A, spry_op op, spry_type vector_type,
                       const spryi_device_class *device, int threads, int64_t calls, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *structure = NULL;
    spryi_row_profile rows;
    *r = (spryi_ranking){.device = device, .threads = threads, .calls = calls};
    SPRYI_TRY(spryi_structure_of(&structure, A, op, err));
    SPRYI_TRY(spryi_find_row_profile(&rows, structure, err));
    spry_arrays csr = structure->a;
    csr.value_type = A->a.value_type;
    SPRYI_TRY(spryi_find_features(A->context, &r->features, &csr, vector_type, &rows, err));
    r->count = spryi_estimate_all(r->list, device, &r->features, threads);
    qsort(r->list, (size_t)r->count, sizeof *r->list, by_time);
    while (r->allowed < r->count && !r->list[r->allowed].refused) r->allowed++;
    find_least(r);
done:
    spryi_matrix_release(structure);
    return status;
}
