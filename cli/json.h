/* Fields of JSON objects. Each adds one to `object` and returns 0 where memory is out, or was out for the object. */
#pragma once

#include "common/record.h"

#include <cjson/cJSON.h>

/* NaN becomes null, infinity the largest double; 7 significant digits. */
int cli_json_number(cJSON *object, const char *name, double value);
/* With as many digits as bring back the same number; null where it is not finite. */
int cli_json_exact(cJSON *object, const char *name, double value);
int cli_json_integer(cJSON *object, const char *name, int64_t value);  /* negative: null */
int cli_json_text(cJSON *object, const char *name, const char *value); /* NULL or "": null */
int cli_json_flag(cJSON *object, const char *name, int value);         /* negative: null */

/*
 * What every command's line begins with, so that a program needs no other to know how it went: "command", "matrix"
 * (NULL: null), "status" and "reason" (NULL or "": null).
 */
int cli_json_begin(cJSON *object, const char *matrix, record_status status, const char *reason);

/* A new object at the end of a list; NULL: out of memory. */
cJSON *cli_json_item(cJSON *list);

/* A member of a struct as a field of an object. */
typedef enum cli_json_kind {
    CLI_JSON_POINTER, /* const char * */
    CLI_JSON_ARRAY,   /* char[] */
    CLI_JSON_INT,     /* int, */
    CLI_JSON_COUNT,   /* int64_t: negative as null */
    CLI_JSON_FLAG,    /* int: negative as null */
    CLI_JSON_NUMBER,  /* double */
    CLI_JSON_STAGES,  /* double[RECORD_STAGES]: an object, a number or null by the name of each */
    CLI_JSON_STATUS   /* record_status, by its name */
} cli_json_kind;
typedef struct cli_json_field {
    const char *name;
    cli_json_kind kind;
    size_t at;
} cli_json_field;
#define CLI_JSON_FIELD(type, name, kind, member)                                                                       \
    {                                                                                                                  \
        name, CLI_JSON_##kind, offsetof(type, member)                                                                  \
    }

int cli_json_add_fields(cJSON *object, const void *from, const cli_json_field *fields, int count);

/* All fields of a record in their order; those of products of two matrices where op is spgemm. */
int cli_json_record(cJSON *object, const record *r);
/* The same of a command other than the benchmark, whose name stands first. */
int cli_json_command_record(cJSON *object, const record *r);
