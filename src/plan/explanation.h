/* The contents of an explanation. */
#pragma once

#include "choose/choose.h"
#include "plan/plan.h"
#include "spry/tune.h"

enum { SPRYI_MOST_CANDIDATES = 40 };

struct spry_explanation {
    spry_context *context;
    spryi_own_class own; /* a copy of the class, since the context's table may be replaced */
    spryi_ranking ranking;
    spryi_choice choice;
    spryi_trial trial; /* result of the policy "measure" */
    spry_op op;
    double csr_bytes; /* bytes of the matrix in plain CSR plus bytes of all columns of x and y */
    int candidates;
    const char *formats[SPRYI_MOST_CANDIDATES];    /* formats of the ranking in its order, then the remaining formats */
    spryi_storage storages[SPRYI_MOST_CANDIDATES]; /* format NULL: not predicted */
};
