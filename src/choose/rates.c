/*
 * The library's tables of rates, one for each class of devices.
 *
 * Each table was fitted by `spry tune` to times of one machine, which `fitted` names. A row has the fields of
 * spryi_format_rates (core/rates.h) in their order: format to block on the first line, ragged to setup_value on the
 * second. Headings entry, row and value mean setup_entry, setup_row and setup_value. Three rates were set by hand:
 *  - avx512_amd, launch of packed and bsr: csr's. The fit found 3.9 and 2.6 us, but products of small matrices take 2.4
 *    and 1.6 us altogether.
 *  - hopper, chain of csr_merge_cuda: from a matrix of 400 000 rows of which 600 have entries. A fit gives little
 *    weight to a kernel that is five times slower than others.
 */
#include "core/rates.h"

/* clang-format off */
/* NVIDIA GPUs. The H200 is the H100's processor with faster memory. */
static const spryi_format_rates hopper[] = {
    /*                           launch sharp  cached   memory   gather   near     far step      slice     block
      ragged     column    chain    uneven    holes    longest  heaviest ahead   setup  entry   row        value */
    {"csr", "csr_merge_cuda",    2.89,  1.982, 3.15e6,  3.023e6, 1.502e7, 4.48e6,  0,  2.071e-6, 3.508e-6, 0,
      0,         0,        0.35,    0.05059,  0,       0,       0,       0,      42,    5,      0,         0.1906},
    {"csr", "csr_adaptive_cuda", 3.98,  1.627, 2.882e6, 3.213e6, 1.942e7, 4.273e6, 0,  2.075e-6, 3.588e-6, 0,
      0,         0,        0,       0.2195,   0,       0,       0,       0,      35,    58.76,  743.2,     0},
    {"csr", "csr_vector_cuda",   3.259, 1.112, 1.001e7, 3.658e6, 1.361e7, 1.019e7, 0,  2.343e-6, 7.54e-5,  0,
      0,         0,        0.04734, 0.2724,   0,       0,       0,       0,      4,     0.8073, 0.002399,  0.1531},
    {"csr", "csr_scalar_cuda",   3.299, 1.271, 8.217e6, 3.119e6, 1.545e7, 4.901e6, 0,  2.115e-6, 3.539e-6, 0,
      0,         1.636e-6, 0.04594, 0.7201,   0,       0,       0,       0,      6,     0.3221, 0.0004355, 0.05358},
    {"sell", NULL,               2.22,  2.118, 7.412e6, 4.1e6,   1.165e7, 4.624e6, 0,  2.832e-6, 6.907e-6, 0,
      0,         0,        0.08188, 0.2999,   3.074,   0,       0,       0,      190,   9.925,  243.9,     5.825},
    {"bsr", NULL,                2.453, 1.309, 4.55e6,  3.927e6, 0,       1.603e7, 0,  1.836e-5, 8.495e-7, 0,
      0,         0,        0.03316, 0.003959, 0.04616, 0,       0,       0,      2097,  135.2,  145,       10.7},
    {"packed", NULL,             3.005, 3.077, 4.638e6, 3.396e6, 1.177e7, 4.089e6, 0,  1.154e-5, 2.05e-6,  0,
      0,         0,        0.174,   0.07773,  2.43,    0,       0,       0,      230,   28.5,   0,         7.473},
    {"windowed", NULL,           3.863, 1.464, 4.203e6, 2.956e6, 4.606e6, 0,       0,  2.788e-5, 6.307e-5, 6.456e-6,
      0.0001549, 2.03e-6,  0,       0,        0,       0.02731, 0.9946,  0.2634, 450,   15.86,  795.7,     4.945},
    {"swept", NULL,              9.456, 3.708, 2.535e6, 2.913e6, 6.088e6, 0,       0,  8.266e-6, 9.36e-6,  0,
      0,         0,        0,       0,        0,       0,       0,       0,      486.8, 222.9,  109.1,     5.676},
};

static const spryi_format_rates avx512[] = {
    /*                 launch sharp  cached   memory   gather   near     far      step       slice      block
      ragged column     chain     uneven holes longest heaviest ahead setup    entry    row       value */
    {"csr", NULL,      1.198, 1.084, 2.004e4, 3.9e4,   1.551e5, 1.293e5, 1.95e4,  0.000462,  0.001324,  0.0002987,
      0,     7.21e-6,   0,        0,     0,    0,      0,       0,    6.57,    1267,    9241,     9.059},
    {"sell", NULL,     1.747, 1,     3.616e4, 6.087e4, 7.487e4, 2.827e5, 2.237e4, 7.94e-5,   0.001338,  0,
      0,     0,         0.004688, 0,     0,    0,      0,       0,    58.92,   1893,    1.246e4,  363.3},
    {"bsr", NULL,      1.67,  1.074, 3.119e4, 4.287e4, 1.361e5, 1.499e5, 0,       1.014e-5,  0.001177,  0.001887,
      0,     2.851e-6,  0,        0,     0,    0,      0,       0,    5185,    9114,    1.19e4,   399.5},
    {"packed", NULL,   23.88, 1.371, 2.102e4, 2.571e4, 6.771e4, 5.717e4, 1.656e4, 1.129e-5,  0.0006083, 0.0003201,
      0,     2.248e-6,  0,        0,     0,    0,      0,       0,    133,     3207,    3.875e4,  235.5},
    {"windowed", NULL, 2.119, 1,     4.954e4, 6.717e4, 3.538e4, 0,       0,       0.0005574, 0.00207,   0.0004574,
      0,     0.0002746, 0,        0,     0,    0,      0,       0,    0.06967, 1892,    7.691e5,  2186},
    {"scoo", NULL,     4.256, 1.475, 1.618e4, 1.111e4, 0,       5.561e4, 1.983e5, 0.0007548, 9.72e-5,   0,
      0,     0,         0.002001, 0,     0,    0,      0,       0,    0,       1.717e4, 6968,     668.4},
    {"ell", NULL,      2.755, 1.276, 3.202e4, 3.681e4, 4.885e4, 4.848e5, 1.704e4, 0.0002125, 2.361e-5,  0,
      0,     0,         0.07246,  0,     0,    0,      0,       0,    0,       3960,    0.005047, 342.7},
    {"hyb", NULL,      6.747, 1.006, 2.863e4, 3.638e4, 3.764e4, 1.533e6, 1.894e4, 2.977e-5,  0.0005494, 0,
      0,     0.0007978, 0,        0,     0,    0,      0,       0,    0,       4174,    5130,     266.3},
    {"coo", NULL,      1.628, 1.24,  3.047e4, 1.692e4, 3.038e5, 6.475e4, 2.086e4, 0.0009575, 0.005366,  0.0003856,
      0,     5.735e-6,  0,        0,     0,    0,      0,       0,    5.762,   1798,    7757,     8.3},
};

static const spryi_format_rates avx2[] = {
    /*                 launch  sharp  cached   memory   gather   near     far     step       slice      block
      ragged column     chain     uneven holes longest heaviest ahead setup      entry    row      value */
    {"csr", NULL,      0.9626, 1.252, 1.029e4, 1.659e4, 5.771e5, 3.597e5, 6188,   0.001952,  0.005016,  0.002309,
      0,     1.309e-5,  0,        0,     0,    0,      0,       0,    33.83,     17.88,   1517,    1.852},
    {"sell", NULL,     9.173,  1.009, 1.782e5, 4.217e4, 2.629e4, 7.168e5, 6585,   0.0007571, 0.003134,  0,
      0,     0,         0,        0,     0,    0,      0,       0,    29.77,     6042,    1.921e4, 143.2},
    {"bsr", NULL,      1.746,  1.179, 1.601e4, 3.564e4, 9.763e4, 3.378e4, 1e12,   0.0001624, 0.008422,  0.0005184,
      0,     8.858e-6,  0,        0,     0,    0,      0,       0,    6205,      1.494e4, 6296,    496.7},
    {"packed", NULL,   2.246,  1.045, 1.395e4, 1.55e4,  3.913e4, 9.66e4,  9312,   1.517e-5,  0.0006479, 0.001873,
      0,     8.317e-6,  0,        0,     0,    0,      0,       0,    56.62,     5744,    5.572e4, 155.1},
    {"windowed", NULL, 9.446,  1,     6.378e4, 3.564e4, 1.629e4, 1e12,    1e12,   0.0009414, 0.002862,  0.0003023,
      0,     0.0008343, 0,        0,     0,    0,      0,       0,    0.09058,   3.463e4, 5.589e5, 1154},
    {"scoo", NULL,     12.88,  1.002, 1.107e5, 3.269e4, 1e12,    4.621e4, 2.99e4, 0.001623,  0.0001846, 0,
      0,     0,         0.001725, 0,     0,    0,      0,       0,    0.0002163, 1.038e4, 4686,    2526},
    {"ell", NULL,      7.724,  8.25,  1.985e5, 3.563e4, 7142,    1.493e5, 3053,   0.0008436, 3.663e-5,  0,
      0,     0,         0.01092,  0,     0,    0,      0,       0,    9.015e-5,  9895,    7734,    128.1},
    {"hyb", NULL,      5.416,  1,     3.061e5, 2.472e4, 7260,    1.204e6, 6444,   8.299e-5,  3.6e-5,    0,
      0,     0.006911,  0,        0,     0,    0,      0,       0,    0.01016,   7552,    1.549e4, 182.4},
};

static const spryi_format_rates avx512_amd[] = {
    /*                 launch sharp  cached   memory   gather   near     far      step       slice      block
      ragged column     chain     uneven holes longest heaviest ahead setup  entry  row      value */
    {"csr", NULL,      1.158, 1.129, 5.486e4, 3.008e4, 6.228e5, 9.205e4, 3.987e4, 0.0002734, 0.001324,  0.0004107,
      0,     7.339e-6,  0,        0,     0,    0,      0,       0,    128.7, 274,   2598,    9.059},
    {"sell", NULL,     1.862, 1,     1.613e5, 7.531e4, 1.318e5, 9.45e4,  3.872e4, 7.366e-5,  0.0009739, 0,
      0,     0,         0.01074,  0,     0,    0,      0,       0,    33.36, 1026,  5923,    305},
    {"bsr", NULL,      1.158, 1.798, 5.617e4, 5.001e4, 1.39e5,  1.521e5, 0,       1.5e-5,    0.004262,  0.0006358,
      0,     2.635e-6,  0,        0,     0,    0,      0,       0,    2575,  4332,  1.139e4, 366},
    {"packed", NULL,   1.158, 1.482, 6.292e4, 2.636e4, 6.464e4, 1.119e5, 2.494e4, 1.163e-5,  0.0009462, 0.0001811,
      0,     2.064e-6,  0,        0,     0,    0,      0,       0,    66.07, 1459,  2.292e4, 293},
    {"windowed", NULL, 3.502, 1,     1.373e5, 6.617e4, 6.579e4, 0,       0,       0.0002394, 0.001993,  0.0002031,
      0,     0.0002621, 0,        0,     0,    0,      0,       0,    0,     2065,  4.169e5, 1185},
    {"scoo", NULL,     2.489, 1.966, 3.053e4, 1.991e4, 0,       5.536e4, 8.117e4, 0.0005319, 0.0002859, 0,
      0,     0,         0.006038, 0,     0,    0,      0,       0,    0,     6853,  6968,    612.4},
    {"ell", NULL,      2.288, 1,     2.511e5, 7.531e4, 7.543e4, 2.991e5, 2.274e4, 0.0001665, 2.374e-5,  0,
      0,     0,         0.05962,  0,     0,    0,      0,       0,    0,     1512,  0.02661, 579.3},
    {"hyb", NULL,      2.921, 1.22,  7.92e4,  2.252e4, 5.16e4,  1.444e6, 1.591e4, 2.799e-5,  0.0004673, 0,
      0,     0.001296,  0,        0,     0,    0,      0,       0,    0,     1818,  5850,    254.9},
    {"coo", NULL,      1.543, 1.051, 5.531e4, 3.854e4, 1.182e5, 5.627e4, 5.843e4, 0.000604,  0.000763,  0.0003092,
      0,     5.729e-6,  0,        0,     0,    0,      0,       0,    6.289, 528.1, 6803,    10.33},
};

static const spryi_format_rates avx2_amd[] = {
    /*                 launch  sharp  cached   memory   gather   near     far      step       slice      block
      ragged column    chain     uneven holes longest heaviest ahead setup     entry    row      value */
    {"csr", NULL,      0.4899, 1.339, 8114,    8218,    5.476e5, 6.38e4,  1.331e4, 0.001846,  0.004619,  0.005296,
      0,     1.896e-5, 0,        0,     0,    0,      0,       0,    43.97,    19.51,   3484,    2.021},
    {"sell", NULL,     7.418,  1,     1.472e5, 5.058e4, 9926,    5.961e5, 1.335e4, 0.0003221, 0.004938,  0,
      0,     0,        0.001646, 0,     0,    0,      0,       0,    171.3,    4854,    1.543e4, 532},
    {"bsr", NULL,      3.619,  1.238, 5.322e4, 2.498e4, 1.076e5, 5.82e4,  1e12,    6.627e-5,  0.07234,   0.0002797,
      0,     1.208e-5, 0,        0,     0,    0,      0,       0,    8067,     1.369e4, 7180,    306.9},
    {"packed", NULL,   3.361,  1.049, 1.644e4, 1.247e4, 2.094e4, 1.557e5, 6921,    7.779e-6,  0.002992,  0.0008999,
      0,     5.903e-6, 0,        0,     0,    0,      0,       0,    36.56,    6843,    7.906e4, 229.8},
    {"windowed", NULL, 18.2,   1,     1.111e4, 9149,    1.793e4, 1e12,    1e12,    5.081e-5,  0.0054,    0.0002889,
      0,     0.001447, 0,        0,     0,    0,      0,       0,    0.002618, 5.363e4, 4.692e5, 2770},
    {"scoo", NULL,     58.37,  1.124, 1.587e5, 3.505e4, 1e12,    2.857e4, 5.224e4, 0.001993,  4.616e-5,  0,
      0,     0,        0.005249, 0,     0,    0,      0,       0,    2.426e-5, 2.602e4, 2430,    323.3},
    {"ell", NULL,      16.89,  6.526, 2.036e5, 3369,    5182,    1.459e5, 1223,    0.0002089, 3.65e-5,   0,
      0,     0,        0.6945,   0,     0,    0,      0,       0,    0.02234,  7612,    794.9,   366.1},
    {"hyb", NULL,      11.31,  1,     2.061e5, 1.472e4, 6631,    1.231e6, 1607,    8.762e-5,  4.223e-5,  0,
      0,     0.00627,  0,        0,     0,    0,      0,       0,    0.09058,  9818,    3990,    308.2},
    {"coo", NULL,      1.196,  1.022, 5.169e4, 3.362e4, 5.092e5, 1.638e4, 3.631e4, 0.002194,  0.0002087, 0.001326,
      0,     1.264e-5, 0,        0,     0,    0,      0,       0,    32.38,    2738,    1.135e4, 6.585},
};

static const spryi_device_class classes[] = {
    /* name, title, fitted, driver, cache_bytes, most_memory, copy, faster_memory, rates, formats */
    {"h200", "NVIDIA H200", "to an NVIDIA H100, 2026-11-25, with the H200's memory",
     "cuda", 62.9e6, 1e9, 4.13e6, 1.41, hopper, sizeof hopper / sizeof *hopper},
    {"h100", "NVIDIA H100", "to an NVIDIA H100, 2026-11-25",
     "cuda", 52.4e6, 1e9, 2.92e6, 0, hopper, sizeof hopper / sizeof *hopper},
    {"avx512", "Intel processors with AVX-512", "to two threads of an Intel Xeon (Sapphire Rapids), 2026-11-25",
     "cpu", 2.4e7, 2.4e5, 0, 0, avx512, sizeof avx512 / sizeof *avx512},
    {"avx2", "Intel processors with AVX2 or less", "to one thread of an Intel Xeon without AVX-512, 2026-11-27",
     "cpu", 2.4e7, 2.4e5, 0, 0, avx2, sizeof avx2 / sizeof *avx2},
    {"avx512-amd", "AMD processors with AVX-512", "to two threads of an AMD EPYC (Zen 4), 2026-11-25",
     "cpu", 1.6e7, 1e5, 0, 0, avx512_amd, sizeof avx512_amd / sizeof *avx512_amd},
    {"avx2-amd", "AMD processors with AVX2 or less", "to one thread of an AMD EPYC with AVX2, 2026-11-27",
     "cpu", 1.6e7, 1e5, 0, 0, avx2_amd, sizeof avx2_amd / sizeof *avx2_amd},
};
/* clang-format on */

const spryi_device_class *spryi_device_class_at(int n)
{
    return n >= 0 && n < (int)(sizeof classes / sizeof *classes) ? &classes[n] : NULL;
}

const spryi_device_class *spryi_device_class_named(const char *name)
{
    for (int n = 0; spryi_device_class_at(n); n++)
        if (strcmp(classes[n].name, name) == 0) return &classes[n];
    return NULL;
}
