#include "support.h"

/* ---- the benchmark's matrices ---------------------------------------------------------------- */

typedef struct known {
    const char *spec;
    int64_t rows, nnz;
    uint64_t structure, values;
} known;

/*
 * Counts and hashes from the benchmark's reference generator, a C++ program that shares no code with this library. The
 * program was compiled without fused multiply-add, and its matrices were hashed as in support.c: first n, m, offsets
 * and columns, then the bits of the values. For graphs (road, rgg, rmat, uniform) the program has values u - 1/2, where
 * u is a random number. The hashes below are for the values 1 - u of this library. They come from another program,
 * which also reproduces the hashes for u - 1/2.
 */
static const known small_ones[] = {
    {"grid5,x=3,y=4", 12, 46, 0x6b16f31ac1835fc2u, 0x80e5ce5b7a00b5b0u},
    {"grid5,x=1,y=1", 1, 1, 0x6d80791e1701ed36u, 0x4eb447a9c023ec9cu},
    {"grid5,x=1,y=9", 9, 25, 0x6fb784aa27153716u, 0x48e2982b7c481b51u},
    {"grid7,x=3,y=4,z=5", 60, 326, 0xc763fedfc8d69849u, 0x19cc21a811a7a9b2u},
    {"grid9,x=5,y=6", 30, 208, 0x7465a056ba97370cu, 0xf501920c05248c99u},
    {"grid27,x=5,y=3,z=4", 60, 910, 0xdd089933e7680a21u, 0x66b1ba361b6cde7bu},
    {"fem3,x=3,y=4,z=2,dof=2", 48, 1120, 0x7caabb562bef13feu, 0x3eac6fe9d0f5f2cfu},
    {"grid7,x=20,y=21,z=22", 9240, 62036, 0xce482221b3024580u, 0xbedc9acfd4076bfbu},
    {"grid7p,x=9,y=8,z=7", 504, 3146, 0x5d0dc0b70d24ba0au, 0xb7ac1657f0c277e5u},
    {"grid7,x=20,y=21,z=22,shuffle=23", 9240, 62036, 0x7477086715c0c8bfu, 0xa0da986fff87bc47u},
    {"grid5:d,x=7,y=8", 56, 250, 0xd41c0c85ed455e53u, 0x757c5c2176e3bdccu},
    {"grid7p:d,x=9,y=8,z=7", 504, 3146, 0x065459dda3c9a973u, 0xb7ac1657f0c277e5u},
    {"road,side=1", 1, 0, 0x6bb0f2cfcf6fdcfcu, 0xcbf29ce484222325u},
    {"road,side=2", 4, 6, 0x1e4e15eb5906a2d2u, 0xe01d36d208309829u},
    {"road,side=3", 9, 14, 0x61eec2e2bc019db5u, 0x4644a153d30b1d59u},
    {"road,side=37", 1369, 3756, 0xfccf600cc3dd8e20u, 0x713271a1ffee71cbu},
    {"road,side=150", 22500, 62758, 0x75393f6eaf272f97u, 0x52bdd6f1a5bdbefcu},
    {"rgg,scale=1", 2, 0, 0x383f01296b5a453cu, 0xcbf29ce484222325u},
    {"rgg,scale=2", 4, 2, 0x757f60a34cbc310bu, 0xfb30e9ad52913445u},
    {"rgg,scale=3", 8, 6, 0xffa8de3bcd922587u, 0xe01d36d208309829u},
    {"rgg,scale=4", 16, 24, 0xfe863ff80ed8e429u, 0x0e8e162b33a8b5c8u},
    {"rgg,scale=5", 32, 92, 0x2b60d6c7088ea2dfu, 0xffc6dbab754858e6u},
    {"rgg,scale=6", 64, 238, 0xeda58c9c8819bedfu, 0xa5ac74fb69c114b9u},
    {"rgg,scale=7", 128, 542, 0x1832df799826d0bbu, 0xbd314b9719b57919u},
    {"rgg,scale=8", 256, 1400, 0xe9652861b18a0938u, 0xd99650fd82b09723u},
    {"rgg,scale=9", 512, 2854, 0xe0d5e762def2e8a7u, 0x3256b489343e56d5u},
    {"rgg,scale=10", 1024, 6314, 0xd76f1b907399919eu, 0x1d6e376a0656ebabu},
    {"rgg,scale=11", 2048, 14316, 0xd0fcf14d63790c60u, 0xe8049e8ffe9ec75bu},
    {"rgg,scale=12", 4096, 31590, 0xf122a0786464e7bcu, 0x2bf06407aeb5f34bu},
    {"rgg,scale=13", 8192, 69104, 0xe316077c3caf6d45u, 0xeb7c904d355bbf53u},
    {"rgg,scale=14", 16384, 150588, 0xf5371a84e683545du, 0xdcf1ff29a15d9165u},
    {"rgg,scale=15", 32768, 322738, 0xba9bd1516140a68du, 0x32433e2d8ed1a139u},
    {"rgg,scale=16", 65536, 688784, 0x61b840d79ffa1eb9u, 0x0b0d9082dcbb0149u},
    {"rgg21p,scale=11", 2048, 14316, 0x64535cd78245ea27u, 0xe8049e8ffe9ec75bu},
    {"rmat,scale=1,edges=3", 2, 2, 0xaa4604e220d88b34u, 0xfb30e9ad52913445u},
    {"rmat,scale=4,edges=3", 16, 37, 0xe973cbbf35858376u, 0xe45fb9f6e8a234d8u},
    {"rmat,scale=9,edges=3", 512, 1338, 0xb842596f206b44c5u, 0x44908767307a4fe6u},
    {"rmat,scale=12,edges=3", 4096, 11463, 0xd93c69d28e11e501u, 0x67d746a70d1cdf89u},
    {"rmat,scale=13", 8192, 110727, 0x24aea9cb75457064u, 0x4c6de5c67fa6e6a6u},
    {"rmat,scale=12,edges=3,order=degree", 4096, 11463, 0x6e45a1b65e123d59u, 0x67d746a70d1cdf89u},
    {"uniform,rows=50,degree=5", 50, 237, 0x2742ec0ab3c3d458u, 0xf5a629716609988fu},
    {"uniform,rows=1,degree=3", 1, 1, 0x6d80791e1701ed36u, 0x100a777eb898685fu},
    {"uni18,rows=3000", 3000, 53847, 0x7552ffc1c1ed90c2u, 0x745064f1141831bau},
    {"uniform,rows=100,degree=150", 100, 7764, 0x0f118aa3a47f6ea6u, 0x9d4b41f0e3a1204eu},
    {"circuit,rows=1", 1, 1, 0x6d80791e1701ed36u, 0x2697fedc3a5e176fu},
    {"circuit,rows=2", 2, 4, 0xbf767054a00775c0u, 0x69e83214cef9b6bcu},
    {"circuit,rows=20", 20, 92, 0x57daf92e43ca6cb0u, 0x9963446eca3c1782u},
    {"circuit,rows=3000", 3000, 26263, 0xdcd5aac9dc5d116fu, 0xb7d3da838e9974a3u},
    {"circuit,rows=40000", 40000, 377854, 0x65793f316bcf7289u, 0xadb89cc492aea775u},
    {"circuit:d,rows=40000", 40000, 377854, 0x4c342a5947a1d1b9u, 0xadb89cc492aea775u},
};

/* Each matrix is generated in less than a second. With sanitizers, the test generates only a third of the matrices. */
static const known medium_ones[] = {
    {"grid27s", 512000, 13481272, 0xde1b6dd01a0a9147u, 0x522ae80affe8ded7u},
    {"fem3s", 192000, 14787288, 0x35ec947eb379b818u, 0x40f9dffaef4da225u},
    {"road", 2560000, 7164492, 0xaebcb806cbc7919du, 0xf85af853c9df648bu},
    {"rgg20", 1048576, 13786756, 0x71e0b9a90aa31767u, 0xfd5cb1d61d5fac2eu},
    {"rmat16", 65536, 955500, 0x9a09b6b9e5040004u, 0x4499dfb795b41ef7u},
    {"rmat17", 131072, 1942311, 0x8290889f5fb2c874u, 0xfc6b51c5fe9003a7u},
    {"rmat18", 262144, 3939342, 0x480ec502b9db1c95u, 0x61047e73dd798bbfu},
    {"rmat19", 524288, 7967263, 0x6af4d51d56634907u, 0x44116de3654f79f0u},
    {"circuit1", 1000000, 9495777, 0x5059275c27cb3b68u, 0x0451c62728556e7au},
    {"rmat16:d", 65536, 955500, 0xda7de4fec83de2bbu, 0x4499dfb795b41ef7u},
    {"rmat18:d", 262144, 3939342, 0xaa90994659d6a1a3u, 0x61047e73dd798bbfu},
    {"circuit1:d", 1000000, 9495777, 0x02aa7f3e3ae12d1eu, 0x0451c62728556e7au},
};

/* Run only if SPRY_TEST_LARGE is set in the environment. */
static const known large_ones[] = {
    {"grid5", 4000000, 19992000, 0xe10ec7559add05c6u, 0xea316b884a454818u},
    {"grid7", 2744000, 19090400, 0x017031aebd904a4du, 0xa91444c992bcae18u},
    {"grid27", 1331000, 35287552, 0xe955a1bf34a9038eu, 0xfa58f15df6138666u},
    {"fem3", 526848, 41168664, 0xf38f966e3e3cfbccu, 0x97e5eabf3cee26e0u},
    {"rgg21", 2097152, 28982718, 0x58352261d965ef22u, 0x6d42199bf5497efdu},
    {"rgg21p", 2097152, 28982718, 0xf650a961edba8d9eu, 0x6d42199bf5497efdu},
    {"rmat20", 1048576, 16085190, 0x40f3faf7badd73dfu, 0x8339db79c8285dedu},
    {"rmat22", 4194304, 32987860, 0x59decb36e6baaf71u, 0x0d3b314871610619u},
    {"uni18", 1500000, 26999858, 0x8d19d5bd2a48d7e6u, 0x91f340f4866e195eu},
    {"circuit", 3000000, 28482078, 0xbb360fbd80fa04fau, 0x4a537e53f15302feu},
    {"grid7p", 2744000, 19090400, 0x10ca862221c43587u, 0xa55b2a4462fdc543u},
    {"rmat20:d", 1048576, 16085190, 0x36463416c2f59428u, 0x8339db79c8285dedu},
    {"road:d", 2560000, 7164492, 0x686b0f6745b66a17u, 0xf85af853c9df648bu},
    {"grid5:d", 4000000, 19992000, 0xeda05310022180cfu, 0xd6ca50b522c16b01u},
};

/* Returns 1 if A equals the known matrix. */
static int is_known(const spry_arrays *a, const known *expected)
{
    return a->rows == expected->rows && a->columns == expected->rows && a->nnz == expected->nnz &&
           test_structure_hash(a) == expected->structure && test_value_hash(a) == expected->values;
}

static void check_known(spry_context *context, const known *list, int count)
{
    for (int c = 0; c < count; c++) {
        spry_matrix *A = test_generate(context, list[c].spec, NULL);
        spry_arrays a = arrays_of(A);
        if (!is_known(&a, &list[c]))
            fail_msg("gen:%s: %lld rows, %lld entries; structure or values differ from the reference", list[c].spec,
                     (long long)a.rows, (long long)a.nnz);
        assert_int_equal(a.sorted, SPRY_KNOWN_YES);
        assert_int_equal(a.unique, SPRY_KNOWN_YES);
        spry_matrix_destroy(A);
    }
}

static void small_known(void **state)
{
    check_known(*state, small_ones, TEST_COUNT(small_ones));
}

static void medium_known(void **state)
{
    for (int c = 0; c < TEST_COUNT(medium_ones); c += SAMPLED ? 6 : 1) check_known(*state, medium_ones + c, 1);
}

static void large_known(void **state)
{
    if (!getenv("SPRY_TEST_LARGE")) skip();
    check_known(*state, large_ones, TEST_COUNT(large_ones));
}

static void comparison_rejects_one_changed_entry(void **state)
{
    const known *expected = &small_ones[3]; /* grid7, 326 entries */
    spry_matrix *A = test_generate(*state, expected->spec, NULL);
    spry_arrays a = arrays_of(A);
    assert_true(is_known(&a, expected));
    double *values = (double *)(uintptr_t)a.values, kept = values[100];
    values[100] = -kept;
    assert_false(is_known(&a, expected));
    values[100] = kept;
    int32_t *columns = (int32_t *)(uintptr_t)a.indices;
    columns[325]--;
    assert_false(is_known(&a, expected));
    columns[325]++;
    int32_t *offsets = (int32_t *)(uintptr_t)a.offsets;
    offsets[7]++;
    assert_false(is_known(&a, expected));
    offsets[7]--;
    assert_true(is_known(&a, expected));
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_known),
        cmocka_unit_test(medium_known),
        cmocka_unit_test(large_known),
        cmocka_unit_test(comparison_rejects_one_changed_entry),
    };
    return cmocka_run_group_tests(tests, test_setup, close_context);
}
