"""The Indexed Job against the schema that Kubernetes publishes. No cluster is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.cluster.kubernetes import Pods, indexed_job
from needlework.cluster.plan import Plan

yaml = pytest.importorskip("yaml")
validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
PLAN = Plan(Path("/runs/results/runs/Big run"), 8, ("--gate", "score >= 0.9"), Path("/runs"), 2)


@pytest.mark.parametrize(
    "pods", [Pods("registry/needle:1", "runs", "/runs", "keys", 2, "8", "64Gi", 4), Pods("i", "c", "/w")]
)
def test_the_published_schema_has_every_field(pods):
    job = yaml.safe_load(indexed_job(PLAN, pods))
    latest = validate.latest_version()

    validate.validate(job, latest, strict=True)
    with pytest.raises(validate.ValidationError):
        validate.validate({**job, "spec": {**job["spec"], "indexes": 8}}, latest, strict=True)
