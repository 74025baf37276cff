"""The shipped deployment files, each by the tool that knows its kind."""

import json
import re
import runpy
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from deployment.rig import NGINX, ROOT
from horde_adapters.configuration import gather
from horde_adapters.metrics import Metrics
from horde_adapters.settings_table import SETTINGS

yaml: Any = pytest.importorskip("yaml", reason="the checkers' packages are in the group dev")

DEPLOY = ROOT / "deploy"
KUBERNETES = sorted(
    path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml"
)
PLACE = "/opt/horde-front/bin/horde-front"


def tool(name: str) -> str:
    """A program's path; the test is skipped where it isn't installed."""
    beside = ROOT / ".venv" / "bin" / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} isn't installed")
    return found


def check(*command: str | Path, cwd: Path | None = None, given: str = "") -> str:
    """Runs a checker that has to be content; what it printed."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, input=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# Kubernetes ---------------------------------------------------------------------------------------


def manifest(name: str) -> dict[str, Any]:
    """One manifest."""
    document: dict[str, Any] = yaml.safe_load((DEPLOY / "kubernetes" / name).read_text())
    return document


@pytest.mark.parametrize("path", KUBERNETES, ids=lambda path: path.stem)
@pytest.mark.parametrize("version", ["1.29", "1.35"])
def test_manifests_are_what_kubernetes_takes(path: Path, version: str) -> None:
    """Against the API's own schemas; unknown keys are errors."""
    check(tool("kubernetes-validate"), "--strict", "--kubernetes-version", version, path)


def test_the_kustomization_names_every_manifest() -> None:
    assert sorted(manifest("kustomization.yaml")["resources"]) == [path.name for path in KUBERNETES]


def test_manifests_agree_with_one_another_and_with_the_settings() -> None:
    """Names, labels, ports, and that the grace fits into what Kubernetes waits."""
    deployment, service = manifest("deployment.yaml"), manifest("service.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    configuration = gather({"config": str(DEPLOY / "kubernetes" / "front.toml")}, {})
    settings = configuration.deployment
    for selector in (
        service["spec"]["selector"],
        deployment["spec"]["selector"]["matchLabels"],
        manifest("disruption.yaml")["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= labels.items()
    assert manifest("scaling.yaml")["spec"]["scaleTargetRef"]["name"] == "horde-front"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": settings.port, "metrics": int(settings.metrics.rpartition(":")[2])}
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert pod["terminationGracePeriodSeconds"] >= pause + settings.settings.grace + 5
    assert pod["enableServiceLinks"] is False
    variables = {setting.variable for setting in SETTINGS.values()}
    assert {entry["name"] for entry in container["env"]} <= variables


def test_the_autoscalers_metric_exists() -> None:
    """And is the one that the front says to scale by."""
    (metric,) = manifest("scaling.yaml")["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] in samples()


# systemd, Docker, nginx ---------------------------------------------------------------------------


def test_the_unit_is_what_systemd_takes(tmp_path: Path) -> None:
    """With a program that exists in the place of the one to be installed; and it is confined."""
    unit = (DEPLOY / "systemd" / "horde-front@.service").read_text()
    assert unit.count(PLACE) == 1
    path = tmp_path / "horde-front@.service"
    path.write_text(unit.replace(PLACE, "/bin/true"))
    analyze = tool("systemd-analyze")
    assert check(analyze, "verify", "--man=no", path) == ""
    security = check(analyze, "security", "--offline=true", path)
    found = re.search(r"exposure level for \S+: ([\d.]+)", security)
    assert found
    assert float(found[1]) < 2.0


def test_the_unit_waits_for_the_files_grace() -> None:
    unit = (DEPLOY / "systemd" / "horde-front@.service").read_text()
    found = re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert found
    configuration = gather({"config": str(DEPLOY / "front.toml")}, {})
    assert int(found[1]) >= configuration.deployment.settings.grace + 10


def test_the_dockerfile_is_clean() -> None:
    check(tool("hadolint"), DEPLOY / "docker" / "Dockerfile")


def test_the_image_gets_every_folder_that_the_wheel_is_made_of() -> None:
    """And the build's context lets it in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    folders = {package.partition("/")[0] for package in packages}
    dockerfile = (DEPLOY / "docker" / "Dockerfile").read_text()
    context = (ROOT / ".dockerignore").read_text().split()
    for folder in folders:
        assert f"COPY {folder} {folder}\n" in dockerfile
        assert f"!{folder}" in context


def test_nginx_takes_its_file(tmp_path: Path) -> None:
    """As it is shipped, but for the log's folder and what nginx keeps beside it."""
    if NGINX is None:
        pytest.skip("nginx isn't installed")
    text = (DEPLOY / "nginx" / "nginx.conf").read_text()
    path = tmp_path / "nginx.conf"
    path.write_text(text.replace("/var/log/nginx", str(tmp_path)))
    error_log, pid = tmp_path / "error.log", f"pid {tmp_path}/nginx.pid;"
    check(NGINX, "-t", "-p", tmp_path, "-e", error_log, "-c", path, "-g", pid)


def test_nginx_waits_longer_than_the_front() -> None:
    """A whole reply's budget, a kept connection's end, a body's size: nginx's and the front's."""
    text = (DEPLOY / "nginx" / "nginx.conf").read_text()

    def seconds(directive: str) -> float:
        (found,) = re.findall(rf"^\s*{directive} (\d+)s;", text, re.MULTILINE)
        return float(found)

    configuration = gather({"config": str(DEPLOY / "front.toml")}, {})
    deployment = configuration.deployment
    assert seconds("proxy_read_timeout") > deployment.settings.timing.whole_budget
    assert seconds("keepalive_timeout") < deployment.limits.idle_time
    (size,) = re.findall(r"client_max_body_size (\d+)m;", text)
    assert int(size) << 20 == deployment.settings.body_cap


@pytest.mark.parametrize("path", ["front.toml", "kubernetes/front.toml"])
def test_settings_files_are_taken(path: str) -> None:
    """And every key in them changes something."""
    configuration = gather({"config": str(DEPLOY / path)}, {})
    said = [origin for origin in configuration.origins.values() if origin.startswith("file ")]
    assert len(said) == len(tomllib.loads((DEPLOY / path).read_text()))


# Prometheus and Grafana ---------------------------------------------------------------------------


def samples() -> set[str]:
    """The names of all samples that a front can expose, its own process's included."""
    metrics = Metrics()
    for family in vars(metrics).values():
        if getattr(family, "_labelnames", ()):
            family.labels(*family._labelnames)
    return {
        sample.name
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
    }


def named(expression: str) -> set[str]:
    """The metrics that an expression asks for."""
    return set(re.findall(r"\b(?:horde_front|process)_\w+", expression))


def bare(sample: str) -> str:
    """A sample's metric."""
    return re.sub(r"_(bucket|sum|count|created|total)$", "", sample)


def panels() -> Iterator[dict[str, Any]]:
    """The dashboard's graphs."""
    dashboard = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())
    yield from (panel for panel in dashboard["panels"] if panel["type"] != "row")


def alerts() -> list[dict[str, Any]]:
    """The alert rules."""
    document = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def test_prometheus_takes_configuration_and_rules() -> None:
    promtool = tool("promtool")
    check(promtool, "check", "config", "--syntax-only", DEPLOY / "prometheus" / "prometheus.yaml")
    check(promtool, "check", "rules", DEPLOY / "prometheus" / "alerts.yaml")


def test_alerts_fire_when_they_should(tmp_path: Path) -> None:
    """Prometheus' own unit tests; each alert has one."""
    promtool = tool("promtool")
    cases = Path(__file__).with_name("alerts_test.yaml")
    for path in (DEPLOY / "prometheus" / "alerts.yaml", cases):
        shutil.copy(path, tmp_path)
    check(promtool, "test", "rules", "alerts_test.yaml", cwd=tmp_path)
    assert all(rule["alert"] in cases.read_text() for rule in alerts())


def test_metrics_are_named_as_prometheus_advises() -> None:
    check(tool("promtool"), "check", "metrics", given=Metrics().exposition().decode())


def test_the_dashboard_is_what_its_script_makes() -> None:
    """If not: python deploy/grafana/make_dashboard.py, whose builders know Grafana's schema."""
    pytest.importorskip("grafana_foundation_sdk")
    made = runpy.run_path(str(DEPLOY / "grafana" / "make_dashboard.py"))["text"]()
    assert (DEPLOY / "grafana" / "dashboard.json").read_text() == made


def test_dashboard_and_alerts_ask_for_metrics_that_exist() -> None:
    """And the dashboard shows every one of them."""
    known = samples()
    shown = [target["expr"] for panel in panels() for target in panel["targets"]]
    asked = [rule["expr"] for rule in alerts()]
    for expression in (*shown, *asked):
        assert named(expression) <= known, expression
    families = {bare(name) for name in named(" ".join(shown))}
    own = {bare(name) for name in known}
    unseen = {"horde_front_build_info"}  # it names the fronts in the dashboard's variable
    assert {name for name in own if name.startswith("horde_front_")} - families == unseen


def test_the_dashboards_queries_are_promql(tmp_path: Path) -> None:
    """Grafana's own words in them replaced as Grafana does."""
    promtool = tool("promtool")
    rules = [
        {
            "record": f"panel:{number}",
            "expr": target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*"),
        }
        for number, target in enumerate(target for panel in panels() for target in panel["targets"])
    ]
    path = tmp_path / "queries.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in check(promtool, "check", "rules", path)
