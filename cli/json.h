/*
 * Fields of JSON objects. Each function adds one field to `object` and returns false if memory is short or the object
 * is NULL.
 */
#pragma once

#include "common/record.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Adds a number with 7 significant digits. NaN becomes null, infinity the largest double. */
bool cli_json_number(cJSON *object, const char *name, double value);
/* Adds a number with 17 significant digits, which identify a double. Values that are not finite become null. */
bool cli_json_exact(cJSON *object, const char *name, double value);
bool cli_json_integer(cJSON *object, const char *name, int64_t value);  /* negative: null */
bool cli_json_text(cJSON *object, const char *name, const char *value); /* NULL or "": null */
bool cli_json_flag(cJSON *object, const char *name, int value);         /* negative: null */

/*
 * Adds the first fields of every command's line: "command", "matrix" (NULL: null), "status" and "reason" (NULL or "":
 * null). They suffice to see whether the command succeeded.
 */
bool cli_json_begin(cJSON *object, const char *matrix, record_status status, const char *reason);

/* Appends a new object to a list. Returns NULL if memory is short. */
cJSON *cli_json_item(cJSON *list);

/* Type of a struct member that becomes a field of an object. */
typedef enum cli_json_kind {
    CLI_JSON_POINTER, /* const char * */
    CLI_JSON_ARRAY,   /* char[] */
    CLI_JSON_INT,     /* int; negative: null */
    CLI_JSON_COUNT,   /* int64_t; negative: null */
    CLI_JSON_FLAG,    /* int; negative: null */
    CLI_JSON_NUMBER,  /* double */
    CLI_JSON_STAGES,  /* double[RECORD_STAGES]: an object with a number or null for each stage's name */
    CLI_JSON_STATUS   /* record_status: its name */
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

bool cli_json_add_fields(cJSON *object, const void *from, const cli_json_field *fields, int count);

/* Adds all fields of a record. Fields of products of two matrices are added only if op is spgemm. */
bool cli_json_record(cJSON *object, const record *r);
/* Adds the command's name, then all fields of a record. For commands other than bench. */
bool cli_json_command_record(cJSON *object, const record *r);
