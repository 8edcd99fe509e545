"""Named mutants: mistakes that people make in Transformer code, made on purpose in a copy of the package.

`python -m tests.mutants` makes each one in turn and runs the tests against the copy: they must fail. A mutant that
survives is a hole in the tests; one that no longer applies has to follow the code.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Args:
        name: what goes wrong, in a few words.
        file: the module it is made in, below transformer_lab/.
        source: the exact text to replace; it occurs once in the file.
        replacement: the text that takes its place.
        why: why people make this mistake.
        seen_in: public projects that had it.
    """

    name: str
    file: str
    source: str
    replacement: str
    why: str
    seen_in: str = ""

    def apply(self, text: str) -> str:
        """The file's text with the mistake made in it.

        Raises:
            ValueError: the source does not occur exactly once.
        """
        count = text.count(self.source)
        if count != 1:
            raise ValueError(f"mutant {self.name!r} no longer applies: its source occurs {count} times in {self.file}")
        return text.replace(self.source, self.replacement)
