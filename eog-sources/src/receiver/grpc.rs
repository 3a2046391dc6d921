//! OTLP over gRPC.

use axum::Router;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{
    LogsService, LogsServiceServer,
};
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use tonic::codec::CompressionEncoding::Gzip;
use tonic::service::Routes;
use tonic::{Request, Response, Status, async_trait};

use super::Received;
use super::intake::Intake;
use super::limits::Limits;

/// The services. Messages are bounded as sent and decompressed.
pub(super) fn routes(received: &Received, limits: &Limits) -> Router {
    macro_rules! bounded {
        ($server:ident) => {
            $server::new(Service(received.clone()))
                .max_decoding_message_size(limits.body)
                .accept_compressed(Gzip)
        };
    }
    Routes::new(bounded!(TraceServiceServer))
        .add_service(bounded!(LogsServiceServer))
        .add_service(bounded!(MetricsServiceServer))
        .into_axum_router()
}

struct Service(Received);

impl Service {
    async fn take<R: Intake>(&self, request: R) -> Result<Response<R::Answer>, Status> {
        let received = self.0.clone();
        let taken =
            tokio::task::spawn_blocking(move || request.take(crate::metrics::is_known, &received))
                .await;
        let taken = taken.map_err(|_| Status::internal("the request could not be taken in"))?;
        Ok(Response::new(R::answer(taken)))
    }
}

macro_rules! service {
    ($service:ident, $request:ident, $answer:ident) => {
        #[async_trait]
        impl $service for Service {
            async fn export(
                &self,
                request: Request<$request>,
            ) -> Result<Response<$answer>, Status> {
                self.take(request.into_inner()).await
            }
        }
    };
}
service!(TraceService, ExportTraceServiceRequest, ExportTraceServiceResponse);
service!(LogsService, ExportLogsServiceRequest, ExportLogsServiceResponse);
service!(MetricsService, ExportMetricsServiceRequest, ExportMetricsServiceResponse);
