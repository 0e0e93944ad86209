"""Files of profiles as people write them, each of which an edit might spoil."""

from __future__ import annotations

_FRONTS = {
    "only a name": "",
    "comments and a flow list": "# mine\nmodel: m # quick\ntools: [ read,bash ]\n",
    "an empty exclusion": "excludeTools: []\n",
    "an empty allowlist": "tools: []\n",
    "lists that contradict each other": "tools: read\nexcludeTools: bash\n",
    "a list beside none": "noTools: true\ntools: read\nexcludeTools: bash, edit\n",
    "skills that contradict each other": "noSkills: true\nloadSkills: a\nsuggestedSkills: b\n",
    "skills": "suggestedSkills: [a, b]\nloadSkills:\n- c\n",
    "an appended line that ends": "appendSystemPrompt: |\n  One.\n",
    "appended lines that end twice": "appendSystemPrompt: |+\n  One.\n  \tTwo.\n\nmodel: m\n",
    "an appended tab": 'appendSystemPrompt: "a\\tb"\n',
    "blanks around words": 'provider: " acme "\nmodel: "m\\u2028n\\x85"\n',
    "fields nobody knows": "modle: m\nthinkingLevel: huge\nisolation: sometimes\n",
    "a path with a comma": 'extensions: ["/a,b.js", "/c.js"]\nnoExtensions: true\n',
    "no extensions": "noExtensions: true\n",
    "arguments and a key": 'extraArgs: [" --x", "a,b"]\napiKey: sk-0123456789-abcdef\n',
    "a level": "thinkingLevel: medium\nnoContextFiles: true\n",
}
_BODIES = {
    "no end": "---\n\nHello.",
    "tabs and blanks": "---   \n\n\n  Hello,\tyou.  \n\n\ttwo\n\n\n",
    "odd breaks": "---\nHello,\u2028you\x0cthere\x85.\n",
}
_WHOLE = {
    "everything on a line": "---\n{name: demo, model: m}\n---\nHello.\n",
    "line ends of another system": "\ufeff---\r\nname: demo\r\n# mine\r\nmodel: m\r\n---\r\n\r\nHi.\r\n",
}

ODD_PROFILES: dict[str, bytes] = {
    **{what: f"---\nname: demo\n{front}---\nHello.\n".encode() for what, front in _FRONTS.items()},
    **{what: f"---\nname: demo\n{body}".encode() for what, body in _BODIES.items()},
    **{what: text.encode() for what, text in _WHOLE.items()},
}
