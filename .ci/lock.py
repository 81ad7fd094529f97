"""Write .ci/lock.txt: the exact versions, here installed, of all that `make test` needs.

`make lock` runs it after a green `make test`; `make locked` installs these versions.
"""

from importlib.metadata import distribution, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PLACE = Path(__file__).parent / "lock.txt"
HEAD = (
    "# Versions that `make test` passed with. `make lock` writes this file, `make locked`\n"
    "# installs it, `make audit` looks for known vulnerabilities in it. Users have the ranges\n"
    "# of pyproject.toml.\n"
)


def needed(name: str, extras: frozenset[str], found: dict[str, set[str]]) -> None:
    """Add a distribution with all that it needs, with these extras, to those found."""
    name = canonicalize_name(name)
    known = found.setdefault(name, set())
    if extras and extras <= known:
        return
    if not extras and known:
        return
    known |= extras | {""}
    for text in distribution(name).requires or []:
        one = Requirement(text)
        wanted = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in known)
        if wanted:
            needed(one.name, frozenset(one.extras), found)


def main() -> None:
    found: dict[str, set[str]] = {}
    needed("kitchensinks", frozenset({"test"}), found)
    del found["kitchensinks"]
    PLACE.write_text(HEAD + "".join(f"{name}=={version(name)}\n" for name in sorted(found)))


if __name__ == "__main__":
    main()
