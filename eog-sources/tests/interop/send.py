"""Sends spans, a log line and a histogram by OpenTelemetry's SDK: over HTTP or gRPC, as the environment says."""

import logging
import os

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

protocol = os.environ["PROTOCOL"]
if protocol == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

resource = Resource.create({"service.name": f"cart-{protocol}", "service.namespace": "shop"})

tracers = TracerProvider(resource=resource)
tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = tracers.get_tracer("test")
for _ in range(10):
    with tracer.start_as_current_span("GET /cart", kind=trace.SpanKind.SERVER):
        with tracer.start_as_current_span("SELECT", kind=trace.SpanKind.CLIENT) as span:
            span.set_attribute("peer.service", "db")
            span.set_status(trace.StatusCode.ERROR, "no answer, password=hunter2")

logs = LoggerProvider(resource=resource)
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
logger = logging.getLogger("test")
logger.addHandler(LoggingHandler(logger_provider=logs))
logger.error("login with password=hunter2 failed")

meters = MeterProvider(
    resource=resource, metric_readers=[PeriodicExportingMetricReader(OTLPMetricExporter(), 60_000)]
)
histogram = meters.get_meter("test").create_histogram("http.server.request.duration", unit="s")
for _ in range(2):
    histogram.record(0.2, {"http.response.status_code": 500})
    assert meters.force_flush()

tracers.shutdown()
logs.shutdown()
meters.shutdown()
