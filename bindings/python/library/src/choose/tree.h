/* The policy "tree": the plain decision tree of Sparse Methods. */
#ifndef SPRYI_CHOOSE_TREE_H
#define SPRYI_CHOOSE_TREE_H

#include "choose/choose.h"

/* NULL: the default policy. */
int spryi_is_tree(const char *policy);

/* options->policy is one of the tree's. */
spry_status spryi_follow_tree(spryi_choice *choice, const spry_matrix *A, const spry_spmv_options *options,
                              spry_error *err);

#endif
