pub(crate) mod builder;
mod corpus;
mod graph;
mod healthy;
mod sentences;
