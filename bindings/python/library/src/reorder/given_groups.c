/* spry_ordering_create_groups: CSR-k's groups of the caller, for rows that stay where they are. */
#include "core/clock.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/ordering.h"
#include "spry/tools.h"

#include <string.h>

/* One level: ptr[0 .. count] rise from 0 to `end`, of which there are as many `what`. */
static spry_status check_level(const char *name, const int64_t *ptr, int64_t count, int64_t end, const char *what,
                               spry_error *err)
{
    if (count < 0 || count > end)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, count, end,
                                "groups: %s has %lld groups, expected 0 to %lld, the number of %s", name,
                                (long long)count, (long long)end, what);
    if (!ptr) return spryi_fail(err, SPRY_INVALID_ARGUMENT, name, "groups: %s is NULL", name);
    if (ptr[0] != 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, ptr[0], 0, "groups: %s[0] is %lld, expected 0", name,
                                (long long)ptr[0]);
    for (int64_t g = 0; g < count; g++)
        if (ptr[g + 1] <= ptr[g])
            return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, ptr[g + 1], ptr[g],
                                    "groups: %s[%lld] is %lld, expected more than %lld, the one before: a group has "
                                    "one "
                                    "member or more",
                                    name, (long long)(g + 1), (long long)ptr[g + 1], (long long)ptr[g]);
    if (ptr[count] != end)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, ptr[count], end,
                                "groups: %s[%lld], the last, is %lld, expected %lld, the number of %s", name,
                                (long long)count, (long long)ptr[count], (long long)end, what);
    return SPRY_OK;
}

static spry_status check(const spry_groups *g, spry_error *err)
{
    if (g->rows < 0)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "rows", g->rows, 0, "groups: rows is %lld, expected 0 or more",
                                (long long)g->rows);
    SPRYI_OK_OR_RETURN(check_level("sr_ptr", g->sr_ptr, g->sr_count, g->rows, "rows", err));
    if (g->ssr_ptr || g->ssr_count != 0)
        SPRYI_OK_OR_RETURN(check_level("ssr_ptr", g->ssr_ptr, g->ssr_count, g->sr_count, "super-rows", err));
    if (!g->sssr_ptr && g->sssr_count == 0) return SPRY_OK;
    if (!g->ssr_ptr)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "ssr_ptr",
                          "groups: sssr_ptr groups super-super-rows, but ssr_ptr is NULL");
    return check_level("sssr_ptr", g->sssr_ptr, g->sssr_count, g->ssr_count, "super-super-rows", err);
}

static spry_status copy_level(spry_context *context, int64_t **to, const int64_t *from, int64_t count, const char *what,
                              spry_error *err)
{
    if (!from) return SPRY_OK;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, to, count + 1, what, err));
    memcpy(*to, from, (size_t)(count + 1) * sizeof *from);
    return SPRY_OK;
}

/* The mean size of groups, rounded up, 1 where there are none; 0 without such a level. */
static int64_t mean_size(const int64_t *ptr, int64_t count)
{
    if (!ptr) return 0;
    return count > 0 ? ptr[count] / count + (ptr[count] % count > 0) : 1;
}

spry_status spry_ordering_create_groups(spry_context *context, spry_ordering **ordering, const spry_groups *groups,
                                        spry_error *err)
{
    const char *missing = !context ? "context" : !ordering ? "ordering" : !groups ? "groups" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    const double start = spryi_now_us();
    spry_status status = SPRY_OK;
    spry_ordering *made = NULL;
    spry_groups g = SPRY_INIT(spry_groups);
    SPRYI_TRY(SPRYI_TAKE(&g, groups, err));
    SPRYI_TRY(check(&g, err));
    SPRYI_TRY(SPRYI_NEW(context, &made, 1, "ordering handle", err));
    *made = (spry_ordering){.context = spryi_context_retain(context),
                            .method = "groups",
                            .rows = g.rows,
                            .cols = g.rows,
                            .sr_count = g.sr_count,
                            .ssr_count = g.ssr_count,
                            .sssr_count = g.sssr_count,
                            .srs = mean_size(g.sr_ptr, g.sr_count),
                            .ssrs = mean_size(g.ssr_ptr, g.ssr_count),
                            .sssrs = mean_size(g.sssr_ptr, g.sssr_count)};
    SPRYI_TRY(SPRYI_NEW(context, &made->perm, made->rows, "permutation", err));
    for (int64_t i = 0; i < made->rows; i++) made->perm[i] = i;
    SPRYI_TRY(copy_level(context, &made->sr_ptr, g.sr_ptr, g.sr_count, "sr_ptr", err));
    SPRYI_TRY(copy_level(context, &made->ssr_ptr, g.ssr_ptr, g.ssr_count, "ssr_ptr", err));
    SPRYI_TRY(copy_level(context, &made->sssr_ptr, g.sssr_ptr, g.sssr_count, "sssr_ptr", err));
    made->setup_us = spryi_now_us() - start;
    *ordering = made;
    made = NULL;
done:
    spry_ordering_destroy(made);
    return status;
}
