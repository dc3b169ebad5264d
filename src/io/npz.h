/* Matrices as scipy.sparse.save_npz writes them: a zip archive of NumPy arrays. */
#pragma once

#include "io/text.h"
#include "spry/io.h"

/* 1: the first bytes of a file are those of a zip archive. */
int spryi_npz_is(const char *head, int64_t bytes);

/* options->value_type is one that is kept. */
spry_status spryi_npz_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err);
