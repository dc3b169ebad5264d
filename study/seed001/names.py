"""Mapping of records to the document's methods."""
import re

from seed001 import measure

PEERS = {"mkl_csr": "MKL", "mkl_csr_optimized": "MKL, optimized", "csr5_authors_cpu": "CSR5",
         "csr5_authors_cuda": "CSR5", "kokkos_kernels_cpu": "Kokkos Kernels", "kokkos_kernels_cuda": "Kokkos Kernels",
         "cusparse_csr_alg1": "cuSPARSE", "cusparse_csr_alg2": "cuSPARSE, ALG2"}
OURS = {"cpu": {"CSR-2": "CSR-2, vector rows", "CSR-3": "CSR-3, vector rows"}, "gpu": {"CSR-3": "packed"}}


def title_of(record):
    """Returns a short title for a line of a figure."""
    if record["peer"]:
        return PEERS.get(record["kernel"], record["kernel"])
    found = re.match(r"csr([23])_listing_(\w+_)?cpu(:.*)?$", record["kernel"])
    return f"CSR-{found[1]}" + (", vector rows" if found[2] else "") if found else "CSR, balanced"


def _listings(rates, k, instructions):
    return [name for name in rates.labels if re.match(rf"csr{k}_listing_{instructions}cpu(:|$)", name)]


def _present(rates, series):
    found = {title: [name for name in names if name in rates.labels] for title, names in series.items()}
    found = {title: names for title, names in found.items() if names}
    for title, names in found.items():
        rates.add_best(title, names)
    return found


def cpu_series(rates):
    """Returns {title: labels} for figure 6: the kernels, and the sizes, that stand for a method. Adds a label for the
    best of them on each matrix to the rates."""
    listings = {f"CSR-{k}{word}": _listings(rates, k, instructions)
                for word, instructions in (("", ""), (", vector rows", r"\w+_")) for k in (2, 3)}
    return _present(rates, {"CSR-2": listings.pop("CSR-2"), "CSR-3": listings.pop("CSR-3"),
                            "CSR5": ["csr5_authors_cpu"], "MKL": measure.CPU_PEERS["mkl"],
                            "Kokkos Kernels": ["kokkos_kernels_cpu"], **listings, "CSR, balanced": ["csr"]})


def gpu_series(rates):
    """Returns {title: labels} for figure 7. The sizes of CSR-3 are from the document's formulas, those of "CSR-3, own
    sizes" from a formula that this library fitted to an H200."""
    return _present(rates, {"CSR-3": ["csr3:tuning=volta", "csr3:tuning=ampere"], "CSR-3, own sizes": ["csr3"],
                            "CSR-2": ["csr2"],
                            "cuSPARSE": measure.GPU_PEERS["cusparse"], "CSR5": ["csr5_authors_cuda"],
                            "Kokkos Kernels": ["kokkos_kernels_cuda"], "packed": ["packed"]})
