"""What the book needs beyond its configuration file: no Thebe, and buttons that follow the repository's address."""

from __future__ import annotations

REPOSITORY_BUTTONS = ("use_repository_button", "use_issues_button", "use_edit_page_button")
SOURCE_TEXT_FOLDER = "notebooks/src"


def remove_thebe(app) -> None:
    """Undo sphinx-thebe, which Jupyter Book always loads: it puts an outside script and dead settings on every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [one for one in listeners if not one.handler.__module__.startswith("sphinx_thebe")]
    app.registry.css_files[:] = [one for one in app.registry.css_files if "thebe" not in one[0]]


def follow_repository(app, config) -> None:
    """Turn the repository and launch buttons on when ``repository.url`` is set, and off while it is empty."""
    options = config.html_theme_options
    address = (options.get("repository_url") or "").strip()
    for button in REPOSITORY_BUTTONS:
        options[button] = bool(address)
    if not address:
        options.pop("repository_url", None)
    if "//github.com/" not in address:  # Colab opens notebooks from GitHub only
        options.pop("launch_buttons", None)


def edit_source_text(app, pagename, templatename, context, doctree) -> None:
    """Let "Suggest edit" on a chapter open the text that people edit, not the notebook generated from it."""
    folder, _, name = pagename.rpartition("/")
    if folder != "notebooks":
        return
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button.get("label") == "source-edit-button":
                start, _, _ = button["url"].rpartition(f"/{pagename}")
                button["url"] = f"{start}/{SOURCE_TEXT_FOLDER}/{name}.md"


def setup(app) -> dict:
    """Take Thebe out and connect the two handlers."""
    remove_thebe(app)
    app.connect("config-inited", follow_repository)
    app.connect("html-page-context", edit_source_text, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
