/* Vector passes on every CPU. */
#define TABLE spryi_vector_ops_cpu
#include "device/cpu/vector_ops_level.tmpl.c"
