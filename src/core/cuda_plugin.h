/* Names that CUDA sources use. */
#ifndef SPRYI_CUDA_PLUGIN_H
#define SPRYI_CUDA_PLUGIN_H

#include "core/device.h"

typedef spryi_prepare_request spryi_cuda_prepare;
typedef spryi_kernel_functions spryi_cuda_kernel;
typedef spryi_conversion spryi_cuda_conversion;
typedef spryi_converter spryi_cuda_converter;
typedef spryi_vector_map spryi_cuda_gather;

#endif
