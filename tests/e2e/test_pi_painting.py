"""What the extension paints, line by line: all of it in one pi, with colours by their names."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Project
from tests.fakes.main_pi import main_pi

from pi_subagents.disk.pi_extension import extension_dir

pytestmark = pytest.mark.pi

PAINTING = Path(__file__).parents[1] / "fakes" / "painting_extension.ts"

FINDINGS = [{"text": f"finding {number}", "kind": "text"} for number in range(1, 5)]
DONE: dict[str, Any] = {
    "name": "review", "status": "completed", "profile": "careful", "provider": "acme", "model": "big",
    "thinkingLevel": "high", "toolCount": 3, "fileCount": 1, "timeoutS": 600, "elapsedMs": 61_999,
    "usage": {"totalTokens": 1234, "cost": {"total": 0.01234}}, "sessionId": "0123456789abcdef",
    "history": FINDINGS,
}  # fmt: skip
FAILED: dict[str, Any] = {
    "name": "build", "status": "error", "timeoutS": None, "elapsedMs": 900, "toolCount": 0,
    "errorMessage": "Timed out after 1s.", "history": [], "sessionId": "fedcba9876543210",
}  # fmt: skip
TOOLS = [
    "read → a.txt:1+5 (5 lines)",
    "edit → a.txt (1 edit) +2/-1",
    "write → b.txt +3",
    "ls → . → 2 files, 1 dir",
    "find → *.py → 3 matches+",
    "bash → echo 2 files +1",
    "│ && true",
]
PROFILED = "(default profile: researcher) profiles: [writer]"
FIGURES = "3 tools • 1 file • 61s/600s • 1.2k tokens $0.0123"


def at_work(**more: object) -> dict[str, Any]:
    return {"index": 0, "status": "running", "elapsedMs": 1500, **more}


CASES: list[tuple[dict[str, Any], list[str]]] = [
    (
        {
            "kind": "call",
            "name": "delegate_to_subagents",
            "args": {"profile": "researcher", "tasks": [{"profile": "writer"}, {}, {"profile": "writer"}]},
        },
        [f"<toolTitle>*delegate_to_subagents*</> <accent>3 sub-agents</><muted> {PROFILED}</>"],
    ),
    (
        {"kind": "call", "name": "delegate_to_subagents", "args": {"tasks": [{"name": "half-strea"}]}},
        ["<toolTitle>*delegate_to_subagents*</> <accent>1 sub-agent</>"],
    ),
    (
        {"kind": "call", "name": "get_subagent_output", "args": {"sessionId": "0123456789abcdef"}},
        ["<toolTitle>*get_subagent_output*</> <accent>0123456789abcdef</>"],
    ),
    (
        {"kind": "call", "name": "subagent", "args": {"preset": "scout", "task": "look\naround"}},
        ["<toolTitle>*subagent*</> <accent>scout</> <muted>look around</>"],
    ),
    (
        {"kind": "call", "name": "subagent", "args": {"tasks": [{"preset": "scout"}, {"preset": "judge"}]}},
        ["<toolTitle>*subagent*</> <accent>scout, judge</>"],
    ),
    ({"kind": "call", "name": "list_subagent_profiles", "args": {}}, ["<toolTitle>*list_subagent_profiles*</>"]),
    (
        {"kind": "windows", "details": {"maxLines": 2, "windows": [DONE, FAILED]}},
        [
            "*Sub-agents: 1 done, 1 error*",
            "",
            f"<success>✓</> *review*<muted> • careful (acme/big high) • {FIGURES}</>",
            "  finding 3",
            "  finding 4",
            "",
            "<error>✗</> *build*<muted> • 0s</>",
            "  <muted>(no output)</>",
            "  <error>Error: Timed out after 1s.</>",
            "",
            "<dim>Session IDs (use with get_subagent_output):</>",
            "    review: <accent>0123456789abcdef</>",
            "    build: <accent>fedcba9876543210</>",
        ],
    ),
    (
        {"kind": "windows", "expanded": True, "width": 44, "details": {"maxLines": 2, "windows": [DONE]}},
        [
            "*Sub-agents: 1 done*",
            "",
            "<success>✓</> *review*<muted> • 61s/600s</>",
            *(f"  finding {number}" for number in range(1, 5)),
            "",
            "<dim>Session IDs (use with get_subagent_output):</>",
            "    review: <accent>0123456789abcdef</>",
        ],
    ),
    (
        {
            "kind": "live",
            "deltas": [
                {
                    "maxLines": 9,
                    "windows": [
                        at_work(title={"name": "look", "timeoutS": 60}, todo={"completed": 1, "total": 3}),
                        {"index": 1, "status": "queued", "place": 1, "title": {"name": "wait"}},
                    ],
                },
                {"windows": [at_work(append=[{"text": text, "kind": "tool"} for text in [*TOOLS[:3], "ls → ."]])]},
                {
                    "windows": [
                        at_work(replaceLast=1, append=[{"text": text, "kind": "tool"} for text in TOOLS[3:]])
                    ]
                },
            ],
        },
        [
            "*Sub-agents: 1 running, 1 queued*",
            "",
            "<warning>⏳</> *look*<muted> • 1s/60s</>",
            "  <muted>→ </><muted>read → a.txt:1+5 </><toolDiffAdded>(5 lines)</>",
            "  <muted>→ </><muted>edit → a.txt (1 edit) </><toolDiffAdded>+2</>/<toolDiffRemoved>-1</>",
            "  <muted>→ </><muted>write → b.txt </><toolDiffAdded>+3</>",
            "  <muted>→ </><muted>ls → . → </><toolDiffAdded>2</><muted> files, </><toolDiffAdded>1</><muted> dir</>",
            "  <muted>→ </><muted>find → *.py → </><toolDiffAdded>3</><muted> matches+</>",
            "  <muted>→ </><muted>bash → echo 2 files +1</>",
            "  <muted>  </><muted>│ && true</>",
            "",
            "<muted>⏳</> *wait*<muted> • queued, place 1</>",
            "",
            "<muted>1 running, 1 queued...</>",
        ],
    ),
    (
        {"kind": "live", "deltas": [{"windows": [at_work(title={"name": "fresh"}, todo={"completed": 1, "total": 3})]}]},
        [
            "*Sub-agents: 1 running*",
            "",
            "<warning>⏳</> *fresh*<muted> • [1/3] • 1s</>",
            "  <muted>(starting...)</>",
            "",
            "<muted>1 running...</>",
        ],
    ),
    (
        {"kind": "text", "content": [{"type": "text", "text": "one\ntwo\nthree\n"}], "details": {"maxLines": 1}},
        ["<toolOutput>one</>", "<dim>... (2 more lines)</>"],
    ),
    (
        {"kind": "text", "whole": True, "content": [{"type": "text", "text": "one\ntwo"}], "details": {"maxLines": 1}},
        ["<toolOutput>one</>", "<toolOutput>two</>"],
    ),
    (
        {"kind": "text", "isError": True, "content": [{"type": "text", "text": "not found"}], "details": {}},
        ["<error>not found</>"],
    ),
    (
        {
            "kind": "end",
            "details": {
                "runId": "0f", "preset": "scout", "task": "look", "status": "completed", "durationMs": 2500,
                "output": "\n".join(f"room {number}" for number in range(1, 18)),
            },
        },
        [
            "<success>✓</> *scout*<muted> • completed in the background • 2s • run 0f</>",
            "  <muted>look</>",
            *(f"  room {number}" for number in range(1, 16)),
            "<dim>... (2 more lines)</>",
        ],
    ),
    (
        {"kind": "end", "details": {"runId": "0f", "preset": "scout", "status": "failed", "errorMessage": "no key"}},
        ["<error>✗</> *scout*<muted> • failed in the background • 0s • run 0f</>", "  no key"],
    ),
]  # fmt: skip


def test_calls_windows_results_and_ends_are_painted_so(project: Project) -> None:
    cases = project.path / "cases.json"
    cases.write_text(json.dumps([wanted for wanted, _ in CASES]))
    shim = {"PI_SUBAGENTS_SHIM": str(extension_dir()), "PI_SUBAGENTS_CASES": str(cases)}
    with main_pi(project, {"text": "unused"}) as pi:
        pi.loading = ("-e", str(PAINTING))
        told = json.loads(pi.ran("-p", "x", **shim).stderr)
    for lines, (wanted, expected) in zip(told["painted"], CASES, strict=True):
        assert lines == expected, wanted
    assert told["redraws"] == 1
