//! How wide the columns of a table are on a terminal that it does not fit.
//!
//! Invariant: an id is never broken, because people copy it; names and states are broken only where
//! there is no room for them at all.

use cynode_domain::ids::TaskId;

/// What is between two columns.
const GAP: u16 = 2;
/// Prose in less than this cannot be read.
const MIN_PROSE: u16 = 16;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Ids,
    Words,
    Prose,
}

/// How a table is laid out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// The columns that stand beside each other, and how wide each is.
    pub(super) columns: Vec<(usize, u16)>,
    /// The columns that stand below each row, on a line of their own.
    pub(super) below: Vec<usize>,
}

/// Lays out rows whose columns would be so wide.
pub(super) fn fit(rows: &[Vec<String>], natural: &[u16], width: u16) -> Fit {
    let holds: Vec<_> = (0..natural.len()).map(|column| held(rows, column)).collect();
    let mut beside: Vec<usize> = (0..natural.len()).collect();
    let mut below = vec![];
    let least = |column: &usize| match holds[*column] {
        Holds::Ids | Holds::Words => natural[*column],
        Holds::Prose => natural[*column].min(MIN_PROSE),
    };
    let needs =
        |columns: &[usize]| columns.iter().map(|c| least(c).saturating_add(GAP)).sum::<u16>();
    while needs(&beside) > width {
        let Some(at) = beside.iter().rposition(|column| holds[*column] == Holds::Ids) else {
            break;
        };
        below.insert(0, beside.remove(at));
    }
    let is_fixed = |column: &usize| match holds[*column] {
        Holds::Ids => true,
        Holds::Words => needs(&beside) <= width,
        Holds::Prose => false,
    };
    let mut shares: Vec<_> = beside.iter().filter(|column| !is_fixed(column)).copied().collect();
    let fixed = beside.iter().filter(|column| is_fixed(column));
    let taken: u16 = fixed.map(|column| natural[*column].saturating_add(GAP)).sum();
    let mut left = width.saturating_sub(taken);
    let mut wide = natural.to_vec();
    // Those who need least take it first, so that what they leave goes to the others.
    shares.sort_by_key(|column| natural[*column]);
    for (done, column) in shares.iter().enumerate() {
        let others = u16::try_from(shares.len() - done).unwrap_or(u16::MAX);
        wide[*column] = (left / others).saturating_sub(GAP).min(natural[*column]).max(1);
        left = left.saturating_sub(wide[*column] + GAP);
    }
    Fit { columns: beside.into_iter().map(|column| (column, wide[column])).collect(), below }
}

fn held(rows: &[Vec<String>], column: usize) -> Holds {
    // A dash stands for nothing.
    let is_said = |cell: &&String| !cell.is_empty() && *cell != "-";
    let cells = || rows.iter().filter_map(|row| row.get(column)).filter(is_said);
    // All ids are spelled alike.
    if cells().next().is_some() && cells().all(|cell| cell.parse::<TaskId>().is_ok()) {
        Holds::Ids
    } else if cells().all(|cell| !cell.contains(' ')) {
        Holds::Words
    } else {
        Holds::Prose
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn names_keep_their_width_and_prose_takes_what_is_left() {
        let rows = [row(&["finalize_summary", "word word word word word word word word"])];

        let fit = fit(&rows, &[16, 39], 40);

        assert_eq!(fit, Fit { columns: vec![(0, 16), (1, 20)], below: vec![] });
    }

    #[test]
    fn an_id_that_does_not_fit_goes_below() {
        let id = TaskId::generate().to_string();
        let rows = [row(&["a", &id, "some words here and there", &id])];

        assert_eq!(fit(&rows, &[1, 36, 25, 36], 80).below, [3]);
        assert_eq!(fit(&rows, &[1, 36, 25, 36], 40).below, [1, 3]);
        assert_eq!(fit(&rows, &[1, 36, 25, 36], 120).below, [0; 0]);
    }

    #[test]
    fn names_are_broken_where_nothing_else_is_left() {
        let long = "x".repeat(50);
        let rows = [row(&[&long, &long])];

        let fit = fit(&rows, &[50, 50], 40);

        assert_eq!(fit.columns, [(0, 18), (1, 18)]);
    }
}
