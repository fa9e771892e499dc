# .ci/junit.py — Test cases in ctest's JUnit format: what ran, what failed, and what remained unknown, which
# counts as skipped.
import xml.etree.ElementTree as ET


def passed(name, said):
    case = ET.Element("testcase", name=name, status="run")
    ET.SubElement(case, "system-out").text = said
    return case


def skipped(name, why):
    case = passed(name, f": Skipped\n{why}")
    case.set("status", "disabled")
    ET.SubElement(case, "skipped", message="SKIP_" + why)
    return case


def failed(name, said, why):
    case = passed(name, said)
    case.set("status", "fail")
    ET.SubElement(case, "failure").text = why
    return case


def write(suite, file):
    ET.ElementTree(suite).write(file, encoding="utf-8")


def suite(name, cases):
    whole = ET.Element("testsuite", name=name)
    whole.extend(cases)
    return whole


def count(whole, status):
    return sum(case.get("status") == status for case in whole)


def tell(whole):
    for case in whole:
        said = case.findtext("failure") or case.findtext("system-out")
        print(f"{case.get('status'):9} {case.get('name')}: {said}")
