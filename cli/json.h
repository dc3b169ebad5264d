/* Fields of JSON objects. Each adds one to `object` and returns 0 where memory is out, or was out for the object. */
#ifndef SPRY_CLI_JSON_H
#define SPRY_CLI_JSON_H

#include "common/record.h"

#include <cjson/cJSON.h>

/* NaN becomes null, infinity the largest double; 7 significant digits. */
int cli_json_number(cJSON *object, const char *name, double value);
/* With as many digits as bring back the same number; null where it is not finite. */
int cli_json_exact(cJSON *object, const char *name, double value);
int cli_json_integer(cJSON *object, const char *name, int64_t value);  /* negative: null */
int cli_json_text(cJSON *object, const char *name, const char *value); /* NULL or "": null */
int cli_json_flag(cJSON *object, const char *name, int value);         /* negative: null */

/* A new object at the end of a list; NULL: out of memory. */
cJSON *cli_json_item(cJSON *list);

/* All fields of a record in their order; those of products of two matrices where op is spgemm. */
int cli_json_record(cJSON *object, const record *r);

#endif
