from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from tests.fakes.fake_pi_models import ModelsPlace, make_models_place
from tests.unit.core.given_values import briefly, json_values

from pi_subagents.core.value import replace
from pi_subagents.engines.pi.models import config as model_config
from pi_subagents.engines.pi.models.config import models_digest
from pi_subagents.engines.pi.profile.providers import KEY_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = b"s" * 32


@pytest.fixture
def place(tmp_path: Path) -> ModelsPlace:
    place = make_models_place(tmp_path)
    write(place.agent_dir / "extensions/tool/index.ts")
    write(place.project / ".pi/settings.json", "{}")
    return place


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def digest(place: ModelsPlace, *arguments: str, trusted: bool = False) -> str:
    return models_digest(place.setup(*arguments, trusted=trusted), SECRET)


def digest_with(place: ModelsPlace, **env: str) -> str:
    setup = place.setup()
    return models_digest(replace(setup, env={**setup.env, **env}), SECRET)


def test_the_digest_stays_while_nothing_changes(place: ModelsPlace) -> None:
    assert digest(place) == digest(place)
    assert len(digest(place)) == 32


def test_the_digest_is_of_the_secret_too(place: ModelsPlace) -> None:
    assert models_digest(place.setup(), b"t" * 32) != digest(place)


@pytest.mark.parametrize(
    "name",
    [
        "models.json", "models-store.json", "auth.json", "settings.json", "extensions/one.ts",
        "extensions/tool/more.ts", "npm/package.json", "npm/node_modules/.package-lock.json",
        "git/github.com/some/package/index.ts",
    ],
)  # fmt: skip
@pytest.mark.parametrize("base", ["agent", "project"])
def test_a_file_of_the_configuration_that_comes_changes_or_goes_is_noticed(
    place: ModelsPlace, base: str, name: str
) -> None:
    trusted = base == "project"
    path = (place.project / ".pi" if trusted else place.agent_dir) / name
    path.unlink(missing_ok=True)
    seen = [digest(place, trusted=trusted)]
    for text in ("a", "ab"):
        write(path, text)
        seen.append(digest(place, trusted=trusted))
    path.unlink()
    assert digest(place, trusted=trusted) not in seen[1:]
    assert len(set(seen)) == 3


def test_an_old_file_in_place_of_a_new_one_is_noticed(place: ModelsPlace) -> None:
    path = write(place.agent_dir / "models.json", "new")
    before, times = digest(place), path.stat()
    write(path, "old")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert digest(place) != before


def test_size_and_times_tell_one_state_of_a_file_from_another(place: ModelsPlace) -> None:
    path = write(place.agent_dir / "models.json", "four")
    found = path.stat()
    assert list(model_config.Tree().facts(path)) == [
        (str(path), 4, found.st_mtime_ns, found.st_ctime_ns)
    ]


def test_a_link_counts_as_what_it_leads_to(place: ModelsPlace) -> None:
    target = write(place.root / "dotfiles/models.json", '{"apiKey": "$ACME"}')
    (place.agent_dir / "models.json").symlink_to(target)
    before = digest(place)
    assert digest_with(place, ACME="k") != before
    write(target, "other content")
    assert digest(place) != before


def test_what_an_untrusted_project_configures_does_not_count(place: ModelsPlace) -> None:
    before, trusted = digest(place), digest(place, trusted=True)
    write(place.project / ".pi/settings.json", '{"extensions": []}')
    write(place.project / ".pi/extensions/new.ts")
    assert digest(place) == before
    assert digest(place, trusted=True) != trusted


def test_trust_counts_even_where_a_project_configures_nothing(place: ModelsPlace) -> None:
    (place.project / ".pi/settings.json").unlink()
    assert digest(place, trusted=True) != digest(place)


def test_the_agent_directory_of_pi_counts_and_ours_where_it_is_another(place: ModelsPlace) -> None:
    env = {"PI_AGENT_DIR": str(place.root / "ours"), "PI_CODING_AGENT_DIR": str(place.root / "pis")}
    seen = {digest_with(place, **env)}
    for name in ("ours", "pis"):
        write(place.root / name / "models.json")
        seen.add(digest_with(place, **env))
    assert len(seen) == 3


def test_the_program_its_options_and_its_directory_count(place: ModelsPlace) -> None:
    setup = place.setup()
    others = [
        setup,
        replace(setup, pi_argv=(*setup.pi_argv, "x")),
        replace(setup, arguments=("x",)),
        replace(setup, cwd=place.root),
    ]
    assert len({models_digest(each, SECRET) for each in others}) == 4


def test_another_program_at_the_same_place_is_noticed(place: ModelsPlace) -> None:
    before = digest(place)
    place.program.write_text("#!/bin/sh\n")
    assert digest(place) != before


def test_an_extension_on_the_command_line_is_looked_at(place: ModelsPlace) -> None:
    path = write(place.project / "own/tool.ts")
    seen = {digest(place, "-e", "own"), digest(place, "-e", "own/tool.ts")}
    write(path, "changed")
    assert len(seen | {digest(place, "-e", "own"), digest(place, "-e", "own/tool.ts")}) == 4


@pytest.mark.parametrize(
    "settings",
    [
        {"extensions": ["../../mine"]},
        {"packages": ["../../mine"]},
        {"packages": [{"source": "~/mine"}]},
        {"packages": ["npm:other", 7, None], "extensions": ["~/mine/index.ts"]},
    ],
)
def test_extensions_and_packages_of_the_settings_are_looked_at(
    place: ModelsPlace, settings: dict[str, Any]
) -> None:
    write(place.agent_dir / "settings.json", json.dumps(settings))
    path = write(place.root / "home/mine/index.ts")
    before = digest(place)
    write(path, "changed")
    assert digest(place) != before


def test_files_that_are_never_loaded_do_not_count(place: ModelsPlace) -> None:
    before = digest(place)
    for name in ("extensions/tool/node_modules/x.js", "extensions/tool/.git/HEAD", "sessions/x"):
        write(place.agent_dir / name)
    assert digest(place) == before


def test_the_search_ends_in_a_circle_and_at_its_limit(
    place: ModelsPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_config, "MAX_ENTRIES", 50)
    for number in range(3):
        (place.agent_dir / f"extensions/circle{number}").symlink_to(place.agent_dir / "extensions")
    looked_at = list(model_config.Tree().facts(place.agent_dir / "extensions"))
    assert len(looked_at) <= 60


def test_the_search_ends_at_a_depth_that_no_extension_has(place: ModelsPlace) -> None:
    deepest = model_config.MAX_DEPTH
    for depth in (deepest - 1, deepest):
        write(place.agent_dir.joinpath("extensions", *"d" * depth, f"at-{depth}.ts"))
    names = [
        os.path.basename(str(fact[0]))
        for fact in model_config.Tree().facts(place.agent_dir / "extensions")
    ]
    assert (f"at-{deepest - 1}.ts" in names, f"at-{deepest}.ts" in names) == (True, False)


@pytest.mark.parametrize(
    "name",
    [
        *sorted(KEY_NAMES),
        "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT",
        "GOOGLE_CLOUD_LOCATION", "CLOUDFLARE_ACCOUNT_ID", "OLLAMA_HOST", "ACME_BASE_URL",
    ],
)  # fmt: skip
def test_a_key_that_appears_or_changes_is_noticed(place: ModelsPlace, name: str) -> None:
    seen = [digest(place), digest_with(place, **{name: "a"}), digest_with(place, **{name: "b"})]
    assert len(set(seen)) == 3
    assert digest_with(place, **{name: ""}) == seen[0]  # pi takes an empty variable for none


@pytest.mark.parametrize("name", ["PWD", "TERM", "SHLVL", "PI_SESSION_ID", "PI_MODEL", "PI_X_KEY"])
def test_a_variable_that_tells_nothing_of_models_does_not_count(
    place: ModelsPlace, name: str
) -> None:
    assert digest_with(place, **{name: "a"}) == digest_with(place, **{name: "b"}) == digest(place)


@pytest.mark.parametrize("reference", ["$ACME", "${ACME}", "Bearer $ACME!"])
@pytest.mark.parametrize("name", ["models.json", "auth.json", "settings.json"])
def test_a_variable_that_the_configuration_refers_to_counts(
    place: ModelsPlace, name: str, reference: str
) -> None:
    assert digest_with(place, ACME="a") == digest(place)
    write(place.agent_dir / name, json.dumps({"apiKey": reference}))
    assert digest_with(place, ACME="a") != digest(place)


def test_a_login_at_google_is_noticed(place: ModelsPlace) -> None:
    env = {"GOOGLE_APPLICATION_CREDENTIALS": "login.json"}
    seen = {digest_with(place, **env)}
    write(place.root / "home/.config/gcloud/application_default_credentials.json")
    seen.add(digest_with(place, **env))
    write(place.project / "login.json")
    assert len(seen | {digest_with(place, **env)}) == 3


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"extensions": 7}', "[" * 100_000])
def test_settings_that_cannot_be_read_are_no_error(place: ModelsPlace, text: str) -> None:
    write(place.agent_dir / "settings.json", text)
    assert len(digest(place)) == 32


def test_names_no_file_can_have_are_no_error(place: ModelsPlace) -> None:
    write(place.agent_dir / "settings.json", json.dumps({"extensions": ["a\0b", "x" * 5000, ""]}))
    (place.agent_dir / os.fsdecode(b"extensions/\xff.ts")).write_text("x")
    assert len(digest(place, "a\0b", "\udcff", "x" * 5000)) == 32
    assert len(digest_with(place, ODD_KEY="\udcff")) == 32


@given(json_values, json_values)
@briefly
def test_any_settings_give_a_digest(
    tmp_path_factory: pytest.TempPathFactory, extensions: object, packages: object
) -> None:
    place = make_models_place(tmp_path_factory.mktemp("place"))
    settings = {"extensions": extensions, "packages": packages}
    write(place.agent_dir / "settings.json", json.dumps(settings))
    assert len(digest(place)) == 32


def test_a_setup_does_not_show_its_environment(place: ModelsPlace) -> None:
    show: Callable[[object], str] = repr
    assert "sk-secret" not in show(place.setup(ACME_KEY="sk-secret"))
