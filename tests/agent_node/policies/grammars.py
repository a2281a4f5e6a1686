"""A small reader of the grammars that guide servers: is a text admitted, and texts that are, drawn at random."""

import random
import re

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[A-Za-z]\w*|\{\d+(?:,\d*)?\}|[()|?*+]|(?P<space>\s+)|(?P<bad>.)'
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "]": "]"}
_SIGNS = "ab Z09_-.$/\\{}[]>|é漢"
"""Tried where any sign may stand."""


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES[found[1]], text)


class Grammar:
    """Rules as regular expressions of Python: none of them may call itself, or one that calls it."""

    def __init__(self, text: str) -> None:
        self._bodies = dict(line.split(" ::= ", 1) for line in text.splitlines())
        self._made: dict[str, str] = {}
        self._whole = re.compile(self._rule("root"), re.DOTALL)

    def admits(self, text: str) -> bool:
        return self._whole.fullmatch(text) is not None

    def _rule(self, name: str) -> str:
        if name not in self._made:
            parts = []
            for found in _TOKEN.finditer(self._bodies[name]):
                token = found.group()
                assert not found["bad"], (name, token)
                if token[0] == '"':
                    parts.append(f"(?:{re.escape(_plain(token[1:-1]))})")
                elif token[0].isalpha():
                    parts.append(self._rule(token))
                elif not found["space"]:
                    parts.append("(?:" if token == "(" else token)
            self._made[name] = f"(?:{''.join(parts)})"
        return self._made[name]

    def draw(self, seed: int) -> str:
        """A text that is admitted; each choice is as likely as the next, repetitions are short."""
        return _Writer(self._bodies, random.Random(seed)).rule("root")


class _Writer:
    def __init__(self, bodies: dict[str, str], chance: random.Random) -> None:
        self._bodies, self._chance = bodies, chance

    def rule(self, name: str) -> str:
        tokens = [found.group() for found in _TOKEN.finditer(self._bodies[name]) if not found["space"]]
        return self._either(tokens)

    def _either(self, tokens: list[str]) -> str:
        choices: list[list[str]] = [[]]
        depth = 0
        for token in tokens:
            depth += (token == "(") - (token == ")")
            if token == "|" and not depth:
                choices.append([])
            else:
                choices[-1].append(token)
        return self._sequence(self._chance.choice(choices))

    def _sequence(self, tokens: list[str]) -> str:
        written, at = "", 0
        while at < len(tokens):
            end = at + 1
            if tokens[at] == "(":
                depth = 1
                while depth:
                    depth += (tokens[end] == "(") - (tokens[end] == ")")
                    end += 1
            one, least, most = tokens[at:end], 1, 1
            if end < len(tokens) and tokens[end][0] in "?*+{":
                least, most = self._times(tokens[end])
                end += 1
            for _ in range(self._chance.randint(least, max(least, min(most, least + 3)))):
                written += self._one(one)
            at = end
        return written

    @staticmethod
    def _times(sign: str) -> tuple[int, int]:
        if sign[0] != "{":
            return {"?": (0, 1), "*": (0, 9), "+": (1, 9)}[sign]
        least, _, most = sign[1:-1].partition(",")
        return int(least), int(most or (least if "," not in sign else 9))

    def _one(self, tokens: list[str]) -> str:
        token = tokens[0]
        if token == "(":
            return self._either(tokens[1:-1])
        if token[0] == '"':
            return _plain(token[1:-1])
        if token[0] == "[":
            kind = re.compile(token)
            signs = [sign for sign in map(chr, range(32, 127)) if kind.fullmatch(sign)] if token[1] != "^" else _SIGNS
            return self._chance.choice([sign for sign in signs if kind.fullmatch(sign)])
        return self.rule(token)
