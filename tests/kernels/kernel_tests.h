/* Tests for every kernel. tested_op selects the product, plain or transposed. */
#pragma once

#include "testing.h"

/* Set by main. The default is plain products on the CPU. */
extern spry_op tested_op;
extern const char *tested_device;
extern int tested_briefly; /* 1: a sample of the trials; the default under sanitizers, where trials are slow */

void every_kernel_on_every_family(void **state);
void large_y(void **state);
void same_bits_for_any_number_of_threads(void **state);
void unused_x_does_not_matter(void **state);
void alpha_that_is_not_finite(void **state);
void multiple_columns(void **state);
void columns_row_by_row(void **state);
void values_of_another_type(void **state);
void every_simd_level(void **state);
