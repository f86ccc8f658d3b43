//! inrush-testbed
