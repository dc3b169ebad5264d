/* What a test does in a build without the studies (SPRY_STUDIES). */
#pragma once

/* `study` if this build has the studies, else `other`. */
#ifdef SPRY_STUDIES
#define TEST_STUDY(study, other) study
#else
#define TEST_STUDY(study, other) other
#endif
