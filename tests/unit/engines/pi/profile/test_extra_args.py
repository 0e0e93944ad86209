from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.core.profile.profile import Profile
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.profile.extra_args import (
    FLAGS,
    REFUSED,
    TAKES_ANYTHING,
    TAKES_WORD,
    TOOL_LISTS,
    TOOL_OPTIONS,
    check_extra_args,
    extra_args_problem,
    words_of_no_option,
)
from pi_subagents.engines.pi.versions import traits_of
from pi_subagents.errors import ExtraArgRefused, RequestError

OLD, NEW = traits_of("0.87.1"), traits_of("1.5.0")
ALLOWED = FLAGS | TAKES_ANYTHING | TAKES_WORD
RESTRICTED = (
    Profile("p", tools=("read",)),
    Profile("p", tools=()),
    Profile("p", exclude_tools=("bash",)),
    Profile("p", exclude_tools=()),
    Profile("p", no_tools=True),
)


def problem(*items: str) -> str:
    return extra_args_problem(Profile("p", extra_args=items), OLD)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("test\0arg", "Invalid extraArg: contains null byte"),
        ("| ls", "Refusing extraArg: potentially unsafe argument '| ls...'"),
        ("& rm", "Refusing extraArg: potentially unsafe argument '& rm...'"),
        ("; echo", "Refusing extraArg: potentially unsafe argument '; echo...'"),
        ("&& rm", "Refusing extraArg: potentially unsafe argument '&& rm...'"),
        (" || exit", "Refusing extraArg: potentially unsafe argument ' || exit...'"),
        ("> file", "Refusing extraArg: potentially unsafe argument '> file...'"),
        (">> file", "Refusing extraArg: potentially unsafe argument '>> file...'"),
        ("< file", "Refusing extraArg: potentially unsafe argument '< file...'"),
        ("<< file", "Refusing extraArg: potentially unsafe argument '<< file...'"),
        ("`whoami`", "Refusing extraArg: potentially unsafe argument '`whoami`...'"),
        ("$HOME", "Refusing extraArg: potentially unsafe argument '$HOME...'"),
        ("\\x", "Refusing extraArg: potentially unsafe argument '\\x...'"),
        ("!x", "Refusing extraArg: potentially unsafe argument '!x...'"),
        ("\t--verbose", "Refusing extraArg: potentially unsafe argument '\t--verbose...'"),
        ("\ufeffx", "Refusing extraArg: potentially unsafe argument '\ufeffx...'"),
        ("--x=a&&b", "Refusing extraArg: potentially unsafe argument '--x=a&&b...'"),
        ("--x=a||b", "Refusing extraArg: potentially unsafe argument '--x=a||b...'"),
        ("--x=a;b", "Refusing extraArg: potentially unsafe argument '--x=a;b...'"),
        ("--x=a>b", "Refusing extraArg: potentially unsafe argument '--x=a>b...'"),
        ("--x=a<b", "Refusing extraArg: potentially unsafe argument '--x=a<b...'"),
        (">" + "x" * 60, f"Refusing extraArg: potentially unsafe argument '>{'x' * 49}...'"),
    ],
)  # fmt: skip
def test_what_the_seeds_refuse_is_refused_in_their_words(item: str, message: str) -> None:
    assert problem(item) == message
    assert problem("--model", item) == message


def test_a_command_in_the_midst_of_a_word_passes_as_documented_since_no_shell_is_there() -> None:
    assert problem("arg$(whoami)") == ""
    assert problem("--model", "arg$(whoami)") == ""


def test_a_leading_blank_is_refused_in_the_words_of_the_seed() -> None:
    message = "Refusing extraArg: potentially unsafe argument ' --verbose...'"
    assert problem(" --verbose") == message


@pytest.mark.parametrize("item", ["--x=a|b", "--x=a&b", "--x=$(whoami)", "--x=`a`", "--x=a\\b !"])
def test_other_marks_are_refused_only_at_the_beginning(item: str) -> None:
    assert problem(item) == ""


def test_a_null_byte_is_told_before_anything_else() -> None:
    assert problem("; --tools\0") == "Invalid extraArg: contains null byte"


@pytest.mark.parametrize("profile", RESTRICTED, ids=str)
@pytest.mark.parametrize(
    "item",
    ["--tools", "-t", "--no-tools", "-nt", "--exclude-tools", "-xt", "--no-builtin-tools", "-nbt",
     "--tools=read", "-t=read", "--no-tools=", "-nt=1", "--exclude-tools=x", "-xt=x",
     "--no-builtin-tools=1", "-nbt=1"],
)  # fmt: skip
def test_tool_options_cannot_undo_a_restriction(profile: Profile, item: str) -> None:
    for items in ((item,), (item, "read"), ("--verbose", item), ("--model", item)):
        changed = Profile(
            "p",
            tools=profile.tools,
            exclude_tools=profile.exclude_tools,
            no_tools=profile.no_tools,
            extra_args=items,
        )
        assert extra_args_problem(changed, OLD) == (
            f'Refusing extraArg "{item}" which would override profile tool restrictions. '
            "Use the dedicated profile fields instead."
        )


def test_without_a_restriction_tools_may_be_chosen_here() -> None:
    assert problem("--tools", "read", "-xt", "bash", "--no-builtin-tools") == ""


REASONS = {
    messages.EXTRA_ARG_MODE: "--mode --print -p",
    messages.EXTRA_ARG_SESSION: (
        "--session --session-id --session-dir --no-session --fork --continue -c --resume -r "
        "--name -n"
    ),
    messages.EXTRA_ARG_ENDS_PI: "--export --help -h --version -v --list-models",
    messages.EXTRA_ARG_TRUST: "--approve -a --no-approve -na",
    messages.EXTRA_ARG_KEY: "--api-key",
    messages.EXTRA_ARG_DASHES: "--",
}


def test_what_is_never_let_through_is_this() -> None:
    expected = {option: why for why, options in REASONS.items() for option in options.split()}
    assert expected == REFUSED


@pytest.mark.parametrize("option", REFUSED)
def test_such_an_option_is_refused_in_every_form_and_place(option: str) -> None:
    refusal = f'Refusing extraArg "{option}": {REFUSED[option]}'
    for items in (
        (option,),
        (option, "value"),
        (f"{option}=text",),
        ("--verbose", option),
        ("--model", option),
        ("--use-theme", option),
        ("--unknown", option),
        ("--model", "m", f"{option}="),
    ):
        assert problem(*items) == refusal


def test_a_refusal_says_what_to_do_and_never_repeats_a_key() -> None:
    assert problem("--api-key=sk-secret") == (
        'Refusing extraArg "--api-key": others can read a key in a command line. '
        "Use the profile field `apiKey`."
    )
    assert problem("--session", "x") == (
        'Refusing extraArg "--session": pi-subagents keeps the sessions of sub-agents. '
        "To go on with one, give its id as the task's `resume`."
    )


@pytest.mark.parametrize(
    ("items", "word"),
    [
        (("hello",), "hello"),
        (("",), ""),
        (("--verbose", "hello"), "hello"),
        (("-x", "hello"), "hello"),
        (("-", "hello"), "hello"),
        (("--model", "m", "hello"), "hello"),
        (("--model", "--verbose", "hello"), "hello"),
        (("--tui-mode", "regular", "hello"), "hello"),
        (("--flag", "value", "hello"), "hello"),
        (("--flag=value", "hello"), "hello"),
        (("--model=m", "hello"), "hello"),
    ],
)
def test_a_word_that_belongs_to_no_option_passes_and_is_noticed(
    items: tuple[str, ...], word: str
) -> None:
    assert problem(*items) == ""
    assert words_of_no_option(Profile("p", extra_args=items), OLD) == (word,)


def test_options_and_their_values_are_no_words_of_their_own() -> None:
    items = ("--model", "m", "--plan", "value", "--verbose", "-x", "--flag=value", "-t", "a")
    assert words_of_no_option(Profile("p", extra_args=items), OLD) == ()


@pytest.mark.parametrize("before", [(), ("--verbose",), ("--flag",), ("--model", "m"), ("-x",)])
def test_a_file_that_would_join_the_prompt_is_refused(before: tuple[str, ...]) -> None:
    assert problem(*before, "@notes.md") == (
        'Refusing extraArg "@notes.md": pi would put that file into the prompt. '
        "Use the task's `files`."
    )


@pytest.mark.parametrize("option", sorted(TAKES_ANYTHING | TAKES_WORD))
def test_an_option_without_its_value_would_take_one_of_ours(option: str) -> None:
    refusal = f'Refusing extraArg "{option}": it needs a value. Give it as the next item.'
    assert problem(option) == refusal
    assert problem("--verbose", option) == refusal


@pytest.mark.parametrize("option", sorted(TAKES_WORD))
def test_a_dash_is_no_value_for_an_option_that_takes_a_word(option: str) -> None:
    refusal = f'Refusing extraArg "{option}": it needs a value. Give it as the next item.'
    assert problem(option, "--verbose") == refusal


@pytest.mark.parametrize(
    "items",
    [
        (),
        ("--verbose",),
        *(((option),) for option in sorted(FLAGS)),
        *((option, "value", "--verbose") for option in sorted(TAKES_ANYTHING | TAKES_WORD)),
        *((option, "@value") for option in sorted(TAKES_ANYTHING | TAKES_WORD)),
        *((option, "-value") for option in sorted(TAKES_ANYTHING - TOOL_LISTS)),
        ("--plan",),
        ("--plan", "value"),
        ("--plan", "--verbose"),
        ("--plan=value", "--verbose"),
        ("-x",),
        ("--model", "a b", "--append-system-prompt", ""),
    ],
    ids=str,
)
def test_everything_else_is_let_through(items: tuple[str, ...]) -> None:
    assert problem(*items) == ""


def test_the_tables_do_not_overlap_and_tools_are_among_them() -> None:
    tables = (FLAGS, TAKES_ANYTHING, TAKES_WORD, frozenset(REFUSED))
    assert sum(map(len, tables)) == len(frozenset().union(*tables))
    long_names = {option for option in ALLOWED if option.endswith("tools")}
    assert long_names | {"-t", "-nt", "-xt", "-nbt"} == TOOL_OPTIONS


def test_a_bad_item_refuses_the_whole_call() -> None:
    check_extra_args(Profile("fine", extra_args=("--verbose",)), OLD)
    with pytest.raises(ExtraArgRefused) as refusal:
        check_extra_args(Profile("mine", extra_args=("--verbose", "; ls")), OLD)
    assert isinstance(refusal.value, RequestError)
    assert refusal.value.profile == "mine"
    assert str(refusal.value) == problem("; ls")


options = st.sampled_from(sorted({*ALLOWED, *REFUSED, "--plan", "-x", "@f", "word"}))
items = st.lists(options | options.map(lambda o: f"{o}=v") | texts | st.text(), max_size=5)


@thoroughly
@given(items, st.sampled_from([Profile("p"), *RESTRICTED]))
def test_any_items_are_let_through_or_refused(given_items: list[str], profile: Profile) -> None:
    heard = extra_args_problem(
        Profile("p", no_tools=profile.no_tools, tools=profile.tools, extra_args=(*given_items,)),
        OLD,
    )
    if heard:
        assert heard.startswith(("Refusing extraArg", "Invalid extraArg"))
        return
    names = {item.partition("=")[0] for item in given_items}
    assert names.isdisjoint(REFUSED)
    if profile.no_tools or profile.tools is not None:
        assert names.isdisjoint(TOOL_OPTIONS)
    # Nothing is left open for what follows to become its value.
    assert problem(*given_items, "@f") == f'Refusing extraArg "@f": {messages.EXTRA_ARG_FILE}'


@pytest.mark.parametrize("option", ["--tools", "-t", "--exclude-tools", "-xt"])
@pytest.mark.parametrize(
    "value", ["+grep", "read,-bash", "*", "ba*", "read, +grep", "read,\ufeff+grep", "a,\u2028-b"]
)
def test_a_list_of_tools_among_them_cannot_come_to_mean_more(option: str, value: str) -> None:
    heard = extra_args_problem(Profile("p", extra_args=(option, value)), NEW)
    assert heard.startswith(f'Refusing extraArg "{value}": "')


def test_a_flag_of_newer_pis_takes_no_value_there() -> None:
    profile = Profile("p", extra_args=("--no-mcp", "word"))
    assert words_of_no_option(profile, NEW) == ("word",)
    assert words_of_no_option(profile, OLD) == (), "there it could be an extension's"
