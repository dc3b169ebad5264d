"""A Sphinx extension: notebooks (.ipynb) are pages, as they are stored, with their outputs; nothing is run.

A notebook is turned into Markdown before it is parsed. Pictures stay within the page, as data.
"""
import json


def fenced(text, language):
    return f"````{language}\n{text.rstrip()}\n````"


def shown(output):
    """An output as Markdown: a picture, else text."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![what the code above draws](data:image/png;base64,{''.join(data['image/png']).replace(chr(10), '')})"
    text = output.get("text", data.get("text/plain"))
    if text is None:
        raise ValueError(f"an output of type {output['output_type']} has neither a picture nor text")
    return fenced("".join(text), "text")


def markdown_of(notebook, name):
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts.append(fenced(source, "python"))
            parts += [shown(output) for output in cell["outputs"]]
    parts.append(f"The notebook: {{download}}`{name} <{name}>`")
    return "\n\n".join(parts) + "\n"


def read(app, document, source):
    path = app.env.doc2path(document)
    if str(path).endswith(".ipynb"):
        source[0] = markdown_of(json.loads(source[0]), str(path).rpartition("/")[2])


def setup(app):
    app.add_source_suffix(".ipynb", "markdown")
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
