//! Charts of the tables, as SVG.

use plotters::prelude::*;

use crate::error::EvalError;

/// A chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The name of its file.
    pub file: &'static str,
    /// The file.
    pub svg: String,
}

/// A line: whose, and its points.
type Line = (String, Vec<(f64, f64)>);

/// The charts by errors and by questions, as far as there are lines.
pub(super) fn drawn(by_errors: Vec<Line>, by_calls: Vec<Line>) -> Result<Vec<Chart>, EvalError> {
    let drawn = [
        ("controllers-by-errors.svg", "Errors of the judge", by_errors, 0.42),
        ("controllers-by-calls.svg", "Most questions", by_calls, 165.0),
    ];
    let drawn = drawn.into_iter().filter(|(_, _, lines, _)| !lines.is_empty());
    drawn
        .map(|(file, label, lines, most)| {
            let svg = draw(label, &lines, most).map_err(|error| EvalError::Setting {
                reason: format!("{file} cannot be drawn: {error}"),
            })?;
            Ok(Chart { file, svg })
        })
        .collect()
}

/// Lines over one axis; the other is the share of runs that name every cause.
fn draw(label: &str, lines: &[Line], most: f64) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (760, 440)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(52)
            .build_cartesian_2d(0.0..most, 0.0..1.0)?;
        chart
            .configure_mesh()
            .x_desc(label)
            .y_desc("Runs that name every cause")
            .light_line_style(WHITE)
            .draw()?;
        for (number, (name, points)) in lines.iter().enumerate() {
            let style = Palette99::pick(number).stroke_width(2);
            let mark = style;
            chart
                .draw_series(LineSeries::new(points.iter().copied(), style).point_size(3))?
                .label(name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], mark));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.25))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        root.present()?;
    }
    Ok(svg)
}
