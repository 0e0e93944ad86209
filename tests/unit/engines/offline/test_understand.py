import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.engines.offline.asks import (
    Ask,
    AskKind,
    AskSomebody,
    CountText,
    FindFiles,
    Headings,
    ListFolder,
    ReadFile,
    SearchText,
)
from pi_subagents.engines.offline.understand import MAX_ASKS, Understanding, understand

PYTHON = AskKind("Python file", "Python files", ("*.py",))
MARKDOWN = AskKind("Markdown file", "Markdown files", ("*.md",))
FILES = AskKind("file", "files")
FOLDERS = AskKind("folder", "folders", (), folders=True)
TOML = AskKind(".toml file", ".toml files", ("*.toml",))


def named(pattern: str) -> AskKind:
    return AskKind(f"file named {pattern}", f"files named {pattern}", (pattern,))


@pytest.mark.parametrize(
    ("text", "ask"),
    [
        ("list docs", ListFolder("docs")),
        ("Ask which database to use.", AskSomebody("Which database to use?")),
        ("ask me whether 'a and b' is right", AskSomebody("Whether a and b is right?")),
        ("List all files in the current directory.", ListFolder(".")),
        ("What is in docs?", ListFolder("docs")),
        ("what files are in docs", ListFolder("docs")),
        ("list my 'odd name; rm -rf ~' folder", ListFolder("odd name; rm -rf ~")),
        ("list docs/*.md", ListFolder("docs/*.md")),
        ("list the folders in src", FindFiles(FOLDERS, "src")),
        ("which Python files are in src", FindFiles(PYTHON, "src")),
        ("count the Python files in src", FindFiles(PYTHON, "src", count_only=True)),
        ("How many Python files are there in src?", FindFiles(PYTHON, "src", count_only=True)),
        ("how many files are there?", FindFiles(FILES, ".", count_only=True)),
        ("tell me how many .toml files are here", FindFiles(TOML, ".", count_only=True)),
        ("count the .toml files", FindFiles(TOML, ".", count_only=True)),
        ("count the lines in README.md", CountText("line", None, "README.md")),
        ("How many words does README.md have?", CountText("word", None, "README.md")),
        ("count the lines of Python code in src", CountText("line", PYTHON, "src")),
        ("count the lines in the Python files in src", CountText("line", PYTHON, "src")),
        ("count occurrences of TODO in src", SearchText("TODO", "src", count_only=True)),
        ("find pyproject.toml", FindFiles(named("pyproject.toml"), ".")),
        ("find all *.toml files", FindFiles(TOML, ".")),
        ('find files named "*.md" in docs', FindFiles(named("*.md"), "docs")),
        ("find the Markdown files in docs", FindFiles(MARKDOWN, "docs")),
        ("find README", FindFiles(named("*README*"), ".")),
        ("search for TODO in src", SearchText("TODO", "src")),
        ("search src for `read and list it`", SearchText("read and list it", "src")),
        ("search for foo in bar in src", SearchText("foo in bar", "src")),
        ("search for def main", SearchText("def main", ".")),
        ("grep TODO in src", SearchText("TODO", "src")),
        ("search for TODO in the Python files in src", SearchText("TODO", "src", PYTHON)),
        ("read pyproject.toml", ReadFile("pyproject.toml")),
        ("Please read the first 20 lines of README.md.", ReadFile("README.md", 20)),
        ("read README.md, first 5 lines", ReadFile("README.md", 5)),
        ("read 'a b.txt'", ReadFile("a b.txt")),
        ("show me the contents of LICENSE", ReadFile("LICENSE")),
        ("show me the contents of docs", ListFolder("docs")),
        ("summarise the headings of README.md", Headings("README.md")),
        ("Summarize the headings in docs/*.md", Headings("docs/*.md")),
        ("summarise README.md", Headings("README.md")),
        ("write a poem", None),
        ("explain the architecture of this project", None),
        ("read the file src/a b.py", None),
        ("", None),
    ],
)
def test_a_plain_request_is_understood_as_one_ask(text: str, ask: Ask | None):
    assert understand(text) == Understanding(() if ask is None else (ask,))


def test_requests_joined_by_and_or_then_are_all_understood():
    text = "Count the Python files in src and list docs, then read LICENSE."

    assert understand(text) == Understanding(
        (FindFiles(PYTHON, "src", count_only=True), ListFolder("docs"), ReadFile("LICENSE"))
    )


def test_what_to_do_with_the_answer_is_no_request_of_its_own():
    text = "count the Python files in src and tell me the number"

    assert understand(text) == Understanding((FindFiles(PYTHON, "src", count_only=True),))


def test_a_clause_that_is_not_understood_is_named():
    text = "List docs. Then sing 'la la'."

    assert understand(text) == Understanding((ListFolder("docs"),), ("sing la la",))


def test_a_wrapped_sentence_is_read_as_one():
    text = "Summarise the headings\nof README.md"

    assert understand(text) == Understanding((Headings("README.md"),))


def test_the_last_paragraph_that_asks_for_something_counts():
    text = "list src\n\nlist docs\n\nThis matters to me."

    assert understand(text) == Understanding((ListFolder("docs"),))


def test_prepended_files_are_no_requests():
    text = "=== notes.txt ===\nlist src\n\n=== b ===\nread b\n\nNow list docs."

    assert understand(text) == Understanding((ListFolder("docs"),))
    assert understand("=== notes.txt ===\nlist src\n\nThink hard.") == Understanding()


def test_what_was_said_before_a_resume_is_history():
    text = "Previously:\n\nUser: x\nlist src\n\nInstructions:\n\nThink again."

    assert understand(text) == Understanding()
    assert understand(text + "\n\nlist docs") == Understanding((ListFolder("docs"),))


def test_a_flood_of_requests_is_bounded():
    assert understand("\n".join(["list docs"] * 100)).asks == (ListFolder("docs"),) * MAX_ASKS


@pytest.mark.parametrize(
    "text", [" " * 5_000_000, "list " * 1_000_000, "\n" * 1_000_000, "'" * 99_999]
)
def test_huge_texts_are_read_in_bounded_time_and_not_understood(text: str):
    assert understand(text) == Understanding()


WORDS = ["list", "count", "the", "files", "in", "for", "search", "read", "first", "lines", "of"]
WORDS += [
    "and",
    "then",
    "'",
    '"',
    "`",
    ".",
    "..",
    "src",
    "*.py",
    "\n",
    "\n\n",
    "\x00",
    "9",
    "how many",
]


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=30).map(" ".join))
def test_no_text_raises(text: str):
    assert isinstance(understand(text), Understanding)
