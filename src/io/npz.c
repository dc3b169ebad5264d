#include "io/npz.h"
#include "core/error.h"
int spryi_npz_is(const char *head, int64_t bytes){return bytes>=4&&head[0]=='P'&&head[1]=='K';}
spry_status spryi_npz_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{(void)A;(void)options;return spryi_fail_file(err,SPRY_UNSUPPORTED,text->name,0,"x");}
