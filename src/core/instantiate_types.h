/*
 * Includes the template file named by SPRYI_TEMPLATE once for each type of vectors: instantiate.h for templates that
 * look at no matrix. It uses SPRY_V and names its functions SPRY_FN(name), which makes name_f32 and name_f64, in the
 * order of spryi_value_slot.
 */
#define SPRYI_TYPED_(name, type) name##_##type
#define SPRYI_TYPED(name, type) SPRYI_TYPED_(name, type)
#define SPRY_FN(name) SPRYI_TYPED(name, SPRYI_TYPE_TAG)

#define SPRY_V float
#define SPRYI_TYPE_TAG f32
#include SPRYI_TEMPLATE
#undef SPRY_V
#undef SPRYI_TYPE_TAG

#define SPRY_V double
#define SPRYI_TYPE_TAG f64
#include SPRYI_TEMPLATE
#undef SPRY_V
#undef SPRYI_TYPE_TAG

/* {name_f32, name_f64} */
#define SPRYI_TYPED_TABLE(name)                                                                                        \
    {                                                                                                                  \
        name##_f32, name##_f64                                                                                         \
    }
