/* Sizes that ELL, SELL and HYB share, whose entries lie in slots: slot after slot of rows side by side. */
#pragma once

enum {
    SPRYI_SLOT_LANES = 16, /* rows that a kernel takes side by side */
    SPRYI_TILE_SLOTS = 8,  /* slots that are filled at a time */
};
