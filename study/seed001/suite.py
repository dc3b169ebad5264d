"""The 64 matrices of the document's table 1, their files, exact copies and twins, and its classes."""
from collections import namedtuple

# In the printed order. ids: r regular, i irregular. The document prints sizes in millions with two decimals. The sizes
# below agree with them and with the printed mean row length. For thermal2 the printed 1.28 million rows and 8.58
# million entries contradict the mean of 6.99; 1.228 million rows fit. Symmetry of the pattern is in per cent.
Matrix = namedtuple("Matrix", "id name rows entries longest symmetry kind diagonal dof")
MATRICES = [Matrix(*(int(word) if word.isdigit() else word for word in line.split())) for line in """
    r1 belgium_osm 1440000 3100000 10 100 road 0 1
    r2 netherlands_osm 2220000 4880000 7 100 road 0 1
    r3 roadNet-TX 1390000 3840000 12 100 road 0 1
    r4 roadNet-CA 1970000 5530000 12 100 road 0 1
    r5 roadNet-PA 1088800 3081200 9 100 road 0 1
    r6 hugetrace-00000 4590000 13760000 3 100 hexagons 0 1
    r7 hugetric-00000 5824900 17470000 3 100 hexagons 0 1
    r8 debr 1048576 4194298 4 100 words 0 1
    r9 venturiLevel3 4030000 16110000 6 100 mesh2 0 1
    r10 rajat31 4690000 20320000 1200 100 circuit 1 1
    r11 G3_circuit 1585478 7660826 6 100 mesh2 1 1
    r12 ecology1 1000000 4996000 5 100 mesh2 1 1
    r13 333SP 3712800 22217200 28 100 triangles 0 1
    r14 AS365 3800200 22739800 14 100 triangles 0 1
    r15 NACA0015 1040000 6230000 10 100 triangles 0 1
    r16 M6 3500000 21000000 10 100 triangles 0 1
    r17 NLR 4160500 24979500 20 100 triangles 0 1
    r18 delaunay_n20 1048600 6291400 23 100 triangles 0 1
    r19 delaunay_n21 2097200 12582800 23 100 triangles 0 1
    r20 delaunay_n22 4191900 25168100 23 100 triangles 0 1
    r21 atmosmodl 1489300 10320700 7 100 mesh3 1 1
    r22 atmosmodm 1489300 10320700 7 100 mesh3 1 1
    r23 atmosmodd 1269500 8810300 7 100 mesh3 1 1
    r24 atmosmodj 1269500 8810300 7 100 mesh3 1 1
    r25 thermal2 1228000 8580300 11 100 triangles 1 1
    r26 CurlCurl_3 1218800 13540900 13 100 mesh3 1 1
    r27 CurlCurl_4 2380500 26519500 13 100 mesh3 1 1
    r28 StocF-1465 1465400 21013800 189 100 mesh3 1 1
    r29 Transport 1601500 23478500 15 100 mesh3 1 1
    r30 packing-500x100x100-b050 2146200 34983100 18 100 mesh3 1 1
    r31 af_shell10 1508200 52259100 35 100 mesh2 1 5
    r32 Hamrle3 1448100 5511900 9 0 circuit 1 1
    r33 circuit5M_dc 3520300 14869700 24 90 circuit 1 1
    r34 memchip 2708400 13341600 27 90 circuit 1 1
    r35 Freescale1 3430000 17050000 25 90 circuit 1 1
    i1 com-Youtube 1134000 5976200 28800 100 social 0 1
    i2 kkt_power 2062500 12767500 90 100 web 1 1
    i3 FullChip 2989000 26621000 2300000 100 circuit 1 1
    i4 circuit5M 5559500 59520500 1300000 100 circuit 1 1
    i5 as-Skitter 1696700 22192800 35500 100 social 0 1
    i6 rgg_n_2_20_s0 1048800 13781200 36 100 ball2 0 1
    i7 rgg_n_2_21_s0 2097200 28982800 37 100 ball2 0 1
    i8 cage14 1505800 27134200 41 100 ball3 1 1
    i9 dgreen 1200800 26609700 97 100 ball3 1 1
    i10 nv2 1453700 37476400 84 100 ball3 1 1
    i11 nlpkkt80 1062100 28188100 28 100 kkt 1 1
    i12 Hook_1498 1497699 59368800 93 100 ball3 1 3
    i13 dielFilterV2real 1157400 48541400 110 100 ball3 1 1
    i14 wiki-Talk 2390000 5020000 3300 10 social 0 1
    i15 wiki-talk-temporal 1141000 3309000 3300 20 social 0 1
    i16 webbase-1M 1000000 3110000 28600 10 web 0 1
    i17 patents 3770000 14970000 762 0 citation 0 1
    i18 cit-Patents 3770000 16520000 779 0 citation 0 1
    i19 Freescale2 3000000 14310000 14900 100 circuit 1 1
    i20 wikipedia-20051105 1634600 19746000 75500 10 social 0 1
    i21 in-2004 1383200 16916800 21900 40 web 0 1
    i22 wikipedia-20060925 2983700 37266400 159000 10 social 0 1
    i23 wikipedia-20061104 3148100 39381900 168000 10 social 0 1
    i24 wikipedia-20070206 3568300 45031700 187000 10 social 0 1
    i25 sx-stackoverflow 2600800 36229200 22300 40 social 0 1
    i26 wiki-topcats 1790800 28509500 238000 20 social 0 1
    i27 soc-Pokec 1632900 30617100 230000 50 social 0 1
    i28 ss 1652300 34747900 27 70 ball3 1 1
    i29 vas_stokes_1M 1090600 34769400 1000 40 ball3 1 1
""".strip().splitlines()]
BY_NAME = {m.name: m for m in MATRICES}
# Matrices that a rule defines: a grid of 1000 x 1000 points, and the undirected de Bruijn graph of words of 20 bits.
# Their values and the order of debr's rows may differ from the collection's.
EXACT = {"ecology1": "gen:grid5,x=1000,y=1000", "debr": "gen:debr"}
FEW = 5  # verdicts on orderings need this number of matrices that are not twins
# The printed symmetry of this matrix is 1.0, which is rounded: the document lists it among the patterns that are not
# symmetric.
NEARLY_SYMMETRIC = ("Freescale2",)
# One or two matrices of each class, in a smaller size, for quick runs.
QUICK = ("roadNet-TX", "thermal2", "Hamrle3", "as-Skitter", "webbase-1M")
SMALLER = 200


def is_regular(name):
    return BY_NAME[name].id[0] == "r"


def is_symmetric(name):
    return BY_NAME[name].symmetry == 100 and name not in NEARLY_SYMMETRIC


def classes(names):
    """Returns [(title, names)]: regular and irregular matrices, each split by symmetry of the pattern, then all."""
    def those(regular, symmetric):
        return [n for n in names if is_regular(n) == regular and symmetric in (None, is_symmetric(n))]

    return [("regular, sym.", those(True, True)), ("regular, other", those(True, False)),
            ("regular", those(True, None)), ("irregular, sym.", those(False, True)),
            ("irregular, other", those(False, False)),
            ("irregular", those(False, None)), ("all", list(names))]


def twin(m, quick=False):
    """Returns the generator of a twin with the matrix's sizes, or smaller sizes in quick runs."""
    rows, entries, longest = m.rows, m.entries, m.longest
    if quick:
        rows, entries = rows // SMALLER, entries // SMALLER
        longest = min(longest, rows // 4)
    return (f"gen:twin,rows={rows},entries={entries},longest={longest},kind={m.kind},symmetry={m.symmetry},"
            f"diagonal={m.diagonal},dof={m.dof}")


def chosen(options):
    """Returns {name: file or generator}, small matrices first, so that jobs with every n-th matrix have about equal
    work."""
    from common import matrices as real  # here, because this file also runs as a script, without the package
    names = QUICK if options.quick else [m.name for m in sorted(MATRICES, key=lambda m: m.entries)]
    found = {}
    for name in names:
        path = None if options.quick else real.find(options.matrices, name)
        found[name] = path or (not options.quick and EXACT.get(name)) or twin(BY_NAME[name], options.quick)
    return found


if __name__ == "__main__":
    for matrix in MATRICES:
        print(*matrix, twin(matrix))
