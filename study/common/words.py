"""What reports call things: a sentence a word."""
import re

# Words of several studies; a study has its own in WORDS. Alternatives are parted by commas.
COMMON = {
    "entries": "numbers that are stored of a matrix, both halves of a symmetric one.",
    "mean row": "entries of a row on average.",
    "longest row": "entries of the row that has most.",
    "twin": "a matrix that is generated with the rows, entries, row lengths, symmetry and kind of a real one that was "
            "not at hand.",
    "padding guard": "the library's refusal to build a format that would store over two zeros for each entry.",
    "copy bandwidth": "bytes a second that copying large arrays reads and writes on the same device.",
    "quartiles, spread": "of a case's runs a quarter takes less time than the first quartile and a quarter more than "
                         "the third; how far they are apart, as a share of the case's time, is its spread.",
    "confirmed, refuted": "what the document says holds here, or does not, by the rule that the last column tells.",
    "not comparable": "this run cannot tell: the machine, the matrices or a library are others, or times are as good "
                      "as equal.",
}


def is_used(word, text):
    """1: the text has the word, or one of its alternatives, also in the plural."""
    return any(re.search(rf"(?<![\w-]){re.escape(one)}s?(?![\w-])", text, re.IGNORECASE) for one in word.split(", "))


def section(words, text):
    """The section on those of the words that the text uses; "": it uses none."""
    told = [f"- **{word}**: {meaning}" for word, meaning in {**words, **COMMON, **words}.items() if is_used(word, text)]
    return "## Words\n\n" + "\n".join(told) if told else ""
