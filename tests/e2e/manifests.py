"""What the tests apply: workloads, and Watches of them."""

from typing import Any


def deployment(
    name: str, image: str = "registry.example/app:1", replicas: int = 2, deadline: int = 600
) -> dict[str, Any]:
    """A Deployment; an image with the tag `missing` cannot be pulled."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "progressDeadlineSeconds": deadline,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }


def job(name: str, *, suspend: bool = True) -> dict[str, Any]:
    """A Job: news as long as it is suspended, and complete soon after it is not."""
    container = {"name": "main", "image": "registry.example/app:1"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"suspend": suspend, "template": template},
    }


def job_watch(name: str, *, session: str | None = "supervisor", **spec: Any) -> dict[str, Any]:
    """A Watch of the Job of its name."""
    return watch(name, "Job", session=session, objective="job_complete", **spec)


def watch(
    name: str,
    workload: str = "Deployment",
    *,
    session: str | None = "supervisor",
    objective: str = "rolled_out",
    **spec: Any,
) -> dict[str, Any]:
    """A Watch of one workload, quick enough for a test; without a session its wakes are recorded."""
    deliver = {} if session is None else {"deliver": {"session": session}}
    return {
        "apiVersion": "vigil.dev/v1alpha1",
        "kind": "Watch",
        "metadata": {"name": name},
        "spec": {
            "kind": "kubernetes_rollout",
            "objective": objective,
            "subjects": [{"workload": workload, "name": name}],
            "cadence": {"interval": "10s", "quietInterval": "10s"},
            "policy": {"coalesce": {"window": "0s"}, "settle": "0s"},
        }
        | deliver
        | spec,
    }
