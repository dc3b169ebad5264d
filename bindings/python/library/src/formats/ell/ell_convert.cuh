/* ELL's slots made on the device, for the formats that have such a part. */
#ifndef SPRY_ELL_CONVERT_CUH
#define SPRY_ELL_CONVERT_CUH

#include "device/cuda/convert.cuh"

extern "C" {
#include "formats/ell/ell.h"
}

/* Arrays of s, whose width is resolved: the first `width` entries of each of c->csr's rows. Does not wait. */
spry_status spry_cuda_make_slots(spryi_conversion *c, spryi_ell *s, spry_error *err);

#endif
