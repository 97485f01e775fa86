"""The results of `make bench` as a table, on the terminal and in docs/benchmarks.md."""

import datetime
import json
import pathlib
import sys
from typing import Any

_HEAD = """# What the engine costs

Measured by `make bench` (pytest-benchmark) and written by it; not a test, since machines are noisy. The least time
of many rounds is the one that says most about the code; the median shows the noise of the machine.

"""


def report(results: dict[str, Any]) -> str:
    """The document."""
    machine = results["machine_info"]
    measured = datetime.datetime.fromisoformat(results["datetime"]).date()
    rows = [_row(one) for one in results["benchmarks"]]
    least = {one["name"]: one["stats"]["min"] for one in results["benchmarks"]}
    decision = "test_decision_with_a_full_memory[20]"
    growth = least["test_decision_with_a_full_memory[1000]"] / least[decision] / 50
    ratio = least["test_document_decoded_and_encoded"] / least["test_document_by_json_alone"]
    return "\n".join(
        [
            f"{_HEAD}{machine['cpu'].get('brand_raw', machine['machine'])}, {machine['cpu']['count']} cores,"
            f" {machine['system']}, {machine['python_implementation']} {machine['python_version']}, {measured}.",
            "",
            "| | entries | least | median | a second (least) |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"- A decision over 20 entries with a full memory: {1 / least[decision]:,.0f} a second on one core"
            " (wanted: 10,000).",
            f"- An entry costs {growth:.2f} times as much among 1,000 entries as among 20 (linear growth: at most 1).",
            f"- Decoding and encoding the state document of 100 entries takes {ratio:.2f} times what `json` alone takes"
            " on the same bytes (wanted: at most 3).",
            "",
        ]
    )


def _row(one: dict[str, Any]) -> str:
    name = one["name"].removeprefix("test_").partition("[")[0].replace("_", " ")
    least, median = one["stats"]["min"], one["stats"]["median"]
    entries = one["extra_info"].get("entries", 100)
    return f"| {name} | {entries} | {least * 1e6:,.0f} µs | {median * 1e6:,.0f} µs | {1 / least:,.0f} |"


if __name__ == "__main__":
    source, target = map(pathlib.Path, sys.argv[1:])
    document = report(json.loads(source.read_text()))
    target.write_text(document)
    print(document)
