"""The Indexed Job against the schema that Kubernetes publishes. No cluster is asked."""

from pathlib import Path

import pytest

from needlework.cluster.job import Plan
from needlework.cluster.launch import parse_arguments
from needlework.cluster.schedulers import indexed_job

yaml = pytest.importorskip("yaml")
validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
PLAN = Plan(Path("/runs/results/runs/Big run"), 8, ("--gate", "score >= 0.9"), Path("/runs"), 2)


@pytest.mark.parametrize("more", ["", "--secret keys --gpus-per-job 2 --cpus-per-job 8 --mem 64Gi --max-jobs 4"])
def test_the_published_schema_has_every_field(more):
    options, _ = parse_arguments(["kubernetes", "--image=registry/needle:1", "--claim=runs", *more.split(), "--"])
    job = yaml.safe_load(indexed_job(PLAN, options))
    latest = validate.latest_version()

    validate.validate(job, latest, strict=True)
    with pytest.raises(validate.ValidationError):
        validate.validate({**job, "spec": {**job["spec"], "indexes": 8}}, latest, strict=True)
