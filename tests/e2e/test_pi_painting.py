"""What the extension paints, line by line: all of it in one pi, with colours by their names."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Project
from tests.fakes.main_pi import main_pi
from tests.fakes.records import record, with_facts
from tests.fakes.window_lines import added, following_line, kept, path_call, removed, tool_line

from pi_subagents.core.run.record import RunRecord
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.hosts.pi.extension import extension_dir
from pi_subagents.view.picture import part_to_json
from pi_subagents.view.todos import TodoCount
from pi_subagents.view.window import Window, WindowLine, WindowTitle
from pi_subagents.view.window_delta import WindowDeltas, bounded_picture
from pi_subagents.view.window_picture import end_picture

pytestmark = pytest.mark.pi

PAINTING = Path(__file__).parents[1] / "fakes" / "painting_extension.ts"

DELEGATE, OUTPUT, PROFILES = (
    "delegate_to_subagents",
    "get_subagent_output",
    "list_subagent_profiles",
)
DONE = Window(
    WindowTitle("review", "careful", "acme", "big", "high", 3, 1, 600, "0123456789abcdef"),
    "completed",
    elapsed_ms=61_999,
    history=tuple(WindowLine.said(f"finding {number}") for number in range(1, 5)),
    usage=Usage(total_tokens=1234, cost=0.01234),
)
FAILED = Window(
    WindowTitle("build", timeout_s=None, session_id="fedcba9876543210"),
    "error",
    elapsed_ms=900,
    error_message="Timed out after 1s.",
)
TOOLS = [
    tool_line("read → a.txt:1+5 ", added("(5 lines)")),
    tool_line("edit → a.txt (1 edit) ", added("+2"), "/", removed("-1")),
    tool_line("write → b.txt ", added("+3")),
    tool_line("ls → . → ", added("2"), " files, ", added("1"), " dir"),
    tool_line("find → *.py → ", added("3"), " matches+"),
    tool_line("bash → echo 2 files +1"),
    following_line("│ && true"),
]
LONG, FIRST = tool_line("bash → one two three"), tool_line("bash → first")
AT_WORK = Window(WindowTitle("look", timeout_s=60), "running", elapsed_ms=1500)
FRESH = replace(AT_WORK, title=WindowTitle("fresh", timeout_s=None), todo=TodoCount(1, 3))
PROFILED = "<dim>(default profile: researcher)</> <dim>profiles: [writer]</>"
STATUS = "<toolTitle>*Sub-agents: *</>"
FIGURES = "3 tools • 1 file • 61s/600s • 1.2k tokens $0.0123"
RUN = record("0f", "5e", preset="scout", task="look", cwd="/w", duration_ms=2500)
# What the version before this one left in session files.
OLD = {
    "status": "done",
    "maxLines": 9,
    "windows": [{"name": "old", "history": [{"text": "said", "kind": "text"}]}],
}


def text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def over(windows: list[Window], max_lines: int, **how: object) -> dict[str, Any]:
    details = {"picture": bounded_picture(windows, max_lines)}
    return {"kind": "result", "name": DELEGATE, "details": details, **how}


def live(max_lines: int, *instants: list[Window], **how: object) -> dict[str, Any]:
    deltas = WindowDeltas(max_lines)
    return {"kind": "live", "changes": [deltas.since(windows) for windows in instants], **how}


def called(window: Window, *lines: WindowLine) -> Window:
    return replace(window, history=lines, line_count=len(lines))


def ended(run: RunRecord) -> dict[str, Any]:
    picture = [part_to_json(part) for part in end_picture(run, run.output)]
    return {"kind": "end", "content": "unused", "details": {"picture": picture}}


CASES: list[tuple[dict[str, Any], list[str]]] = [
    (
        {
            "kind": "call",
            "name": DELEGATE,
            "args": {"profile": "researcher", "tasks": [{"profile": "writer"}, {}, {"profile": "writer"}]},
        },
        [f"<toolTitle>*delegate_to_subagents*</> <accent>3 sub-agents</> {PROFILED}"],
    ),
    (
        {"kind": "call", "name": DELEGATE, "args": {"tasks": [{"name": "half-strea"}]}},
        ["<toolTitle>*delegate_to_subagents*</> <accent>1 sub-agent</>"],
    ),
    (
        {"kind": "call", "name": OUTPUT, "args": {"sessionId": "0123456789abcdef"}},
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
    ({"kind": "call", "name": PROFILES, "args": {}}, [f"<toolTitle>*{PROFILES}*</>"]),
    (
        over([DONE, FAILED], 2),
        [
            f"{STATUS}<success>1 done</><dim>, </><error>1 error</>",
            "",
            f"<success>✓</> <accent>*review*</><dim> • careful (acme/big high) • {FIGURES}</>",
            "  finding 3",
            "  finding 4",
            "",
            "<error>✗</> <accent>*build*</><dim> • 0s</>",
            "  <muted>(no output)</>",
            "  <error>Error: Timed out after 1s.</>",
            "",
            "<dim>Session IDs (use with get_subagent_output):</>",
            "    review: <accent>0123456789abcdef</>",
            "    build: <accent>fedcba9876543210</>",
        ],
    ),
    (
        over([DONE], 2, expanded=True, width=44),
        [
            f"{STATUS}<success>1 done</>",
            "",
            "<success>✓</> <accent>*review*</><dim> • 61s/600s</>",
            *(f"  finding {number}" for number in range(1, 5)),
            "",
            "<dim>Session IDs (use with get_subagent_output):</>",
            "    review: <accent>0123456789abcdef</>",
        ],
    ),
    (
        over([replace(FAILED, error_message="one two three four")], 2, width=16),
        [
            f"{STATUS}<error>1 e…",
            "",
            "<error>✗</> <accent>*build*</><dim> • 0s</>",
            "  <muted>(no output)</>",
            "  <error>Error: one two",
            "  <error>three four</>",
            "",
            "<dim>Session IDs (use",
            "<dim>with",
            "<dim>get_subagent_out",
            "<dim>put):</>",
            "    build:",
            "<accent>fedcba9876543210</>",
        ],
    ),
    (
        live(
            9,
            [AT_WORK, Window(WindowTitle("wait"))],
            [called(AT_WORK, *TOOLS[:3], tool_line("ls → .")), Window(WindowTitle("wait"))],
            [called(AT_WORK, *TOOLS), Window(WindowTitle("wait"))],
        ),
        [
            f"{STATUS}<warning>1 running</><dim>, </><muted>1 queued</>",
            "",
            "<warning>⏳</> <accent>*look*</><dim> • 1s/60s</>",
            "  <muted>→ </><muted>read → a.txt:1+5 </><toolDiffAdded>(5 lines)</>",
            "  <muted>→ </><muted>edit → a.txt (1 edit) </><toolDiffAdded>+2</><muted>/</><toolDiffRemoved>-1</>",
            "  <muted>→ </><muted>write → b.txt </><toolDiffAdded>+3</>",
            "  <muted>→ </><muted>ls → . → </><toolDiffAdded>2</><muted> files, </><toolDiffAdded>1</><muted> dir</>",
            "  <muted>→ </><muted>find → *.py → </><toolDiffAdded>3</><muted> matches+</>",
            "  <muted>→ </><muted>bash → echo 2 files +1</>",
            "  <muted>  </><muted>│ && true</>",
            "",
            "<muted>⏳</> <accent>*wait*</><dim> • queued, place 1</>",
            "",
            "<muted>1 running, 1 queued...</>",
        ],
    ),
    (
        live(9, [FRESH]),
        [
            f"{STATUS}<warning>1 running</>",
            "",
            "<warning>⏳</> <accent>*fresh*</><dim> • [1/3] • 1s</>",
            "  <muted>(starting...)</>",
            "",
            "<muted>1 running...</>",
        ],
    ),
    (
        live(1, [called(AT_WORK, LONG)], [called(AT_WORK, *[LONG] * 600)], width=14),
        [
            f"{STATUS}<warning>1…",
            "",
            "<warning>⏳</> <accent>*look*</><dim> • 1s/…",
            "  <muted>→ </><muted>bash → on…",
            "",
            "<muted>1 running...</>",
        ],
    ),
    (
        live(
            9,
            [
                called(
                    AT_WORK,
                    path_call("write", "src/deep/a.py", " ", added("+3")),
                    tool_line("bash → echo one two…", kept(" &&")),
                    path_call("read", f"a/{'n' * 40}"),
                )
            ],
            width=26,
        ),
        [
            f"{STATUS}<warning>1 running</>",
            "",
            "<warning>⏳</> <accent>*look*</><dim> • 1s/60s</>",
            "  <muted>→ </><muted>write → src/d…<muted>/a.py </><toolDiffAdded>+3</>",
            "  <muted>→ </><muted>bash → echo one tw…<muted> &&</>",
            "  <muted>→ </><muted>read → a</><muted>/nnnnnnnnnnnn…",
            "",
            "<muted>1 running...</>",
        ],
    ),
    (
        live(1, [called(AT_WORK, FIRST)], [called(AT_WORK, FIRST, *[tool_line("bash → x")] * 500)], expanded=True),
        [
            f"{STATUS}<warning>1 running</>",
            "",
            "<warning>⏳</> <accent>*look*</><dim> • 1s/60s</>",
            *["  <muted>→ </><muted>bash → x</>"] * 500,
            "",
            "<muted>1 running...</>",
        ],
    ),
    (
        {"kind": "result", "name": DELEGATE, "details": {"picture": [{"rows": [[["text", "no such colour"]]]}]}},
        ["text"],
    ),
    (
        {"kind": "result", "name": OUTPUT, "content": text("one\ntwo\nthree\n"), "details": {"maxLines": 1}},
        ["<toolOutput>one</>", "<dim>... (2 more lines)</>"],
    ),
    (
        {"kind": "result", "name": OUTPUT, "content": text("one\ntwo"), "details": {"maxLines": 1}, "expanded": True},
        ["<toolOutput>one</>", "<toolOutput>two</>"],
    ),
    (
        {"kind": "result", "name": OUTPUT, "content": text("\n".join("abc"))},
        ["<toolOutput>a</>", "<toolOutput>b</>", "<toolOutput>c</>"],
    ),
    (
        {"kind": "result", "name": OUTPUT, "content": text("\n".join("x" * 16))},
        [*["<toolOutput>x</>"] * 15, "<dim>... (1 more line)</>"],
    ),
    (
        {"kind": "result", "name": PROFILES, "content": text("\n".join("x" * 16)), "details": {"maxLines": 1}},
        ["<toolOutput>x</>"] * 16,
    ),
    (
        {"kind": "result", "name": OUTPUT, "isError": True, "content": text("not found"), "details": {}},
        ["<error>not found</>"],
    ),
    (
        {"kind": "result", "name": DELEGATE, "content": text("✓ old: completed"), "details": OLD},
        ["<toolOutput>✓ old: completed</>"],
    ),
    (
        ended(with_facts(RUN, output="\n".join(f"room {number}" for number in range(1, 18)))),
        [
            "",
            "<success>✓</> *scout*<muted> • completed in the background • 2s • run 0f</>",
            "  <muted>look</>",
            *(f"  room {number}" for number in range(1, 16)),
            "  <dim>... (2 more lines)</>",
            "",
        ],
    ),
    (
        ended(with_facts(RUN, status="failed", task="", duration_ms=0, error_message="no key")),
        ["", "<error>✗</> *scout*<muted> • failed in the background • 0s • run 0f</>", "  no key", ""],
    ),
    (
        {"kind": "end", "content": "Background agent scout completed", "details": {"runId": "0f", "output": "rooms"}},
        ["", "Background agent scout completed", ""],
    ),
]  # fmt: skip


def test_calls_windows_results_and_ends_are_painted_so(project: Project) -> None:
    cases = project.path / "cases.json"
    cases.write_text(json.dumps([wanted for wanted, _ in CASES]))
    shim = {"PI_SUBAGENTS_SHIM": str(extension_dir()), "PI_SUBAGENTS_CASES": str(cases)}
    with main_pi(project, {"text": "unused"}) as pi:
        pi.loading = ("-e", str(PAINTING))
        heard = json.loads(pi.ran("-p", "x", **shim).stderr)
    for lines, (wanted, expected) in zip(heard["painted"], CASES, strict=True):
        assert lines == expected, wanted
    changes = [len(wanted["changes"]) for wanted, _ in CASES if wanted["kind"] == "live"]
    assert heard["redraws"] == sum(changes)
