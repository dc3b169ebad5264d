/* Chooses values of tests by whether the build has the studies (SPRY_STUDIES). */
#pragma once

/* `study` if this build has the studies, else `other`. */
#ifdef SPRY_STUDIES
#define TEST_STUDY(study, other) study
#else
#define TEST_STUDY(study, other) other
#endif
