/* How much memory this process can still take: spry_available_memory_bytes of spry.h, and what it is made of. */
#ifndef SPRYI_AVAILABLE_MEMORY_H
#define SPRYI_AVAILABLE_MEMORY_H

#include "spry/spry.h"

/*
 * The same with the files of the system below `root` ("" for the system's own), and under limits as getrlimit tells
 * them, of address space and of data. INT64_MAX where nothing is known.
 */
int64_t spryi_available_memory_under(const char *root, uint64_t address_limit, uint64_t data_limit);

#endif
