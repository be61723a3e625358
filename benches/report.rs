//! How long each format takes for 10,000 tests and 30 scenarios, and how large it is: `cargo bench --bench report`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#[path = "../tests/report/large.rs"]
mod large;

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::Path;
use umpatch::report::{self, DATA_FILE, Format};

fn formats(criterion: &mut Criterion) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/reports/regression");
    let recorded = report::read(&fixture.join(DATA_FILE)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let excerpt = "AssertionError: Tensor-likes are not close!\n".repeat(40);
    let report = large::large(recorded, folder.path(), &excerpt);
    let mut group = criterion.benchmark_group("10,000 tests, 30 scenarios");
    group.sample_size(10);
    for format in [
        Format::Html,
        Format::Markdown,
        Format::Json,
        Format::Junit,
        Format::Terminal,
    ] {
        let render = || report::render(black_box(&report), folder.path(), format).unwrap();
        println!("{format:?}: {} bytes", render().len());
        group.bench_function(format!("{format:?}"), |bencher| bencher.iter(render));
    }
}

criterion_group!(benches, formats);
criterion_main!(benches);
