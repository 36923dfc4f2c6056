//! Column widths of a table that does not fit the terminal.
//!
//! Invariant: ids are never broken, because people copy them; names and states are broken only if nothing else
//! fits.

use cynode_domain::ids::TaskId;

/// Columns between two cells.
const GAP: u16 = 2;
/// Minimum readable width of prose.
const MIN_PROSE: u16 = 16;

/// Kind of content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Ids,
    Words,
    Prose,
}

/// Layout of a table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TableLayout {
    /// The columns of the table, and their widths.
    pub(super) columns: Vec<(usize, u16)>,
    /// The columns that move below each row.
    pub(super) below: Vec<usize>,
}

/// Lays out `rows`, whose columns have the given natural widths.
pub(super) fn fit_columns(rows: &[Vec<String>], natural: &[u16], width: u16) -> TableLayout {
    let holds: Vec<_> = (0..natural.len()).map(|column| classify_column(rows, column)).collect();
    let mut beside: Vec<usize> = (0..natural.len()).collect();
    let mut below = vec![];
    let least = |column: &usize| match holds[*column] {
        ColumnKind::Ids | ColumnKind::Words => natural[*column],
        ColumnKind::Prose => natural[*column].min(MIN_PROSE),
    };
    let needs =
        |columns: &[usize]| columns.iter().map(|c| least(c).saturating_add(GAP)).sum::<u16>();
    while needs(&beside) > width {
        let Some(at) = beside.iter().rposition(|column| holds[*column] == ColumnKind::Ids) else {
            break;
        };
        below.insert(0, beside.remove(at));
    }
    let is_fixed = |column: &usize| match holds[*column] {
        ColumnKind::Ids => true,
        ColumnKind::Words => needs(&beside) <= width,
        ColumnKind::Prose => false,
    };
    let mut shares: Vec<_> = beside.iter().filter(|column| !is_fixed(column)).copied().collect();
    let fixed = beside.iter().filter(|column| is_fixed(column));
    let taken: u16 = fixed.map(|column| natural[*column].saturating_add(GAP)).sum();
    let mut left = width.saturating_sub(taken);
    let mut wide = natural.to_vec();
    // Narrow columns first, so that their unused share goes to the others.
    shares.sort_by_key(|column| natural[*column]);
    for (done, column) in shares.iter().enumerate() {
        let others = u16::try_from(shares.len() - done).unwrap_or(u16::MAX);
        wide[*column] = (left / others).saturating_sub(GAP).min(natural[*column]).max(1);
        left = left.saturating_sub(wide[*column] + GAP);
    }
    TableLayout {
        columns: beside.into_iter().map(|column| (column, wide[column])).collect(),
        below,
    }
}

fn classify_column(rows: &[Vec<String>], column: usize) -> ColumnKind {
    // A dash marks an empty cell.
    let is_said = |cell: &&String| !cell.is_empty() && *cell != "-";
    let cells = || rows.iter().filter_map(|row| row.get(column)).filter(is_said);
    // All ids have the same format.
    if cells().next().is_some() && cells().all(|cell| cell.parse::<TaskId>().is_ok()) {
        ColumnKind::Ids
    } else if cells().all(|cell| !cell.contains(' ')) {
        ColumnKind::Words
    } else {
        ColumnKind::Prose
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

        let fit = fit_columns(&rows, &[16, 39], 40);

        assert_eq!(fit, TableLayout { columns: vec![(0, 16), (1, 20)], below: vec![] });
    }

    #[test]
    fn an_id_that_does_not_fit_goes_below() {
        let id = TaskId::generate().to_string();
        let rows = [row(&["a", &id, "some words here and there", &id])];

        assert_eq!(fit_columns(&rows, &[1, 36, 25, 36], 80).below, [3]);
        assert_eq!(fit_columns(&rows, &[1, 36, 25, 36], 40).below, [1, 3]);
        assert_eq!(fit_columns(&rows, &[1, 36, 25, 36], 120).below, [0; 0]);
    }

    #[test]
    fn names_are_broken_where_nothing_else_is_left() {
        let long = "x".repeat(50);
        let rows = [row(&[&long, &long])];

        let fit = fit_columns(&rows, &[50, 50], 40);

        assert_eq!(fit.columns, [(0, 18), (1, 18)]);
    }
}
