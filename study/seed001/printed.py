"""Numbers printed in the document."""

# Means in GFLOP/s, text of sections 6 and 7: {system: {class: {method: rate}}}.
CPU = {
    "Ice Lake, 40 cores": {"regular": {"CSR-2": 44.1, "CSR-3": 38.5, "CSR5": 35.3},
                           "irregular": {"CSR-2": 32.2, "CSR5": 28.8}},
    "Rome, 64 cores": {"regular": {"CSR-2": 73.1, "CSR5": 37.2}, "irregular": {"CSR-2": 36.5, "CSR5": 22.1}},
}
GPU = {
    "V100": {"regular": {"CSR-3": 98.4, "CSR5": 93.0}, "irregular": {"CSR-3": 47.9, "CSR5": 88.15, "cuSPARSE": 98.2}},
    "A100": {"regular": {"CSR-3": 187.3, "CSR5": 169.5, "cuSPARSE": 153.3},
             "irregular": {"CSR-3": 76.1, "CSR5": 168.8, "cuSPARSE": 169.9}},
}
# Rows and entries that contradict the mean row length in table 1. The twin has other sizes.
SIZES = {"thermal2": (1280000, 8580000)}
# Matrices on which CSR-2 is over 5 % faster than CSR-3 on a GPU.
CSR2_AHEAD = {"V100": ("wiki-Talk", "patents", "as-Skitter", "debr"),
              "A100": ("wiki-Talk", "patents", "as-Skitter", "debr", "FullChip")}
# Matrices on which CSR5 is faster than CSR-2 on Ice Lake (section 6): regular and very irregular ones.
CSR5_AHEAD = ("belgium_osm", "netherlands_osm", "roadNet-TX", "roadNet-CA", "roadNet-PA", "Hamrle3", "debr")
VERY_IRREGULAR = ("wikipedia-20051105", "wikipedia-20060925", "wikipedia-20061104", "wikipedia-20070206", "webbase-1M")
FIRST_FIVE = CSR5_AHEAD[:5]
KOKKOS_AHEAD = ("hugetrace-00000", "hugetric-00000")  # Kokkos Kernels is the fastest on Volta (section 7)
OTHERS_AHEAD, OTHERS_BEHIND = ("AS365", "M6", "NLR"), ("CurlCurl_3", "Hamrle3")  # of CSR-3 and CSR5, on Volta
WORST_ON_GPU = ("com-Youtube", "kkt_power", "FullChip", "circuit5M", "as-Skitter")  # section 7
SRS = 96                   # the constant for CPUs
PREFERRED = (40, 1000)     # of SRS: "most matrices on CPU using CSR-2 prefer SRS in the range"
CPU_SIZES = tuple(size for i in range(3, 12) for size in (2 ** i, 3 * 2 ** (i - 1)))
