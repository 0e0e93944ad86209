"""
Take out of a text what nobody else may read: keys, tokens and passwords.

In: a text, or a value with texts in it, and secrets that are known.  Out: the same with a mark in
their place.  Known secrets go wherever they stand; what is not known goes by its form (those of
well-known services, private keys, addresses with a password) or by the name it is given to.
Whoever cuts a text does it afterwards: half a key has no form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pi_subagents.core.plain_text import printable
from pi_subagents.core.value import as_dict, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = "[redacted]"
LEAST = 6  # characters of a known secret: a shorter one is in every other word
_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEYS = (
    r"sk-(?=[\w-]*\d)[\w-]{16,}"  # OpenAI, Anthropic and many that do as they do
    r"|(?:sk|rk|pk)_(?:live|test)_\w{10,}|whsec_[\w+/=]{16,}"  # Stripe
    r"|gh[pousr]_\w{20,}|github_pat_\w{20,}|gl(?:pat|ptt|dt|rt|cbt)-[\w-]{16,}"
    r"|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}"  # Slack
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{16,}"
    r"|npm_\w{30,}|pypi-[\w-]{32,}|hf_\w{24,}|gsk_\w{24,}|xai-\w{24,}|r8_\w{24,}"
    r"|pplx-\w{24,}|SG\.[\w-]{16,}\.[\w-]{16,}|do[oprt]_v1_\w{32,}|dapi[0-9a-f]{32}"
    r"|hv[sbr]\.[\w-]{20,}|lin_api_\w{20,}|sq0[a-z]{3}-[\w-]{20,}|shp(?:at|ss|ca|pa)_\w{20,}"
    r"|AGE-SECRET-KEY-1[0-9A-Z]{40,}|\d{8,10}:AA[\w-]{30,}"  # age, Telegram
    r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"  # a JSON Web Token
)
_FORMS = re.compile(
    "|".join(
        (
            rf"{_BEGIN}[\s\S]{{0,8000}}?{_END}",
            rf"{_BEGIN}(?:(?:\\[nr]|[\s+>|\"'])*+[A-Za-z0-9/+=]{{16,}}+)*+",  # its end was cut off
            rf"(?<![A-Za-z0-9])(?:{_KEYS})",
            r"https://hooks\.slack\.com/(?:services|workflows)/[\w/]{10,}",
            r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}",
        )
    )
)
_NAMES = (
    r"(?:api[-_ ]?key|access[-_]?key|account[-_]?key|private[-_]?key|signing[-_]?key"
    r"|secret(?!ar)|token(?!s(?![a-z])|i[sz])|passw(?:or)?d(?!s(?![a-z]))|passphrase|credential)"
)
# After what comes before the secret as the first group, the secret is the second.
_PLACED = (
    re.compile(
        r"(\bauthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:[a-z]{3,12}\s{1,4})?)([^\s\"',]{4,})",
        re.IGNORECASE,
    ),
    re.compile(r"(\bbearer\s{1,4})((?=[^\s]*\d)[\w.~+/=-]{12,})", re.IGNORECASE),
    re.compile(r"(\b(?:set-)?cookie[\"']?\s{0,4}:\s{0,4}[\"']?)([^\r\n\"']{4,})", re.IGNORECASE),
    re.compile(r"([a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,100}:)([^\s/@\"'<>]{1,300})(?=@)"),
    re.compile(r"([a-z][a-z0-9+.-]{1,20}://)([^\s/:@\"'<>]{16,300})(?=@)"),
    re.compile(
        r"([?&;](?:sig|signature|key|code|auth|x-amz-[a-z-]{3,30}|x-goog-[a-z-]{3,30})=)"
        r"([^&\s\"'<>]{8,})",
        re.IGNORECASE,
    ),
    re.compile(r"(\bmachine\s+\S+\s+login\s+\S+\s+password\s+)(\S+)", re.IGNORECASE),
    re.compile(r"((?<!\S)(?:-u|--user)[ =][\"']?[^\s:\"']{1,100}:)([^\s\"']+)"),
    re.compile(rf"(--?[a-z-]{{0,30}}{_NAMES}[a-z-]{{0,30}}[ =][\"']?)([^\s\"'-][^\s\"']{{3,}})"),
)
_NAMED = re.compile(
    rf"({_NAMES}[\w-]{{0,40}})(\\?[\"'\])]{{0,2}}\s{{0,4}}(?:=>|:=|==?|:|\bis\s)\s{{0,4}}(?:[bfr](?=[\"'`]))?)"
    r"(?:(\\?[\"'`])((?:(?!\3)[^\n]){4,1000}?)(?=\3)|([^\s\"'`,;&<>(){}\[\]|]{4,}+)(?![(\[]))",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"(?:\$|%|<|\{|\[redacted|process\.env|os\.environ|env[.:(])"  # where it comes from
    r"|(?:[*.xX…•_-]+|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)$"  # a place held for it, a variable
    r"|(?:str|string|bytes|text|none|null|nil|true|false|undefined|required|optional|any|object"
    r"|missing|invalid|expired|unset|unknown|empty|value|password|token|secret|example)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_SHORT, _LONG = 8, 16


class Redactor:
    """What takes secrets out; `places` are directories with other names."""

    def __init__(self, known: Iterable[str] = (), places: Mapping[str, str] | None = None) -> None:
        secrets = sorted({each for each in known if len(each) >= LEAST}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, secrets))) if secrets else None
        self._places = [
            (re.compile(rf"{re.escape(path)}(?![\w.-])"), name)
            for path, name in (places or {}).items()
        ]

    def text(self, text: str) -> str:
        """Return a text without secrets, safe to print: nothing invisible can hide one."""
        text = printable(text)
        if self._known is not None:
            text = self._known.sub(MARK, text)
        text = _FORMS.sub(MARK, text)
        for placed in _PLACED:
            text = placed.sub(_mark_second, text)
        text = _NAMED.sub(_mark_named, text)
        for path, name in self._places:
            text = path.sub(lambda _, name=name: name, text)  # type: ignore[misc]  # of each place
        return text

    def anything(self, content: Any) -> Any:
        """Return a value, a list or an object with every text in it redacted."""
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, tuple | list):
            return type(content)(map(self.anything, content))
        if isinstance(content, Mapping):
            return {self.text(str(name)): self._member(name, it) for name, it in content.items()}
        if hasattr(content, "__match_args__"):
            return replace(content, **self.anything(as_dict(content)))
        return content

    def _member(self, name: object, content: Any) -> Any:
        """Return what stands under a name, which may say that it is a secret."""
        if isinstance(content, str) and "\n" not in content:
            alone = f'{name}="{content}"'
            return content if self.text(alone) == alone else self._alone(content)
        return self.anything(content)

    def _alone(self, content: str) -> str:
        redacted = self.text(content)
        return MARK if redacted == content else redacted


def _mark_second(found: re.Match[str]) -> str:
    kept = found[2].startswith(MARK[:-1]) or _NO_SECRET.match(found[2])
    return found[0] if kept else found[1] + MARK


def _mark_named(found: re.Match[str]) -> str:
    name, between, quote, quoted, bare = cast("tuple[str, str, str, str, str]", found.groups())
    in_prose = between.strip() == "is" and not _DIGIT.search(quoted or bare)
    if in_prose or not _is_secret(name, quoted or bare, is_quoted=bool(quoted)):
        return found[0]
    return f"{name}{between}{quote or ''}{MARK}"


def _is_secret(name: str, given: str, *, is_quoted: bool) -> bool:
    """Return whether what is given to such a name is a secret, and no code or prose."""
    if _NO_SECRET.match(given):
        return False
    is_password, is_variable = name.lower().startswith("pass"), name.isupper()
    if any(map(str.isspace, given)):
        return is_variable or name.lower().startswith("passphrase")
    if is_password or is_variable:
        return True
    has_digit = _DIGIT.search(given) is not None
    if is_quoted:
        return has_digit or len(given) >= _SHORT
    return (has_digit and not given.isdecimal()) or len(given) >= _LONG + _SHORT
