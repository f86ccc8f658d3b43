//! inrush
