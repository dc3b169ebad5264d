/* What an explanation holds. */
#pragma once

#include "choose/choose.h"
#include "plan/plan.h"
#include "spry/tune.h"

enum { SPRYI_MOST_CANDIDATES = 40 };

struct spry_explanation {
    spry_context *context;
    spryi_own_class own; /* a copy: the context may get another table meanwhile */
    spryi_ranking ranking;
    spryi_choice choice;
    spryi_trial trial; /* of the policy "measure" */
    spry_op op;
    double csr_bytes; /* of plain CSR, and of all columns of x and y */
    int candidates;
    const char *formats[SPRYI_MOST_CANDIDATES];    /* those of the ranking in its order, then the others */
    spryi_storage storages[SPRYI_MOST_CANDIDATES]; /* format NULL: not predicted */
};
