/* The format windowed: its descriptor, and its arrays for containers and devices. */
#include "core/context.h"
#include "core/memory.h"
#include "formats/shared/owned_arrays.h"
#include "formats/windowed/windowed_driver.h"
#include "formats/windowed/windowed_layout.h"

static int sections(void *storage, spryi_section *list)
{
    spryi_windowed *s = storage;
    int count = 0;
    spryi_list_shape(&s->a, list, &count);
    list[count++] = (spryi_section){"windowed", NULL, &s->window, 14, sizeof s->window}; /* window to long_nnz */
    return count + spryi_windowed_arrays(s, list + count);
}

static spry_status build(spry_context *context, void **storage, const spryi_build_request *request, spry_error *err)
{
    spryi_windowed *s = NULL;
    spry_status status = SPRYI_NEW(context, &s, 1, "windowed storage", err);
    if (status != SPRY_OK) return status;
    *s = (spryi_windowed){0};
    status = spryi_windowed_build(context, s, request, err);
    if (status == SPRY_OK)
        *storage = s;
    else
        spryi_storage_destroy(context, &spryi_format_windowed, s);
    return status;
}

/* The arrays that are there: a pattern has no values. */
static int device_sections(void *storage, spryi_section *list)
{
    spryi_section all[SPRYI_WINDOWED_ARRAYS];
    int count = 0, there = spryi_windowed_arrays(storage, all);
    for (int n = 0; n < there; n++)
        if (*all[n].array) list[count++] = all[n];
    return count;
}

static const spryi_parameter parameters[] = {
    {"window", 1, SPRYI_WINDOWED_MOST_ROWS, "rows a window, rounded up to a multiple of 32"},
    {"order", 1, 2, "order of rows: natural, or by cells of the matrix's graph"},
    {0},
};
static const char *const orders[] = {"natural", "cells", NULL};

const spryi_format spryi_format_windowed = {
    .name = "windowed",
    .title = "windowed: windows of rows that stage their part of x",
    .storage = "nnz values + 12 bits an entry (16 a block) + 2 bytes a column of each window + 7 bytes a row",
    .best_for = "unstructured finite elements and volumes, blocks wherever their rows are",
    .parameters = parameters,
    .parameter_words = {NULL, orders},
    .parameter_text =
        "window=NUMBER (rows a window, default 128 to 1024); order=natural|cells (of rows, default by the "
        "columns that windows save)",
    .predict = spryi_windowed_predict,
    .build = build,
    .workspace_bytes = spryi_windowed_workspace,
    .to_csr = spryi_windowed_to_csr,
    .storage_size = sizeof(spryi_windowed),
    .device_sections = device_sections,
    .sections = sections,
    .check = spryi_windowed_check,
};
