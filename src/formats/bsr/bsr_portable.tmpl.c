#undef SUM_ROW
#define SUM_ROW SPRY_FN(sum_plain)
#include "formats/bsr/bsr_rows.tmpl.c"
