//! inrush-core
