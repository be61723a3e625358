//! Renders a run: JSON, Markdown, HTML with plots, JUnit.
pub mod document;
