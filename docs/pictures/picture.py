"""What the programs that draw a picture end with."""
import sys


def keep(picture, svg, source, program):
    """Writes the picture, or with --check ends with an error where it is not what the source tells."""
    if "--check" not in sys.argv:
        picture.write_text(svg)
    elif not picture.exists() or picture.read_text() != svg:
        sys.exit(f"{picture} is not what {source}; docs/pictures/{program} draws it anew")
