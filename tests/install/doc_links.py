"""doc_links.py FOLDER: each link of the HTML files in FOLDER to a file or anchor in FOLDER must resolve. Scripts,
styles, fonts and pictures must also come from FOLDER."""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(value for value in (attributes.get("id"), attributes.get("name")) if value)
        if tag == "a" and attributes.get("href"):
            self.links.append((attributes["href"], False))
        if tag in LOADED and attributes.get(LOADED[tag]):
            self.links.append((attributes[LOADED[tag]], True))

    def error(self, message):
        raise ValueError(message)


def main():
    root = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in root.rglob("*.html")}
    count, faults = 0, []
    for path, page in pages.items():
        for link, loaded in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if loaded and parts.scheme != "data":
                    faults.append(f"{path.relative_to(root)} loads {link}")
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                faults.append(f"{path.relative_to(root)}: {link}: there is no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{path.relative_to(root)}: {link}: there is no such anchor")
    print(f"{len(pages)} pages, {count} links, {len(faults)} faults")
    if faults or count == 0:
        sys.exit("\n".join(sorted(set(faults))) or "there are no links")


if __name__ == "__main__":
    main()
