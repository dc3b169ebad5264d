/* Generators of the studies. The library contains them if it is built with SPRY_STUDIES=ON. */
#pragma once

#include "generate/generator.h"

extern const spryi_kind spryi_kind_twin; /* generate_twin.c */

/* GENERATOR(NAME, PARAMETERS, KIND, TEXT) for each generator. */
#define SPRYI_STUDY_GENERATORS(GENERATOR)                                                                              \
    GENERATOR("twin",                                                                                                  \
              "rows=1000000,entries=7000000,longest=12,kind=triangles,symmetry=100,diagonal=1,dof=1,seed=31,"          \
              "order=natural,shuffle=0",                                                                               \
              twin,                                                                                                    \
              "stands for a real matrix: its rows, entries, longest row, per cent of mirrored entries and kind of "    \
              "structure"),                                                                                            \
        GENERATOR("debr",                                                                                              \
                  "rows=1048576,entries=4194298,longest=4,kind=words,symmetry=100,diagonal=0,dof=1,seed=31,"           \
                  "order=natural,shuffle=0",                                                                           \
                  twin, "undirected de Bruijn graph of the words of 20 bits, without loops")
