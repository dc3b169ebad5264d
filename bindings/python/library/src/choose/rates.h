/* The library's tables of rates, one for each class of devices (core/rates.h). */
#ifndef SPRYI_CHOOSE_RATES_H
#define SPRYI_CHOOSE_RATES_H

#include "core/rates.h"

extern const spryi_device_class spryi_class_h200, spryi_class_h100, spryi_class_avx512, spryi_class_avx2,
    spryi_class_avx512_amd, spryi_class_avx2_amd;

#endif
