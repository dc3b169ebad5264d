"""Mapping of records to the document's methods."""
import re

from seed001 import measure

PEERS = {"mkl_csr": "MKL", "mkl_csr_optimized": "MKL, optimized", "csr5": "CSR5", "cusparse_csr_alg1": "cuSPARSE",
         "cusparse_csr_alg2": "cuSPARSE, ALG2"}


def listing_of(labels, k):
    """Returns the listing with the fastest instructions among labels, without sizes in its name; None if missing."""
    return next((name for name in (level.format(k=k) for level in reversed(measure.LEVELS)) if name in labels), None)


def title_of(record):
    """Returns a short title for a line of a figure."""
    if record["peer"]:
        return PEERS.get(record["kernel"], record["kernel"])
    found = re.match(r"csr([234])_listing_(\w+_)?cpu(:.*)?$", record["kernel"])
    return f"CSR-{found[1]}" if found else "CSR, balanced"


def present(rates, series):
    return {title: name for title, name in series.items() if name in rates.labels}


def cpu_series(rates):
    """Returns {title: label} for figure 6, and {k: label} for the choice of k.

    Tuned labels are the best of all listings and sizes on each matrix, as in the document.
    """
    series, by_k = {}, {}
    for k in (2, 3, 4):
        name = listing_of(rates.labels, k)
        if not name:
            continue
        by_k[k] = f"csr{k} tuned"
        rates.add_best(by_k[k], [label for label in rates.labels if label.startswith(f"csr{k}_listing_")])
        series[f"CSR-{k}"] = by_k[k]
    rates.add_best("MKL, best", [name for name in measure.PEERS["mkl"] if name in rates.labels])
    series.update({"CSR5": "csr5", "MKL": "MKL, best",
                   "CSR, balanced": "csr"})
    return present(rates, series), by_k


def gpu_series(rates):
    """Returns {title: label} for figure 7, and {k: label} for the choice of k. csr3's sizes are from the document's GPU
    formula."""
    rates.add_best("cuSPARSE, best", [name for name in measure.PEERS["cusparse"] if name in rates.labels])
    series = {"CSR-3": "csr3", "CSR-2": "csr2", "cuSPARSE": "cuSPARSE, best", "packed": "packed"}
    return present(rates, series), {2: "csr2", 3: "csr3"}
