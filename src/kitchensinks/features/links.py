"""Where the documentation of a class is, for the HTML that scikit-learn shows in notebooks."""

from functools import cache
from importlib import metadata

from sklearn.base import BaseEstimator


@cache
def documentation() -> str:
    """The address of the site, as the project's metadata name it (`Documentation`); or ""."""
    try:
        named = metadata.metadata("kitchensinks").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    addresses = dict(one.split(", ", 1) for one in named)
    return addresses.get("Documentation", "").rstrip("/")


class Linked(BaseEstimator):
    """An object with scikit-learn's parameters whose HTML links to its page of the reference.

    Without an address there is no link, nor for classes of other packages that derive from ours.
    """

    _doc_link_module = "kitchensinks"

    @property
    def _doc_link_template(self) -> str:
        site = documentation()
        return f"{site}/reference/{{name}}.html" if site else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}
