/*
 * The build runs this program, which writes powers_of_five.c: the first 128 bits of 5^q from its first bit that is 1.
 * Reading decimals needs q from -342 to 308, writing decimals needs q from -292 to 324. For q from -27 to -1 the powers
 * are rounded up, as the proof of the reading algorithm requires. For other q they are cut off after 128 bits. Source:
 * D. Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and Experience 51 (8), 2021.
 */
#include "io/decimal.h"

#include <stdio.h>

/*
 * WORDS: number of 32-bit words of `number`, which holds 5^q (at most 753 bits) or 2^1023 / 5^-q (at least 229 bits).
 */
enum { WORDS = 32, ROUNDED_UP_FROM = -27 };
static uint32_t number[WORDS]; /* the least significant word first */

static void multiply_by_five(void)
{
    uint64_t carry = 0;
    for (int w = 0; w < WORDS; w++) {
        carry += 5 * (uint64_t)number[w];
        number[w] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void divide_by_five(void)
{
    uint64_t rest = 0;
    for (int w = WORDS - 1; w >= 0; w--) {
        rest = rest << 32 | number[w];
        number[w] = (uint32_t)(rest / 5);
        rest %= 5;
    }
}

static unsigned bit(int at)
{
    return at < 0 ? 0 : number[at / 32] >> at % 32 & 1;
}

static spryi_u128 leading_bits(void)
{
    spryi_u128 bits = 0;
    int top = 32 * WORDS - 1;
    while (!bit(top)) top--;
    for (int b = 0; b < 128; b++) bits = bits << 1 | bit(top - b);
    return bits;
}

int main(void)
{
    static spryi_u128 powers[SPRYI_LAST_POWER - SPRYI_FIRST_POWER + 1];
    number[WORDS - 1] = 1u << 31;
    for (int q = -1; q >= SPRYI_FIRST_POWER; q--) {
        divide_by_five();
        powers[q - SPRYI_FIRST_POWER] = leading_bits() + (q >= ROUNDED_UP_FROM);
    }
    memset(number, 0, sizeof number);
    number[0] = 1;
    for (int q = 0; q <= SPRYI_LAST_POWER; q++) {
        powers[q - SPRYI_FIRST_POWER] = leading_bits();
        multiply_by_five();
    }
    printf("#include \"io/decimal.h\"\n\nconst uint64_t spryi_powers_of_five[][2] = {\n");
    for (int q = 0; q <= SPRYI_LAST_POWER - SPRYI_FIRST_POWER; q++)
        printf("    {0x%016llx, 0x%016llx},\n", (unsigned long long)(powers[q] >> 64), (unsigned long long)powers[q]);
    printf("};\n");
    return 0;
}
