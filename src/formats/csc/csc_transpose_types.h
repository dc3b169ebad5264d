/* The template csc_transpose.tmpl.c for one pair of OFFSET and INDEX, PAIR by name, and each width of a value. */
#define JOIN_(name, pair, width) name##_##pair##_##width
#define JOIN(name, pair, width) JOIN_(name, pair, width)

#define WIDTH v0
#define HAS_VALUES 0
#define VALUE uint32_t
#include "formats/csc/csc_transpose.tmpl.c"
#undef WIDTH
#undef HAS_VALUES
#define WIDTH v4
#define HAS_VALUES 1
#include "formats/csc/csc_transpose.tmpl.c"
#undef WIDTH
#undef VALUE
#define WIDTH v8
#define VALUE uint64_t
#include "formats/csc/csc_transpose.tmpl.c"
#undef WIDTH
#undef HAS_VALUES
#undef VALUE
