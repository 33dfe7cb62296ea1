"""The newest values for Prometheus to fetch, at http://127.0.0.1:9464/metrics by default."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily

from ...shared.runs.recorder_process import RecorderSettings
from ...shared.runs.run_folder import Run
from .rows import Row

OWN_NAMES = (
    "operant_up",
    "operant_publish",
    "operant_last_publish_timestamp_seconds",
    "operant_iteration",
    "operant_env_steps",
)


class PrometheusSink:
    """Serves the newest row as gauges `operant_<group>_<name>`."""

    def __init__(self, run_id: str, port: int, address: str) -> None:
        """Raises OSError when the port is taken."""
        self._run_id = run_id
        self._row: Row | None = None
        registry = CollectorRegistry()
        registry.register(self)
        self._server, self._thread = start_http_server(port, address, registry)

    @property
    def port(self) -> int:
        return int(self._server.server_port)

    def take_newest(self, row: Row) -> None:
        self._row = row

    def close(self, is_success: bool) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges: prometheus_client calls this at each fetch."""
        yield self._own(OWN_NAMES[0], "1 as long as the run is recorded", 1.0)
        if row := self._row:
            for name, value in _about(row).items():
                yield self._own(name, name, value)
            yield from self._named(row)

    def _own(self, name: str, description: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, description, labels=["run"])
        family.add_metric([self._run_id], value)
        return family

    def _named(self, row: Row) -> Iterator[GaugeMetricFamily]:
        """The metrics. Several names may become one there: the label `metric` has each as it is.
        None takes the name of a number of the row itself.
        """
        families: dict[str, GaugeMetricFamily] = {}
        for metric, value in row.written.items():
            name = prometheus_name(metric)
            if name not in OWN_NAMES:
                family = families.setdefault(
                    name, GaugeMetricFamily(name, name, labels=["run", "metric"])
                )
                family.add_metric([self._run_id, metric], value)
        yield from families.values()


def prometheus_name(name: str) -> str:
    """`loss/policy` as `operant_loss_policy`."""
    return "operant_" + re.sub(r"[^a-zA-Z0-9_]", "_", name)


def _about(row: Row) -> dict[str, float]:
    numbers = (row.publish, row.wall_s, row.iteration, row.env_steps)
    about = dict(zip(OWN_NAMES[1:], map(float, numbers), strict=True))
    return {name: number for name, number in about.items() if number >= 0}


def open_sink(run: Run, settings: RecorderSettings) -> PrometheusSink:
    return PrometheusSink(run.id, settings.prometheus_port, settings.prometheus_address)
