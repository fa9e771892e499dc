#!/usr/bin/env python3
# .ci/shares.py — Deals the tests of a ctest label into shares by the day, so that CI can end in time on a slow machine.
#
#   shares.py BUILD LABEL SHARE OF              numbers of the tests of a share, for ctest -L and -I
#   shares.py BUILD LABEL SHARE OF --skip FILE  a JUnit file that counts these tests as skipped
import argparse
import datetime
import json
import subprocess
import xml.etree.ElementTree as ET

# Those that take minutes are dealt first, so that no share has all of them.
LONG = (
    "DeviceManagedRanks",
    "DeviceRealCode.IsCaughtAndItsFixedProgramIsQuiet",
    "DeviceBlocks.README.md",
    "DeviceTorchSuite",
    "DeviceParity.RealProcessesAndTheSimulatorAgreeOnFindings",
    "DeviceManagedPython.ShowsAProgramWhatItsTestsAskFor",
)


def tests_of(build, label):
    """[(number, name)] of a label, by name, so that tests of one suite go to different shares. With -L, ctest's -I counts
    the tests of that label alone."""
    listing = ["ctest", "--test-dir", build, "-L", f"^{label}$", "--show-only=json-v1"]
    tests = json.loads(subprocess.run(listing, check=True, capture_output=True).stdout)["tests"]
    return sorted(enumerate((test["name"] for test in tests), 1), key=lambda one: (one[1] not in LONG, one[1]))


def share_of(tests, share, of, day):
    return [test for index, test in enumerate(tests) if (index + day) % of == share]


def skip(tests, file):
    suite = ET.Element("testsuite", name="left out")
    for _, name in tests:
        case = ET.SubElement(suite, "testcase", name=name, status="disabled")
        ET.SubElement(case, "system-out").text = "skipped: CI was late; another day begins with it, ./dev test plays all"
    ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def main():
    parser = argparse.ArgumentParser(description="Deals the tests of a label into shares by the day.")
    parser.add_argument("build")
    parser.add_argument("label")
    parser.add_argument("share", type=int)
    parser.add_argument("of", type=int)
    parser.add_argument("--skip", metavar="FILE")
    options = parser.parse_args()
    dealt = share_of(tests_of(options.build, options.label), options.share, options.of,
                     datetime.date.today().toordinal())
    if options.skip:
        skip(dealt, options.skip)
    else:
        print(*(number for number, _ in dealt), sep=",")


if __name__ == "__main__":
    main()
