/* Recognises files of other kinds. The refusal names the kind and the remedy. */
#pragma once

#include "spry/spry.h"

/*
 * Inspects the first bytes of a file's text, after unpacking. Returns SPRY_UNSUPPORTED with the kind and the remedy, or
 * SPRY_OK if the kind is unknown.
 */
spry_status spryi_refuse_foreign(const char *name, const char *p, const char *end, spry_error *err);

/* Returns the advice that follows a message if the first line of text looks like an edge; else "". */
const char *spryi_edges_advice(const char *p, const char *end);
