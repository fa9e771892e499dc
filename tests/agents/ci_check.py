# tests/agents/ci_check.py — Goal: the files for the CI of others do what they are for. Their schemas are checked; the
# commands of the GitHub action, of the GitLab template and of the pre-commit hook are played, with the wheel of this
# build; the container is built and run by buildah.
"""Usage: ci_check.py PART --deadrank PROGRAM --build DIRECTORY; exit code 77 if something is missing."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from clients import use_clients

SOURCE = Path(__file__).resolve().parents[2]
CI = SOURCE / "runners/suites/ci"
LACKING = 77
COMMAND = "run communication/rank_leaves_all_reduce --junit deadrank.xml"


class Lacking(Exception):
    """This machine lacks something, as a sentence."""


def shell(script, **options):
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    return done.returncode, done.stdout


def wheel_of(build):
    """The wheel of this build, made by its own target, which does nothing where it is new."""
    code, said = shell(f"cmake --build '{build}' --target packages")
    assert code == 0, said
    wheels = list((build / "packages").glob("deadrank-*.whl"))
    if not wheels:
        raise Lacking("no wheel: an archive of a library is missing, as `cmake` says when it configures")
    return wheels[0]


def bare_environment(place):
    """That of a job: no deadrank is installed, and nothing of this user's."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(place), "LANG": "C.UTF-8"}


def check_schemas(_):
    check = Path(sys.executable).parent / "check-jsonschema"
    if not check.exists():
        raise Lacking(f"{check} is not installed: ./dev tools prepares it")
    for schema, file in (("github-actions", CI / "action.yml"), ("gitlab-ci", CI / "gitlab.yml"),
                         ("citation-file-format", SOURCE / "CITATION.cff")):
        code, said = shell(f"'{check}' --builtin-schema vendor.{schema} '{file}'")
        assert code == 0, said


def check_action(arguments):
    """The steps of the composite action, with the variables and files that a runner gives to them."""
    import yaml

    action = yaml.safe_load((CI / "action.yml").read_text())
    wheel = wheel_of(arguments.build)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        surroundings = bare_environment(place) | {
            "RUNNER_TEMP": name, "GITHUB_PATH": f"{name}/path", "GITHUB_ENV": f"{name}/env"}
        inputs = {key: value.get("default", "") for key, value in action["inputs"].items()}
        inputs |= {"wheel": str(wheel), "command": COMMAND}

        def filled(text):
            for key, value in inputs.items():
                text = text.replace("${{ inputs.%s }}" % key, value)
            assert "${{" not in text, text
            return text

        for step in action["runs"]["steps"]:
            if "run" not in step:
                assert step["uses"].startswith("actions/upload-artifact@"), step
                continue
            own = {key: filled(value) for key, value in step.get("env", {}).items()}
            code, said = shell(filled(step["run"]), cwd=place, env=surroundings | own)
            assert code == 0, said
            for line in (place / "path").read_text().split():
                surroundings["PATH"] = f"{line}:{surroundings['PATH']}"
            surroundings |= dict(line.split("=", 1) for line in (place / "env").read_text().splitlines())
        assert 'failures="0"' in (place / "deadrank.xml").read_text()
        inputs["command"] = f"run '{SOURCE}/tests/suites/pytest_project/scenarios/wrong_rank_expected.toml'"
        code, said = shell(filled(action["runs"]["steps"][1]["run"]), cwd=place, env=surroundings)
        assert code == 1, f"a scenario that fails must fail the step: {said}"


def check_gitlab(arguments):
    """The scripts of a job that extends the template."""
    import yaml

    template = yaml.safe_load((CI / "gitlab.yml").read_text())[".deadrank"]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        surroundings = bare_environment(place) | template["variables"] | {"DEADRANK_WHEEL": str(wheel_of(arguments.build))}
        code, said = shell("\n".join([*template["before_script"], f"deadrank {COMMAND}"]), cwd=place, env=surroundings)
        assert code == 0, said
        assert (place / template["artifacts"]["reports"]["junit"]).exists()


def check_hook(arguments):
    """pre-commit itself refuses a scenario that cannot be read, with its place, and passes one that can."""
    program = Path(sys.executable).parent / "pre-commit"
    if not program.exists():
        raise Lacking(f"{program} is not installed: ./dev tools prepares it")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "bin").mkdir()
        (place / "bin/deadrank").symlink_to(arguments.deadrank)
        work = place / "work"
        (work / "scenarios").mkdir(parents=True)
        shutil.copy(CI / "pre-commit.yaml", work / ".pre-commit-config.yaml")
        good = work / "scenarios/good.toml"
        shutil.copy(SOURCE / "tests/suites/pytest_project/scenarios/rank_is_lost.toml", good)
        surroundings = bare_environment(place) | {"PATH": f"{place / 'bin'}:/usr/bin:/bin"}
        again = f"git add -A && '{program}' run --all-files"
        code, said = shell(f"git init -q . && {again}", cwd=work, env=surroundings)
        assert code == 0 and "Passed" in said, said
        (work / "scenarios/bad.toml").write_text(good.read_text().replace("[workload]", "[wrokload]"))
        code, said = shell(again, cwd=work, env=surroundings)
        assert code == 1 and "bad.toml:" in said and "wrokload" in said and "good.toml" not in said, said


def check_container(arguments):
    """Debian's packages make the base image, since no registry is asked."""
    wheel = wheel_of(arguments.build)
    for program in ("buildah", "mmdebstrap"):
        if not shutil.which(program):
            raise Lacking(f"there is no {program}: apt-get install {program}")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        options = f"--root '{place}/storage' --runroot '{place}/run' --storage-driver vfs"
        buildah = f"buildah {options}"
        base = place / "base.tar"
        code, said = shell(f"cd / && mmdebstrap --quiet --variant=essential --include=apt,ca-certificates bookworm '{base}'")
        if code:
            raise Lacking(f"Debian cannot be reached: {said[-300:]}")
        (place / "context").mkdir()
        shutil.copy(wheel, place / "context")
        code, said = shell(
            f"c=$({buildah} from scratch) && {buildah} add -q $c '{base}' / && {buildah} commit -q $c localhost/base && "
            f"{buildah} build --isolation chroot --network host --build-arg IMAGE=localhost/base -t deadrank "
            f"-f '{CI}/Containerfile' '{place}/context'")
        assert code == 0, said[-3000:]
        run = f"c=$({buildah} from localhost/deadrank) && {buildah} run --isolation chroot $c -- "
        code, said = shell(f"{run} sh -c 'id -un; deadrank run communication/rank_leaves_all_reduce'")
        assert code == 0 and said.startswith("deadrank\n") and "1 pass" in said, said
        sizes = {}
        for image in ("base", "deadrank"):
            code, said = shell(f"c=$({buildah} from localhost/{image}) && m=$({buildah} mount $c) && du -sm $m | cut -f 1")
            assert code == 0, said
            sizes[image] = int(said.split()[-1])
        added = sizes["deadrank"] - sizes["base"]
        assert added < 250, f"Python and deadrank add {added} MB to the base image"
        print(f"Python and deadrank add {added} MB to the base image")


PARTS = {"schemas": check_schemas, "action": check_action, "gitlab": check_gitlab, "hook": check_hook,
         "container": check_container}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--deadrank", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.deadrank, arguments.build = arguments.deadrank.resolve(), arguments.build.resolve()
    try:
        PARTS[arguments.part](arguments)
    except (Lacking, ModuleNotFoundError) as why:
        print(f"skipped: {why}")
        return LACKING
    return 0


if __name__ == "__main__":
    use_clients()
    sys.exit(main())
