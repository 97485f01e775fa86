"""`python -m vigil.kind.generate [--check] FOLDER`: the schemas and README tables of the kinds in a folder."""

import pathlib
import sys
from collections.abc import Iterator

from vigil.kind import readme, registry, schema


def main(arguments: list[str]) -> int:
    """Write what is stale, or with --check name it and give 1."""
    check = "--check" in arguments
    (folder,) = (pathlib.Path(one) for one in arguments if one != "--check")
    stale = [(path, text) for path, text in _files(folder) if not path.exists() or path.read_text() != text]
    for path, text in stale:
        if check:
            sys.stderr.write(f"{path} is stale: run make generate\n")
        else:
            path.write_text(text)
    return 1 if check and stale else 0


def _files(folder: pathlib.Path) -> Iterator[tuple[pathlib.Path, str]]:
    for name, kind in registry.load().items():
        home = folder / name
        if home.is_dir():
            yield home / schema.FILE_NAME, schema.render(kind)
            yield home / readme.FILE_NAME, readme.rewrite((home / readme.FILE_NAME).read_text(), kind)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
