//! Faults that users of such tools met, each as a small case named after its trial.

mod graphs;
mod hooks;
mod locks;
