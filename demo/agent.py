"""The agent of the demo: it reads its turn, retries what failed, and says what it did.

`vigil attach` runs it once a turn, with the summary on standard input and the path to the evidence in VIGIL_EVIDENCE.
"""

import json
import os
import pathlib
import sys
import urllib.request


def main() -> None:
    """Take one turn."""
    summary = sys.stdin.read()
    evidence = pathlib.Path(os.environ["VIGIL_EVIDENCE"])
    said: dict[str, object] = {"tokens": 100 + len(summary) // 4, "dispositions": []}
    print(f"    agent: woken for {os.environ['VIGIL_REASON']!r}; the evidence is {evidence.stat().st_size} bytes")
    if "matched:job-failed" in summary:
        request = urllib.request.Request(f"{sys.argv[1]}/pipelines/42/retry", method="POST")
        with urllib.request.urlopen(request, timeout=5) as answer:
            attempt = json.load(answer)["attempt"]
        print(f"    agent: retried the pipeline, attempt {attempt} runs")
        said["dispositions"] = [{"key": "matched:job-failed", "disposition": "dispatched"}]
    else:
        print("    agent: nothing left to do")
    print(json.dumps(said))


if __name__ == "__main__":
    main()
