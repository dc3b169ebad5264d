#include "inspection_support.h"
#include "choose/choose.h"
#include "matrix/matrix.h"

const inspected inspected_matrices[] = {
    {"grid5,x=900,y=900", 0.05},                            /* balls have about 30 levels */
    {"grid7,x=60,y=60,z=60", 0.06},                         /* most rows have the same length */
    {"grid7,x=72,y=72,z=72,order=natural,shuffle=7", 0.05}, /* rows of a ball are scattered */
    {"fem3,x=14,y=14,z=14,dof=6", 0.25},    /* more rows with equal columns than the first fetch reads */
    {"rmat,scale=15,edges=20", 0.12},       /* long rows, and balls that are full after one level */
    {"uniform,rows=60000,degree=14", 0.13}, /* rows have columns that are far from each other */
    {"arrow,rows=200000,width=2", 0.5},     /* one row has all columns, so balls are full after one level */
    {"circuit,rows=120000", 0.06},
    {"grid5,x=120000,y=2,order=natural", 1.2}, /* a chain: the inspection finally fetches all columns */
};
const int inspected_count = sizeof inspected_matrices / sizeof *inspected_matrices;

both_places in_both_places(spry_context *context, const char *spec)
{
    both_places both = {.on_host = generate_matrix(context, spec)};
    both.on_device = matrix_on_device(context, both.on_host, &both.arrays);
    return both;
}

void free_both_places(spry_context *context, both_places *both)
{
    spry_matrix_destroy(both->on_device);
    free_on_device(context, &both->arrays);
    spry_matrix_destroy(both->on_host);
}

spry_status rank_for_h100(spryi_ranking *r, const spry_matrix *A, spryi_effort effort, spry_type type, spry_error *err)
{
    const spryi_rank_request request = {.A = A,
                                        .op = SPRY_NO_TRANSPOSE,
                                        .vector_type = type,
                                        .device = spryi_class_named(A->context, "h100"),
                                        .threads = 1,
                                        .calls = 1000,
                                        .effort = effort};
    return spryi_rank(r, &request, err);
}

void check_same_inspection(const char *spec, const both_places *both, spryi_effort effort, spry_type type)
{
    spryi_ranking on_host, on_device;
    spry_error err = SPRY_ERROR_INIT;
    if (rank_for_h100(&on_host, both->on_host, effort, type, &err) != SPRY_OK) fail_msg("%s: %s", spec, err.message);
    if (rank_for_h100(&on_device, both->on_device, effort, type, &err) != SPRY_OK)
        fail_msg("%s: %s", spec, err.message);
    assert_int_equal(on_host.count, on_device.count);
    assert_int_equal(on_host.taken, on_device.taken);
    for (int k = 0; k < on_host.count; k++) {
        const spryi_estimate *a = &on_host.list[k], *b = &on_device.list[k];
        if (strcmp(a->format, b->format) != 0 || a->us != b->us || a->setup_us != b->setup_us || a->bytes != b->bytes)
            fail_msg("%s: %s takes %g us, %s of device arrays %g", spec, a->format, a->us, b->format, b->us);
    }
}
