//! Generates the gRPC service of `tests/grpc.rs` with tonic's generator, from a description in
//! Rust. A `.proto` file would require `protoc` on every machine that builds the workspace.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let method = |name, route| {
        Method::builder()
            .name(name)
            .route_name(route)
            .input_type("crate::Line")
            .output_type("crate::Line")
            .codec_path("tonic_prost::ProstCodec")
    };
    let echo = Service::builder()
        .name("Echo")
        .package("ecosystem")
        .method(method("once", "Once").build())
        .method(method("many", "Many").server_streaming().build())
        .method(method("gather", "Gather").client_streaming().build())
        .method(method("chat", "Chat").client_streaming().server_streaming().build());
    Builder::new().compile(&[echo.build()]);
}
