/* What a test does in a build without the studies (SPRY_STUDIES). */
#ifndef TEST_STUDIES_H
#define TEST_STUDIES_H

/* `study` if this build has the studies, else `other`. */
#ifdef SPRY_STUDIES
#define TEST_STUDY(study, other) study
#else
#define TEST_STUDY(study, other) other
#endif

#endif
