/*
 * Part of instantiate.h and instantiate_indices.h: includes the template for each index pair, in spryi_index_pair
 * order.
 */
#define SPRY_J int32_t
#define SPRY_J_IS_64 0
#ifndef SPRYI_NO_OFFSETS
#define SPRY_P int32_t
#define SPRY_P_IS_64 0
#endif
#define SPRYI_PAIR_TAG 32_32
#include SPRYI_TEMPLATE
#undef SPRYI_PAIR_TAG

#ifndef SPRYI_NO_OFFSETS
#undef SPRY_P
#undef SPRY_P_IS_64
#define SPRY_P int64_t
#define SPRY_P_IS_64 1
#define SPRYI_PAIR_TAG 64_32
#include SPRYI_TEMPLATE
#undef SPRYI_PAIR_TAG
#endif
#undef SPRY_J
#undef SPRY_J_IS_64

#define SPRY_J int64_t
#define SPRY_J_IS_64 1
#define SPRYI_PAIR_TAG 64_64
#include SPRYI_TEMPLATE
#undef SPRY_P
#undef SPRY_P_IS_64
#undef SPRY_J
#undef SPRY_J_IS_64
#undef SPRYI_PAIR_TAG
#undef SPRYI_ROW
