/* Tables of tuning.c that are read line by line, and the part of them that tells rates (tuning_rates.c). */
#ifndef SPRYI_IO_TUNING_H
#define SPRYI_IO_TUNING_H

#include "core/rates.h"

enum { SPRYI_TUNING_WORDS = 4 };

typedef struct spryi_tuning_line {
    const char *words[SPRYI_TUNING_WORDS + 1];
    char rest[256]; /* behind the first word, as it stands there */
    int count, number;
    const char *path;
} spryi_tuning_line;

/* SPRY_BAD_FILE, with the file and the line. */
spry_status spryi_tuning_wrong(const spryi_tuning_line *l, const char *expected, spry_error *err);
/* 1: the word is a decimal number from least to most. */
int spryi_tuning_number(const char *word, double least, double most, double *value);

/* Classes as they are read; the last one is being told of. */
typedef struct spryi_tuning_classes {
    spryi_own_class *list[SPRYI_MOST_OWN_CLASSES];
    int count;
} spryi_tuning_classes;

int spryi_tuning_is_of_class(const spryi_tuning_line *l);
spry_status spryi_tuning_take_class(spry_context *context, spryi_tuning_classes *classes, const spryi_tuning_line *l,
                                    spry_error *err);
/* Each class has all that it needs; l: the table's last line. */
spry_status spryi_tuning_check_classes(const spryi_tuning_classes *classes, const spryi_tuning_line *l,
                                       spry_error *err);

#endif
