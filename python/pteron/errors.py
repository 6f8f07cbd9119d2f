"""The one exception that pteron raises for what went wrong outside Python."""


class Error(Exception):
    """A failure with its parts. `code` is stable across releases ("not_found", "refused", ...); empty parts are empty strings."""

    def __init__(self, message: str, code: str = "internal", file: str = "", field: str = "", expected: str = "", found: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.file = file
        self.field = field
        self.expected = expected
        self.found = found
