//! Charts as SVG: bars and points. Colours are classes, so that the page's style sheet gives those
//! of light and dark; every mark has its numbers as a title, which browsers show.

use std::fmt::Write;

/// Width of all charts, in their own units: the page scales them.
const WIDTH: f64 = 960.0;

/// Text in XML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// One bar.
pub struct Bar {
    /// To its left.
    pub label: String,
    /// Its length.
    pub value: f64,
    /// Behind it.
    pub text: String,
    /// `a` or `b`: the colour.
    pub class: &'static str,
}

/// Horizontal bars, one below the other.
pub fn bars(bars: &[Bar]) -> String {
    const ROW: f64 = 22.0;
    const LABEL: f64 = 270.0;
    /// Room for the text behind the longest bar.
    const TEXT: f64 = 150.0;
    let most = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let height = ROW * bars.len() as f64 + 4.0;
    let mut svg = open(height);
    let _ = write!(svg, "<line class='axis' x1='{LABEL}' y1='0' x2='{LABEL}' y2='{height}'/>");
    for (i, bar) in bars.iter().enumerate() {
        let y = ROW * i as f64 + 2.0;
        let length = (WIDTH - LABEL - TEXT) * bar.value / most;
        let (label, text) = (escape(&bar.label), escape(&bar.text));
        let _ = write!(
            svg,
            "<g><title>{label}: {text}</title>\
             <text class='label' x='{:.1}' y='{:.1}' text-anchor='end'>{label}</text>\
             <rect class='{}' x='{LABEL}' y='{y:.1}' width='{length:.1}' height='{:.1}' rx='2'/>\
             <text class='value' x='{:.1}' y='{:.1}'>{text}</text></g>",
            LABEL - 8.0,
            y + 14.0,
            bar.class,
            ROW - 5.0,
            LABEL + length + 6.0,
            y + 14.0
        );
    }
    svg + "</svg>"
}

/// One point.
pub struct Point {
    /// Place by the axes.
    pub x: f64,
    /// Place by the axes.
    pub y: f64,
    /// Beside it; empty is none.
    pub label: String,
    /// Shown when it is pointed at.
    pub title: String,
    /// `a` or `b`: the colour.
    pub class: &'static str,
}

/// How numbers lie on an axis.
#[derive(Clone, Copy)]
pub enum Scale {
    /// By their logarithms; nothing below one hundredth is shown.
    Log,
    /// By their roots, on both sides of zero: what is near zero does not fall together.
    Root,
}

impl Scale {
    fn of(self, value: f64) -> f64 {
        match self {
            Scale::Log => value.max(0.01).log10(),
            Scale::Root => value.signum() * value.abs().sqrt(),
        }
    }

    /// Numbers to be written on an axis from one number to another.
    fn ticks(self, low: f64, high: f64) -> Vec<f64> {
        let all: Vec<f64> = match self {
            Scale::Log => (-2..10).map(|power| 10_f64.powi(power)).collect(),
            Scale::Root => {
                let up = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
                let down = up.iter().rev().map(|tick| -tick);
                down.chain([0.0]).chain(up).collect()
            }
        };
        all.into_iter().filter(|tick| *tick >= low && *tick <= high).collect()
    }
}

/// An axis.
pub struct Axis {
    /// What it counts.
    pub name: &'static str,
    /// How.
    pub scale: Scale,
}

impl Axis {
    /// The ends, with some room: of the numbers and as the scale has them.
    fn range(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let (mut low, mut high) = match self.scale {
            Scale::Log => (f64::MAX, f64::MIN),
            Scale::Root => (0.0, 0.1),
        };
        for value in values {
            low = f64::min(low, value);
            high = f64::max(high, value);
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        match self.scale {
            Scale::Log => (low / 1.5, high * 1.5),
            Scale::Root => (low * 1.2 - 0.02, high * 1.2),
        }
    }
}

/// Points over two axes. Labels that would lie on each other move down.
pub fn points(points: &[Point], x: &Axis, y: &Axis) -> String {
    const HEIGHT: f64 = 460.0;
    const LEFT: f64 = 70.0;
    const BOTTOM: f64 = 52.0;
    const TOP: f64 = 14.0;
    const RIGHT: f64 = 20.0;
    let (x_low, x_high) = x.range(points.iter().map(|point| point.x));
    let (y_low, y_high) = y.range(points.iter().map(|point| point.y));
    let along = |axis: &Axis, value: f64, low: f64, high: f64| {
        let [value, low, high] = [value, low, high].map(|v| axis.scale.of(v));
        (value - low) / (high - low)
    };
    let px = |v: f64| LEFT + (WIDTH - LEFT - RIGHT) * along(x, v, x_low, x_high);
    let py = |v: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * along(y, v, y_low, y_high);
    let mut svg = open(HEIGHT);
    let (right, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for tick in spaced(x.scale.ticks(x_low, x_high), &px, 34.0) {
        let at = px(tick);
        let _ = write!(
            svg,
            "<line class='grid' x1='{at:.1}' y1='{TOP}' x2='{at:.1}' y2='{floor}'/>\
             <text class='tick' x='{at:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
            floor + 18.0,
            number(tick)
        );
    }
    for tick in spaced(y.scale.ticks(y_low, y_high), &py, 18.0) {
        let at = py(tick);
        let class = if tick == 0.0 { "axis" } else { "grid" };
        let _ = write!(
            svg,
            "<line class='{class}' x1='{LEFT}' y1='{at:.1}' x2='{right}' y2='{at:.1}'/>\
             <text class='tick' x='{:.1}' y='{:.1}' text-anchor='end'>{}</text>",
            LEFT - 8.0,
            at + 4.0,
            number(tick)
        );
    }
    let middle = (TOP + floor) / 2.0;
    let _ = write!(
        svg,
        "<text class='name' x='{:.1}' y='{:.1}' text-anchor='middle'>{}</text>\
         <text class='name' transform='translate(16 {middle:.1}) rotate(-90)' text-anchor='middle'>{}</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 10.0,
        escape(x.name),
        escape(y.name)
    );
    // Left, right, and baseline of the labels so far.
    let mut placed: Vec<(f64, f64, f64)> = Vec::new();
    let mut ordered: Vec<&Point> = points.iter().collect();
    ordered.sort_by(|a, b| b.y.total_cmp(&a.y).then(a.x.total_cmp(&b.x)));
    for point in ordered {
        let (cx, cy) = (px(point.x), py(point.y));
        let _ = write!(
            svg,
            "<circle class='{}' cx='{cx:.1}' cy='{cy:.1}' r='5'><title>{}</title></circle>",
            point.class,
            escape(&point.title)
        );
        if point.label.is_empty() {
            continue;
        }
        let width = 7.2 * point.label.chars().count() as f64;
        let is_left = cx + 10.0 + width > WIDTH;
        let (from, to) =
            if is_left { (cx - 10.0 - width, cx - 10.0) } else { (cx + 10.0, cx + 10.0 + width) };
        let overlaps = |base: f64, placed: &[(f64, f64, f64)]| {
            placed.iter().any(|(l, r, b)| from < *r && to > *l && (base - b).abs() < 14.0)
        };
        let mut base = cy + 4.0;
        while overlaps(base, &placed) && base < floor - 2.0 {
            base += 2.0;
        }
        // Where all below is full there is room above.
        while overlaps(base, &placed) && base > TOP {
            base -= 2.0;
        }
        placed.push((from, to, base));
        if (base - cy - 4.0).abs() > 8.0 {
            let end = if is_left { to } else { from };
            let _ = write!(
                svg,
                "<line class='leader' x1='{cx:.1}' y1='{cy:.1}' x2='{end:.1}' y2='{:.1}'/>",
                base - 4.0
            );
        }
        let anchor = if is_left { "end" } else { "start" };
        let at = if is_left { to } else { from };
        let _ = write!(
            svg,
            "<text class='label' x='{at:.1}' y='{base:.1}' text-anchor='{anchor}'>{}</text>",
            escape(&point.label)
        );
    }
    svg + "</svg>"
}

/// Ticks that stand far enough from the one before.
fn spaced(ticks: Vec<f64>, at: &dyn Fn(f64) -> f64, room: f64) -> Vec<f64> {
    let mut kept: Vec<f64> = Vec::new();
    // Zero first: it is always there.
    let mut order = ticks;
    order.sort_by(|a, b| (*a != 0.0).cmp(&(*b != 0.0)).then(b.abs().total_cmp(&a.abs())));
    for tick in order {
        if kept.iter().all(|other| (at(*other) - at(tick)).abs() >= room) {
            kept.push(tick);
        }
    }
    kept
}

fn open(height: f64) -> String {
    format!("<svg viewBox='0 0 {WIDTH} {height}' role='img' xmlns='http://www.w3.org/2000/svg'>")
}

/// Thousands as k, millions as M.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{}M", value / 1e6),
        v if v >= 1e3 => format!("{}k", value / 1e3),
        _ => format!("{value}"),
    }
}

/// Nanoseconds in the unit that suits them.
pub fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        t if t >= 1e7 => format!("{:.1} ms", t / 1e6),
        t if t >= 1e6 => format!("{:.2} ms", t / 1e6),
        t if t >= 1e4 => format!("{:.1} us", t / 1e3),
        t if t >= 1e3 => format!("{:.2} us", t / 1e3),
        t => format!("{t:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_has_all_the_room_and_text_is_escaped() {
        let bar = |label: &str, value| Bar {
            label: label.to_string(),
            value,
            text: String::new(),
            class: "a",
        };
        let svg = bars(&[bar("a<b", 10.0), bar("c", 5.0)]);
        assert!(svg.contains("width='540.0'") && svg.contains("width='270.0'"), "{svg}");
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
    }

    #[test]
    fn labels_of_points_in_one_place_do_not_lie_on_each_other() {
        let point = || Point {
            x: 1.0,
            y: 1.0,
            label: "a label".to_string(),
            title: String::new(),
            class: "a",
        };
        let axis = || Axis { name: "", scale: Scale::Root };
        let svg = points(&[point(), point(), point()], &axis(), &axis());
        let baselines: Vec<f64> = svg
            .split("<text class='label'")
            .skip(1)
            .filter_map(|text| text.split("y='").nth(1)?.split('\'').next()?.parse().ok())
            .collect();
        assert_eq!(baselines.len(), 3);
        assert!(
            baselines.windows(2).all(|pair| (pair[0] - pair[1]).abs() >= 14.0),
            "{baselines:?}"
        );
    }

    #[test]
    fn no_points_are_an_empty_chart() {
        let axis = || Axis { name: "", scale: Scale::Log };
        assert!(!points(&[], &axis(), &axis()).contains("NaN"));
        assert!(!bars(&[]).contains("NaN"));
    }
}
