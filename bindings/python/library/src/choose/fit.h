/* Fits a table of rates to times that were measured. */
#ifndef SPRYI_CHOOSE_FIT_H
#define SPRYI_CHOOSE_FIT_H

#include "choose/cost.h"

/* A matrix with x of a type: what was measured of the rows of a table; 0: nothing. */
typedef struct spryi_fit_case {
    const spryi_features *features;
    int threads;                       /* of the products; of a GPU 1 */
    double us[SPRYI_MOST_RATES];       /* of a product */
    double setup_us[SPRYI_MOST_RATES]; /* of the conversion */
} spryi_fit_case;

/* What the table does on the cases, before and after. */
typedef struct spryi_fit_result {
    double error, error_before; /* median of |log(predicted / measured)|, on a CPU both as shares of csr's */
    double loss, loss_before;   /* time of the row of the least prediction over the least time, geometric mean, */
    double worst, worst_before; /* and the largest */
} spryi_fit_result;

/*
 * Changes the rates of `own` so that predictions are near the times, above all where they decide what is taken: the sum
 * of the logarithms' errors and of what the choice loses is minimised, a rate at a time, in steps that become smaller.
 * A rate whose work no case has stays as it is. count >= 1.
 */
spry_status spryi_fit(spry_context *context, spryi_own_class *own, const spryi_fit_case *cases, int64_t count,
                      spryi_fit_result *result, spry_error *err);

#endif
