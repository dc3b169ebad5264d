#include "solve/vector_ops.h"

#include "solve/solve.h"

#include <string.h>

static const spryi_vector_ops *const tables[] = {&spryi_vector_ops_cpu};

const spryi_vector_ops *spryi_vector_ops_of(const char *device)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        if (strcmp(tables[t]->device, device) == 0) return tables[t];
    return NULL;
}

spry_status spryi_vector_work_init(spry_context *context, spryi_vector_work *w, const char *device, int64_t n,
                                   spry_type type, spry_error *err)
{
    *w = (spryi_vector_work){.ops = spryi_vector_ops_of(device), .context = context, .type = type, .n = n};
    if (!w->ops)
        return spryi_solve_fail(err, SPRY_UNSUPPORTED, "device", 0, 0, "no vector work for device %s yet", device);
    w->blocks = (n + SPRYI_BLOCK - 1) / SPRYI_BLOCK;
    w->threads = spry_context_threads(context);
    if (w->threads > w->blocks / 4) w->threads = w->blocks < 8 ? 1 : (int)(w->blocks / 4);
    return spry_vector_create(context, &w->partials, w->blocks * SPRYI_MOST_SUMS, SPRY_F64, 0, err);
}

void spryi_vector_work_clear(spryi_vector_work *w)
{
    spry_vector_destroy(w->context, &w->partials);
}
