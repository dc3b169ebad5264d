#ifndef SPRYI_ALLOWED_PROCESSORS_H
#define SPRYI_ALLOWED_PROCESSORS_H

/* Processors of the calling thread's affinity. At least 1. */
int spryi_processors(void);

/*
 * Processors that the calling thread may use: those of its affinity, and no more than the quotas of its control groups
 * (version 2) are worth. At least 1.
 */
int spryi_allowed_processors(void);

#endif
