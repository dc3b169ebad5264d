/* Sequential input of io/text.c: unpacks compressed data, and passes plain text on. */
#pragma once

#include "io/text.h"

typedef struct spryi_inflater spryi_inflater;

/* Creates the inflater of text->packing. SPRYI_PLAIN: text->feed brings the text itself. */
spry_status spryi_inflater_create(spryi_text *text, spryi_inflater **inflater, spry_error *err);
void spryi_inflater_destroy(spry_context *context, spryi_inflater *inflater);

/* Returns the most text that can be left, by the packing's ratio. */
int64_t spryi_inflater_most_left(const spryi_inflater *inflater, const spryi_text *text);

/* Bytes of the feed that have to be held, and taken later, for `bytes` of text to be left. */
int64_t spryi_inflater_input_for(const spryi_inflater *inflater, const spryi_text *text, int64_t bytes);

/*
 * *have bytes of whole lines into buffer; 0 at the end. Of a line that fills the buffer the beginning is handed out,
 * and the rest is left out. A fault in the stream is reported by the call after the one that handed out the last
 * whole line before it.
 */
spry_status spryi_inflater_next(spryi_text *text, char *buffer, int64_t capacity, int64_t *have, spry_error *err);

/* The next call hands these bytes, at most a buffer of them, out first. */
void spryi_inflater_put_back(spryi_inflater *inflater, const char *from, int64_t bytes);
