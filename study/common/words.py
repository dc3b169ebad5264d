"""Definitions of the words that reports use, one sentence each."""
import re

# Words used by more than one study. A study defines its own in WORDS. Commas separate alternatives.
COMMON = {
    "entries": "stored elements of a matrix; a symmetric matrix counts both triangles.",
    "mean row": "average number of entries per row.",
    "longest row": "number of entries of the longest row.",
    "twin": "a matrix generated with the rows, entries, row lengths, symmetry and kind of a real matrix that was not "
            "available.",
    "padding guard": "the library's refusal to build a format that would store over two zeros for each entry.",
    "copy bandwidth": "bytes per second read and written when large arrays are copied on the same device.",
    "quartiles, spread": "a quarter of a case's runs takes less time than the first quartile, a quarter takes more "
                         "than the third. The spread is the third minus the first, divided by the case's time.",
    "confirmed, refuted": "the document's claim holds, or does not hold, by the rule in the last column.",
    "not comparable": "this run cannot decide: the machine, the matrices or a library differ, or times are nearly "
                      "equal.",
    "as printed, ours": "the finding with the document's kernels, which gives the verdict; the finding with the best "
                        "kernels of this library.",
    "judged by a variant": "the document's kernel cannot run here. The last column says why, and the column \"ours\" "
                           "has the finding with the nearest kernel that can.",
    "margin": "the ratio of two times that counts as a difference: at least 1.05. Of the cases measured twice, in two "
              "processes, 95 % differ by less.",
}


def is_used(word, text):
    """Returns whether the text has the word or one of its alternatives, also in the plural."""
    return any(re.search(rf"(?<![\w-]){re.escape(one)}s?(?![\w-])", text, re.IGNORECASE) for one in word.split(", "))


def section(words, text):
    """Returns the section with the definitions of words that the text uses; "" if it uses none."""
    told = [f"- **{word}**: {meaning}" for word, meaning in {**words, **COMMON, **words}.items() if is_used(word, text)]
    return "## Words\n\n" + "\n".join(told) if told else ""
