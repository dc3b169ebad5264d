/* Defines test values that depend on whether the build includes the study kernels of study/kernels (SPRY_STUDIES). */
#pragma once

/* Is `study` if this build has the study kernels, else `other`. */
#ifdef SPRY_STUDIES
#define TEST_STUDY(study, other) study
#else
#define TEST_STUDY(study, other) other
#endif
