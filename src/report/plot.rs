//! A scenario's plot: driver memory of both arms over the steps, as inline SVG.
//!
//! The colours written here are those of a light page; the page's style sheet restyles them by their value for a dark one.
//! The arms also differ in their dashes, so that colour is not needed to tell them apart.
use super::ReportError;
use super::curves::{Band, BandPoint, ScenarioCurves};
use super::document::{ArmFigures, Arms, Scenario};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 640;
const HEIGHT: u32 = 320;
/// The legend and, below it, what the upright axis shows.
const HEAD: u32 = 54;
/// Steps marked of one arm.
const STEPS: usize = 3;
const MIB: f64 = 1_048_576.0;

const INK: RGBColor = RGBColor(0x33, 0x3a, 0x44);
const GRID: RGBColor = RGBColor(0xd8, 0xdd, 0xe4);
const STOCK: RGBColor = RGBColor(0xb3, 0x54, 0x00);
const PATCHED: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
/// How the colours above are written in SVG, and the dashes that the stock arm gets.
const STOCK_STROKE: &str = "stroke=\"#B35400\"";
const STOCK_DASHES: &str = "stroke=\"#B35400\" stroke-dasharray=\"7 4\"";

/// What a reader who does not see the plot is told.
pub(super) struct Plot {
    /// The SVG element.
    pub(super) svg: String,
    /// The same in words.
    pub(super) words: String,
}

/// Draws the plot; none when neither arm has a curve of at least two steps.
pub(super) fn draw(
    scenario: &Scenario,
    number: usize,
    curves: &ScenarioCurves,
) -> Result<Option<Plot>, ReportError> {
    let points = || {
        let bands = &curves.bands;
        bands.baseline.points.iter().chain(&bands.patched.points)
    };
    let Some(last) = points().map(|point| point.step).max() else {
        return Ok(None);
    };
    let first = points().map(|point| point.step).min().unwrap_or(0);
    if first == last {
        return Ok(None);
    }
    let top = points().map(|point| point.high).fold(0.0, f64::max) / MIB;
    let steps = first as f64..last as f64;
    let memory = 0.0..if top > 0.0 { top * 1.08 } else { 1.0 };
    let mut svg = String::new();
    let scale = paint(&mut svg, scenario, curves, steps, memory)
        .map_err(|error| ReportError::Plot(error.to_string()))?;
    Ok(Some(Plot {
        svg: dress(&svg, number, &scale),
        words: words(&curves.bands),
    }))
}

/// Where the axes lie in the drawing and what they span: the page's script reads values off the curves with it.
struct Scale {
    /// Left, top, right and bottom edge of the plotting area.
    edges: [i32; 4],
    /// First and last step, and the highest memory in MiB that the upright axis reaches.
    spans: [f64; 3],
}

fn paint(
    svg: &mut String,
    scenario: &Scenario,
    curves: &ScenarioCurves,
    steps: std::ops::Range<f64>,
    memory: std::ops::Range<f64>,
) -> Result<Scale, Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT)).into_drawing_area();
    let (head, plot) = root.split_vertically(HEAD);
    paint_head(&head, &curves.bands)?;
    let font = || ("sans-serif", 13).into_font().color(&INK);
    let mut chart = ChartBuilder::on(&plot)
        .margin_right(16)
        .margin_top(6)
        .x_label_area_size(48)
        .y_label_area_size(84)
        .build_cartesian_2d(steps.clone(), memory.clone())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(0)
        .bold_line_style(GRID)
        .axis_style(INK)
        .x_labels(6)
        .y_labels(5)
        .x_desc("step")
        .x_label_formatter(&|step| axis_step(*step))
        .y_label_formatter(&|size| axis_size(*size, memory.end))
        .label_style(font())
        .axis_desc_style(font())
        .draw()?;
    // stock comes last: its dashes lie over a patched curve that runs along it
    for (band, figures, colour) in [
        (&curves.bands.patched, &scenario.patched, PATCHED),
        (&curves.bands.baseline, &scenario.baseline, STOCK),
    ] {
        if band.processes > 1 && band.points.iter().any(|point| point.high > point.low) {
            chart.draw_series(std::iter::once(Polygon::new(
                outline(&band.points),
                colour.mix(0.18).filled(),
            )))?;
        }
        let middle = band
            .points
            .iter()
            .map(|point| (point.step as f64, point.middle / MIB));
        chart.draw_series(LineSeries::new(middle, colour.stroke_width(2)))?;
        if let Some(line) = fitted(figures, &steps, memory.end) {
            chart.draw_series(LineSeries::new(line, colour.stroke_width(1)))?;
        }
    }
    let warm_up = scenario
        .baseline
        .warm_up_steps
        .or(scenario.patched.warm_up_steps);
    if let Some(warm_up) = warm_up
        .map(|step| step as f64)
        .filter(|step| steps.contains(step))
    {
        chart.draw_series(LineSeries::new(
            [(warm_up, memory.start), (warm_up, memory.end)],
            INK.mix(0.6),
        ))?;
        let label = font().pos(Pos::new(HPos::Left, VPos::Top));
        chart.draw_series(std::iter::once(Text::new(
            "warm-up ends",
            (warm_up + (steps.end - steps.start) * 0.01, memory.end),
            label,
        )))?;
    }
    // each arm's labels at a height of their own
    for (figures, colour, height) in [
        (&scenario.patched, PATCHED, 0.02),
        (&scenario.baseline, STOCK, 0.1),
    ] {
        let marked = figures
            .steps
            .iter()
            .filter(|step| steps.contains(&step.at) && step.bytes.is_finite())
            .take(STEPS);
        for step in marked {
            chart.draw_series(LineSeries::new(
                [(step.at, memory.start), (step.at, memory.end * 0.9)],
                colour.mix(0.6),
            ))?;
            let label = font()
                .color(&colour)
                .pos(Pos::new(HPos::Left, VPos::Bottom));
            chart.draw_series(std::iter::once(Text::new(
                format!("step +{}", super::figures::bytes(step.bytes)),
                (
                    step.at + (steps.end - steps.start) * 0.01,
                    memory.start + (memory.end - memory.start) * height,
                ),
                label,
            )))?;
        }
    }
    let (across, down) = chart.plotting_area().get_pixel_range();
    let scale = Scale {
        edges: [across.start, down.start, across.end, down.end],
        spans: [steps.start, steps.end, memory.end],
    };
    drop(chart);
    root.present()?;
    Ok(scale)
}

fn paint_head<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    bands: &Arms<Band>,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let font = ("sans-serif", 14)
        .into_font()
        .color(&INK)
        .pos(Pos::new(HPos::Left, VPos::Center));
    for (left, name, band, colour) in [
        (84, "stock", &bands.baseline, STOCK),
        (340, "patched", &bands.patched, PATCHED),
    ] {
        let name = match band.processes {
            0 => format!("{name} (no curve)"),
            1 => format!("{name} (1 process)"),
            number => format!("{name} ({number} processes)"),
        };
        area.draw(&PathElement::new(
            [(left, 15), (left + 40, 15)],
            colour.stroke_width(3),
        ))?;
        area.draw(&Text::new(name, (left + 48, 15), font.clone()))?;
    }
    area.draw(&Text::new("driver memory (MiB)", (4, 42), font))?;
    Ok(())
}

fn outline(points: &[BandPoint]) -> Vec<(f64, f64)> {
    let upper = points
        .iter()
        .map(|point| (point.step as f64, point.high / MIB));
    let lower = points
        .iter()
        .rev()
        .map(|point| (point.step as f64, point.low / MIB));
    upper.chain(lower).collect()
}

/// The fitted line from the end of the warm-up on, as far as it stays within the plot.
fn fitted(figures: &ArmFigures, steps: &std::ops::Range<f64>, top: f64) -> Option<Vec<(f64, f64)>> {
    let (slope, intercept) = (figures.slope_bytes_per_step?, figures.intercept_bytes?);
    let from = figures
        .warm_up_steps
        .map_or(steps.start, |step| step as f64);
    let at = |step: f64| (step, (intercept + slope * step) / MIB);
    let line = vec![at(from), at(steps.end)];
    let visible = |point: &(f64, f64)| point.1.is_finite() && (0.0..=top).contains(&point.1);
    (from < steps.end && line.iter().all(visible)).then_some(line)
}

/// Steps are whole: a mark between two of them has no name.
fn axis_step(step: f64) -> String {
    if (step - step.round()).abs() > 1e-6 {
        String::new()
    } else {
        super::figures::count(step.round())
    }
}

fn axis_size(size: f64, top: f64) -> String {
    if top < 8.0 {
        format!("{size:.1}")
    } else {
        super::figures::count(size.round())
    }
}

/// Makes the SVG part of a page: it scales with its column, has a name for screen readers, and dashes for stock.
fn dress(svg: &str, number: usize, scale: &Scale) -> String {
    let body = svg
        .find("<svg")
        .and_then(|at| svg[at..].find('>').map(|end| &svg[at + end + 1..]))
        .unwrap_or(svg);
    let body = body
        .replace(STOCK_STROKE, STOCK_DASHES)
        .replace(" opacity=\"1\"", "")
        .replace("\n\n", "\n");
    let [left, top, right, bottom] = scale.edges;
    let [first, last, most] = scale.spans;
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"plot-{number}\" \
         data-edges=\"{left} {top} {right} {bottom}\" data-spans=\"{first} {last} {most:.3}\">{body}"
    )
}

fn words(bands: &Arms<Band>) -> String {
    let arm = |name: &str, band: &Band| match (band.points.first(), band.points.last()) {
        (Some(first), Some(last)) => {
            let top = band
                .points
                .iter()
                .map(|point| point.high)
                .fold(0.0, f64::max);
            format!(
                "{name} goes from {} at step {} to {} at step {}, at most {}",
                super::figures::bytes(first.middle),
                first.step,
                super::figures::bytes(last.middle),
                last.step,
                super::figures::bytes(top)
            )
        }
        _ => format!("{name} has no curve"),
    };
    format!(
        "Driver memory over the steps: {}; {}.",
        arm("stock", &bands.baseline),
        arm("patched", &bands.patched)
    )
}
