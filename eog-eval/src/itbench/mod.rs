//! ITBench scoring.
