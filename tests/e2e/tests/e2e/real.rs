//! Real processes all over: the real cgc too.

mod lifecycle;
