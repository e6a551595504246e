//! Real processes all over: the real cgc too.

mod lifecycle;
mod lifecycle_ends;
pub(crate) mod support;
