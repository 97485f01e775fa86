"""Every row of the table, judged by the models. tests/e2e/test_crd_table.py has the API server judge the same rows."""

import pytest

from tests.unit.api import table
from vigil.api import manifest

ROWS = table.rows()


@pytest.mark.parametrize("row", ROWS, ids=[row.claim for row in ROWS])
def test_the_models_judge_a_manifest_as_the_table_says(row: table.Row) -> None:
    if row.valid:
        manifest.parse_watch(row.manifest)
        return
    with pytest.raises(manifest.InvalidManifest) as refused:
        manifest.parse_watch(row.manifest)
    assert row.at in [problem.path for problem in refused.value.problems]
    assert row.says in str(refused.value)


def test_every_claim_of_the_table_is_made_once_and_every_refusal_names_its_field() -> None:
    claims = [row.claim for row in ROWS]
    assert len(claims) == len(set(claims))
    assert [row.claim for row in ROWS if bool(row.at) == row.valid] == []
